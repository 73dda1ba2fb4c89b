#!/usr/bin/env bash
# Every linter, warnings denied: Rust's formatter, clippy for this machine and for wasm32, biome and the types of
# TypeScript and of the JavaScript beside it; the licences of the dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
. scripts/env.sh
step() { printf '\n== %s\n' "$*"; }

step "rustfmt"
cargo fmt --check

step "clippy, this machine"
cargo clippy --quiet --locked --lib --bins -- -D warnings
# Tests may stop at what cannot be.
cargo clippy --quiet --locked --all-targets -- -D warnings -A clippy::unwrap_used -A clippy::expect_used -A clippy::panic
# The core alone, as other programs use it.
cargo clippy --quiet --locked --lib --no-default-features -- -D warnings

step "clippy, wasm32"
wasm_env || { echo "no wasm32 target: run scripts/setup.sh test"; exit 1; }
wasm=(--quiet --locked --target wasm32-unknown-unknown --lib --no-default-features --features wasm -- -D warnings)
if [ "$wasm_from" = rustup ]; then
  with_wasm cargo clippy "${wasm[@]}"
elif [ -x /usr/bin/cargo-clippy ]; then
  # By its path: cargo would first find the one of rustup, which knows nothing of Debian's library.
  with_wasm /usr/bin/cargo-clippy clippy "${wasm[@]}"
else
  echo "no clippy for the compiler that makes wasm32: its own warnings are denied instead"
  with_wasm cargo rustc "${wasm[@]}"
fi

step "biome"
node_modules/.bin/biome ci --error-on-warnings

step "types"
node scripts/types.mjs --check
node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/tsc -p tsconfig.node.json

step "licences of the dependencies"
node scripts/licences.mjs

step "workflows"
if command -v zizmor >/dev/null; then
  zizmor --offline --quiet .github/workflows
elif [ -n "${GITHUB_ACTIONS:-}" ]; then
  echo "no zizmor: run scripts/setup.sh test" && exit 1
else
  echo "skipped: setup.sh could not install zizmor here; the workflows themselves run it"
fi

step "what is made and kept in git"
node scripts/fresh.mjs
node scripts/benchmarks.mjs --check

echo "linters: nothing to say"
