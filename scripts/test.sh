#!/usr/bin/env bash
# Every test: Rust, the built core under Node, the built page in Chromium and in Firefox. Ends with one line for each.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
scripts/setup.sh test
. scripts/env.sh

failed=()
run() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
}

# The page is compared with the command line, so both are made first.
printf '\n== building\n'
cargo build --release --quiet --locked
node scripts/build.mjs

run "Rust" cargo test --quiet --locked
run "core under Node" node --test --test-reporter=spec tests/wasm/
run "build" node --test --test-reporter=spec tests/build/
run "page" node scripts/page-tests.mjs

echo
if [ ${#failed[@]} -gt 0 ]; then
  printf 'tests: FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "tests: all passed (Rust, core under Node, build, page in Chromium and Firefox)"
