#!/usr/bin/env bash
# Gets what this project is built and tested with, as far as it is missing, and says what it does. A second run takes
# seconds. Needs Rust and Node 20; everything else it finds or installs:
#
#   setup.sh build    what `npm run build` and `npm start` need: wasm32 target, wasm-pack, wasm-bindgen, node modules
#   setup.sh test     that, and what `npm test` needs: browsers, clippy for wasm32
#
# With rustup and its servers no root is needed. Where they cannot be reached, root on Debian has another way:
# Debian's own compiler with a standard library built from its sources.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
part=${1:-test}
case $part in build | test) ;; *) echo "usage: scripts/setup.sh [build|test]" >&2; exit 2 ;; esac

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$@" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
can_apt() {
  command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}
apt_updated=
apt_install() {
  say "installing Debian packages: $*"
  [ -n "$apt_updated" ] || as_root apt-get update -qq || true
  apt_updated=yes
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
# Debian packages of $2… unless the command $1 is there.
apt_for() {
  command -v "$1" >/dev/null && return
  local command=$1
  shift
  can_apt || die "'$command' is missing: please install it (Debian: apt-get install $*; macOS: brew install $command)"
  apt_install "$@"
}

# ---- Rust for the machine itself

command -v cargo >/dev/null || die "Rust is missing: https://rustup.rs, or as root apt-get install rustc-web cargo-web"
command -v node >/dev/null || die "Node is missing: version 20 or newer, https://nodejs.org"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || die "Node $(node -v) is too old: 20 or newer is needed"
apt_for cc build-essential
apt_for xz xz-utils

# ---- The wasm32 target

debian_std() {
  local target lib here
  target=wasm32-unknown-unknown
  lib=$(/usr/bin/rustc --print target-libdir --target $target)
  here=$(mktemp -d)
  say "building the standard library for $target from Debian's sources (about 80 s)"
  mkdir "$here/src"
  : >"$here/src/lib.rs"
  printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$here/Cargo.toml"
  (cd "$here" && env -u RUSTUP_TOOLCHAIN PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$here/target" \
    /usr/bin/cargo build --release --quiet -Z build-std=std,panic_abort --target $target)
  as_root mkdir -p "$lib"
  as_root rm -f "$lib"/*.rlib
  find "$here/target/$target/release/deps" -name '*.rlib' ! -name 'libempty-*' -print0 |
    as_root xargs -0 cp -t "$lib"
  rm -rf "$here"
}

if wasm_env; then
  say "have the wasm32 target ($wasm_from)"
else
  if command -v rustup >/dev/null; then
    say "adding the wasm32 target with rustup"
    timeout 300 rustup target add wasm32-unknown-unknown || say "rustup's servers cannot be reached"
  fi
  if ! wasm_env; then
    can_apt || die "no wasm32 target: 'rustup target add wasm32-unknown-unknown' did not work," \
      "and the other way (Debian's compiler) needs root"
    say "taking Debian's compiler for wasm32"
    apt_install rustc-web cargo-web rust-web-src lld-22
    debian_std
    wasm_env || die "the wasm32 standard library was built but does not work with $(/usr/bin/rustc --version)"
  fi
  say "have the wasm32 target ($wasm_from)"
fi

# ---- wasm-pack and wasm-bindgen

# The tools only drive and rewrite: half-optimised they are built in half the time.
cargo_tool() {
  say "building $1 $2 (some minutes)"
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_DEBUG=false \
    cargo install --quiet --root "$oomscope_tools" --version "$2" "${@:3}" "$1"
}

case $(wasm-pack --version 2>/dev/null) in
  "wasm-pack 0.15."*) ;;
  *) cargo_tool wasm-pack '^0.15' --locked ;;
esac
say "have $(wasm-pack --version)"

bindgen=$(locked_version wasm-bindgen)
if [ "$(wasm-bindgen --version 2>/dev/null)" != "wasm-bindgen $bindgen" ]; then
  # The version must be the library's own. Not --locked: the lock file of 0.2.130 does not build.
  cargo_tool wasm-bindgen-cli "=$bindgen" --force
  [ "$(wasm-bindgen --version)" = "wasm-bindgen $bindgen" ] || die "wasm-bindgen $bindgen was built but another is found first"
fi
say "have wasm-bindgen $bindgen"

# ---- Node modules

if ! cmp -s package-lock.json node_modules/.oomscope-lock; then
  say "installing node modules"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.oomscope-lock
fi
say "have the node modules"

[ "$part" = test ] || exit 0

# ---- Clippy, also for the compiler that makes wasm

if [ "$wasm_from" = debian ] && [ ! -x /usr/bin/cargo-clippy ] && can_apt; then apt_install rust-web-clippy; fi
if ! cargo clippy --version >/dev/null 2>&1 || ! cargo fmt --version >/dev/null 2>&1; then
  if command -v rustup >/dev/null; then
    rustup component add clippy rustfmt || say "no clippy or rustfmt: the linters will say so"
  fi
fi

# ---- The linter of the workflows

zizmor=1.32.0
if [ "$(zizmor --version 2>/dev/null)" != "zizmor $zizmor" ]; then
  say "installing zizmor $zizmor"
  apt_for python3 python3
  if python3 -m venv "$oomscope_tools/zizmor" 2>/dev/null || { can_apt && apt_install python3-venv &&
    python3 -m venv "$oomscope_tools/zizmor"; }; then
    "$oomscope_tools/zizmor/bin/pip" install --quiet --disable-pip-version-check "zizmor==$zizmor" &&
      mkdir -p "$oomscope_tools/bin" && ln -sf ../zizmor/bin/zizmor "$oomscope_tools/bin/zizmor" ||
      say "no zizmor: the linters will say so"
  else
    say "no zizmor: Python cannot make an environment for it"
  fi
fi

# ---- Browsers

if [ -z "$(chromium_path)" ]; then
  if can_apt; then
    apt_install chromium
  else
    say "no Chromium, and no right to install Debian's: trying playwright's own"
    node_modules/.bin/playwright-core install chromium || say "no Chromium: the page tests will not run"
  fi
fi
if [ -z "$(firefox_path)" ] && can_apt; then apt_install firefox-esr; fi
say "Chromium: $(chromium_path || true)"
say "Firefox: $(firefox_path || true)"
