# What the other scripts must know of this machine; to be sourced at the top of the project.

# Tools of this project that were built here lie beside those of other checkouts of it, not among the user's own.
oomscope_tools=${XDG_CACHE_HOME:-$HOME/.cache}/oomscope
export PATH="$PATH:$HOME/.cargo/bin"
export PATH="$oomscope_tools/bin:$PATH"

# The version of a crate in Cargo.lock.
locked_version() {
  awk -v name="\"$1\"" '$1 == "name" && $3 == name { getline; gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

# Whether a compiler can really make wasm32 code (a library left by another version of it cannot be used).
makes_wasm() {
  printf 'pub fn f() -> String { String::new() }' |
    "$@" --target wasm32-unknown-unknown --crate-type rlib --crate-name probe --emit metadata --out-dir target/probe - \
      2>/dev/null
}

# Sets what cargo and wasm-pack need for wasm32, and `wasm_from`: rustup's target, or Debian's compiler with a library
# built by setup.sh. Fails where there is neither.
wasm_env() {
  if command -v rustc >/dev/null && [ "$(command -v rustc)" != /usr/bin/rustc ] && makes_wasm rustc; then
    wasm_from=rustup
  elif [ -x /usr/bin/rustc ] && makes_wasm /usr/bin/rustc; then
    wasm_from=debian
    wasm_ld=$(printf '%s\n' /usr/lib/llvm-*/bin/wasm-ld | sort -V | tail -n 1)
    [ -x "$wasm_ld" ] || return 1
  else
    return 1
  fi
}

# Runs a command with the compiler that makes wasm32 code.
with_wasm() {
  # Paths of this machine would end in the messages of panics: the same sources give the same bytes everywhere.
  local flags="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/oomscope --remap-path-prefix=${RUSTUP_HOME:-$HOME/.rustup}=/rustup --remap-path-prefix=$HOME=/home"
  if [ "$wasm_from" = debian ]; then
    env -u RUSTUP_TOOLCHAIN PATH="/usr/bin:$PATH" RUSTFLAGS="$flags" \
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$wasm_ld" "$@"
  else
    env RUSTFLAGS="$flags" "$@"
  fi
}

# The browsers that the page is tested in: those named, else Debian's, else what is there.
chromium_path() {
  first_of "${OOMSCOPE_CHROMIUM:-}" chromium chromium-browser google-chrome ||
    node -e 'process.stdout.write(require("playwright-core").chromium.executablePath())' 2>/dev/null |
    { read -r path && [ -x "$path" ] && echo "$path"; }
}
firefox_path() {
  first_of "${OOMSCOPE_FIREFOX:-}" firefox-esr firefox
}
first_of() {
  local name
  for name in "$@"; do
    [ -n "$name" ] && command -v "$name" && return
  done
  return 1
}
