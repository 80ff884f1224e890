#!/usr/bin/env bash
# Builds the demo of playback in browsers into web/playback/dist, and does nothing when it is newer than all it is made
# from.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build-wasm.sh
scripts/build-web.sh --tools
page=web/playback/dist/index.html
from=(web/playback/*.html web/playback/*.css web/playback/*.ts web/playback/playback.wasm web/package-lock.json)
if [ ! -e "$page" ] || [ -n "$(find "${from[@]}" -newer "$page" -print -quit)" ]; then
    npm --prefix web run build:playback
    touch "$page"
fi
