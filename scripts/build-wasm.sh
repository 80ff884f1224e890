#!/usr/bin/env bash
# Builds the controller for browsers into web/playback/playback.wasm, and does nothing when it is newer than all it is
# made from.
#
# With the target wasm32-unknown-unknown (`rustup target add wasm32-unknown-unknown`) cargo does all. Without it,
# Debian's rustc and its sources of the standard library are unpacked below the target folder, and the standard library
# is compiled for the page.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

target=wasm32-unknown-unknown
module=web/playback/playback.wasm
from=(Cargo.lock web/wasm crates/{dedup,picture,playback,predict,segment-store,series,statistics,text})
if [ -e "$module" ] && [ -z "$(find "${from[@]}" -newer "$module" -type f -print -quit)" ]; then
    exit 0
fi
scripts/install-system-packages.sh cargo cc

sysroot=$(rustc --print sysroot)
build=(cargo build --locked --profile wasm -p playback-wasm -p dedup -p segment-store --target "$target")
if [ -d "$sysroot/lib/rustlib/$target" ]; then
    "${build[@]}"
else
    # Unpacked and not installed: a second rustc in the search path is nobody's wish.
    debian="$CARGO_TARGET_DIR/rustc-web"
    if [ ! -e "$debian/complete" ]; then
        if ! command -v apt-get >/dev/null; then
            echo "rustc has no standard library for $target: \`rustup target add $target\` brings it" >&2
            exit 1
        fi
        rm -rf "$debian"
        mkdir -p "$debian"
        as_root=()
        [ "$(id -u)" -eq 0 ] || as_root=(sudo)
        "${as_root[@]}" apt-get update -q >&2
        version=$(apt-cache show rustc-web | sed -n 's/^Version: //p' | head -n 1)
        libraries=$(apt-cache show "rustc-web=$version" "libstd-rust-web-dev=$version" \
            | sed -n 's/^Depends: .*\(libstd-rust-web-[0-9][0-9.]*\).*/\1/p' | head -n 1)
        llvm=$(apt-cache show "$libraries=$version" | sed -n 's/^Depends: .*\(libllvm[0-9][0-9]*\).*/\1/p' | head -n 1)
        (
            cd "$debian"
            apt-get download -q {rustc-web,rust-web-src,libstd-rust-web-dev,"$libraries"}="$version" "$llvm" >&2
            for package in *.deb; do dpkg-deb --extract "$package" .; done
            rm -- *.deb
            printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$PWD/usr/lib/$(gcc -print-multiarch)" "$PWD/usr/bin/rustc" >rustc
            chmod +x rustc
            touch complete
        )
    fi
    host=$(rustc -vV | sed -n 's/^host: //p')
    # Building the standard library is not stable yet; and this toolchain brings the linker that Debian's compiler does
    # without.
    RUSTC="$debian/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$sysroot/lib/rustlib/$host/bin/rust-lld" \
        "${build[@]}" -Zbuild-std=std,panic_abort
fi
cp "$CARGO_TARGET_DIR/$target/wasm/playback_wasm.wasm" "$module"
touch "$module"
