#!/usr/bin/env bash
# Runs every fuzzer for SECONDS (60 without an argument), or only those that are named: fuzz/run.sh 600 pipeline plan
#
# Needs cargo-fuzz (cargo install cargo-fuzz). With a nightly toolchain memory is checked too (ADDRESS_SANITIZER=1);
# without one the flags of the coverage are let through on stable, and the core, which has no unsafe code, is
# watched for panics, overflows, hangs and memory without end.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(wire xspace plan run pipeline memory_profile error_text archive)
sanitizer=(--sanitizer none)
[ -z "${ADDRESS_SANITIZER:-}" ] || sanitizer=(--sanitizer address)
export RUSTC_BOOTSTRAP=1

(cd .. && cargo run --quiet --locked --example fuzz-seeds)
# All of them first, and aloud: what does not compile has found nothing.
cargo fuzz build "${sanitizer[@]}"
mkdir -p logs
failed=()
for target in "${targets[@]}"; do
  mkdir -p "corpus/$target"
  echo "== $target, ${seconds} s"
  options=(-max_total_time="$seconds" -print_final_stats=1)
  # A file of 200 kB has to be done in 10 s, in 1 GiB. Files may have that length from the start: a changed message is
  # often longer than the one before.
  options+=(-timeout=10 -rss_limit_mb=1024 -max_len=200000 -len_control=0)
  [ ! -f "$target.dict" ] || options+=(-dict="$target.dict")
  cargo fuzz run "${sanitizer[@]}" "$target" -- "${options[@]}" 2>"logs/$target.log" ||
    failed+=("$target")
  grep -E "panicked|ERROR|SUMMARY|DONE|number_of_executed_units|new_units_added|peak_rss" "logs/$target.log" || true
done
[ ${#failed[@]} -eq 0 ] || { echo "found something: ${failed[*]}; the files are in fuzz/artifacts, what was said in fuzz/logs"; exit 1; }
