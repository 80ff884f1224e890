#!/usr/bin/env bash
# Prints the path of the program called like a package of the distribution: the one in PATH, or the package unpacked below the target folder.
#
# Unpacked and not installed, because Debian's packages of servers start one on the machine that they are installed on.
# Usage: scripts/unpack-package.sh nats-server|prometheus|prometheus-alertmanager|prometheus-node-exporter
set -euo pipefail
cd "$(dirname "$0")/.."
package="$1"

if command -v "$package"; then
    exit 0
fi
folder="${CARGO_TARGET_DIR:-$PWD/target}/$package"
# Debian has some servers where only root looks for programs.
unpacked() {
    find "$folder/usr/bin" "$folder/usr/sbin" -name "$package" -executable 2>/dev/null || true
}
if [ -z "$(unpacked)" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "\`$package\` is not there, and this machine has no apt-get to fetch it with: put it into PATH" >&2
        exit 1
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    cd "$folder"
    if ! apt-get download -q "$package" >&2; then
        echo "the package lists have no $package; fetching the lists" >&2
        if [ "$(id -u)" -eq 0 ]; then apt-get update -q >&2; else sudo apt-get update -q >&2; fi
        apt-get download -q "$package" >&2
    fi
    dpkg-deb --extract "$package"_*.deb .
    rm "$package"_*.deb
fi
unpacked
