#!/usr/bin/env bash
# Prints the path of a Prometheus server: the one in PATH, or the distribution's package unpacked below the target folder.
#
# Unpacked and not installed, because Debian's package starts a server on port 9090 of the machine it is installed on.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v prometheus; then
    exit 0
fi
folder="${CARGO_TARGET_DIR:-$PWD/target}/prometheus"
if [ ! -x "$folder/usr/bin/prometheus" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "\`prometheus\` is not there, and this machine has no apt-get to fetch it with: put it into PATH" >&2
        exit 1
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    cd "$folder"
    if ! apt-get download -q prometheus >&2; then
        echo "the package lists have no prometheus; fetching the lists" >&2
        if [ "$(id -u)" -eq 0 ]; then apt-get update -q >&2; else sudo apt-get update -q >&2; fi
        apt-get download -q prometheus >&2
    fi
    dpkg-deb --extract prometheus_*.deb .
    rm prometheus_*.deb
fi
echo "$folder/usr/bin/prometheus"
