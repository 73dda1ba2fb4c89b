#!/usr/bin/env bash
# Builds the core as WebAssembly into pkg/, with JavaScript and TypeScript glue. setup.sh got what this needs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
wasm_env || { echo "no wasm32 target: run scripts/setup.sh build" >&2; exit 1; }
# no-install and no-opt: wasm-pack would download both tools. scripts/build.mjs does what is left to be done.
with_wasm wasm-pack --log-level warn build --profile wasm --target web --mode no-install --no-opt --no-pack --out-dir pkg . -- \
  --quiet --locked --no-default-features --features wasm </dev/null
# The page says what it was made with: other tools make other bytes of the same sources.
printf '%s, wasm-bindgen %s\n' "$(with_wasm rustc --version)" "$(locked_version wasm-bindgen)" >pkg/tools.txt
