#!/usr/bin/env bash
# Serves the demo of playback in browsers, with media that espeak-ng speaks and links that are as slow as one chooses,
# until Ctrl-C.
#
# Usage: scripts/playback-demo.sh [PORT]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-system-packages.sh espeak-ng ffmpeg npm
scripts/build-playback.sh
exec node web/playback/demo-server.mjs "${CARGO_TARGET_DIR:-$PWD/target}/playback-media-600" "${1:-0}"
