#!/usr/bin/env bash
# Makes the pictures in docs/images: the page and the demo of playback in a real Chromium, `foretop top` in a terminal, and a plot.
#
# Runs a node of its own as `make run` does, with its defaults, and some load beside it, so that there is something to see.
# FORETOP_SCREENSHOT_SECONDS says how long the node measures before; it has to be past two minutes, when its forecasts for a minute
# ahead have come due.
set -euo pipefail
cd "$(dirname "$0")/.."

foretop="${FORETOP_BIN:-${CARGO_TARGET_DIR:-target}/release/foretop}"
seconds="${FORETOP_SCREENSHOT_SECONDS:-600}"
images=docs/images

scripts/install-system-packages.sh chromium espeak-ng ffmpeg tmux npm
scripts/build-web.sh --tools
scripts/build-playback.sh
scripts/python-venv.sh scripts/requirements.txt
export CHROMIUM="${CHROMIUM:-$(command -v chromium)}"

scratch=$(mktemp -d)
terminal=(tmux -S "$scratch/tmux" -f /dev/null)
# With job control each child leads a process group of its own, so that it can be ended with its children.
set -m
children=()
cleanup() {
    "${terminal[@]}" kill-server 2>/dev/null || true
    for child in "${children[@]}"; do
        kill -- "-$child" 2>/dev/null || true
    done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT

# Prints what the command prints once it prints something; gives up after 30 seconds.
wait_for() {
    local found
    for _ in $(seq 300); do
        found=$("$@" 2>/dev/null) || true
        if [ -n "$found" ]; then
            echo "$found"
            return
        fi
        sleep 0.1
    done
    echo "waited in vain for: $*" >&2
    return 1
}

# A busy core in bursts, some reading and some memory; each burst ends by itself.
drive_load() {
    local burst
    while true; do
        for burst in 3 1 5 2; do
            timeout --foreground "$burst" sha256sum /dev/zero || true
            dd if="$foretop" of="$scratch/copy" bs=1M conv=fsync status=none || true
            sleep "$burst"
        done
    done
}

top_is_drawn() {
    "${terminal[@]}" capture-pane -p | grep -F 'cpu.'
}

"$foretop" up --listen 127.0.0.1:0 --data-dir "$scratch/data" >"$scratch/up.log" &
children+=($!)
url=$(wait_for grep -o -m 1 'http://[^[:space:]/]*' "$scratch/up.log")
drive_load &
children+=($!)
echo "measuring for $seconds s at $url"
sleep "$seconds"

mkdir -p "$images"
node web/screenshot.mjs "$url/" "$images" cpu.busy

"${terminal[@]}" new-session -d -x 120 -y 36 "env COLORTERM=truecolor TERM=screen-256color '$foretop' top --node '$url'"
wait_for top_is_drawn >/dev/null
# A few ticks, so that no row is without its band.
sleep 5
size=$("${terminal[@]}" capture-pane -e -p \
    | .venv/bin/python scripts/terminal_to_svg.py --title 'foretop top' "$scratch/top.svg")
sandbox=()
if [ "$(id -u)" -eq 0 ]; then
    # Chromium refuses to sandbox root; what it shows is our own picture.
    sandbox=(--no-sandbox)
fi
"$CHROMIUM" "${sandbox[@]}" --headless --disable-gpu --hide-scrollbars --force-device-scale-factor=2 \
    --default-background-color=00000000 --window-size="$size" --screenshot="$PWD/$images/top.png" \
    "file://$scratch/top.svg" 2>/dev/null
echo "$images/top.png"

"$foretop" analyze testdata/nab/ec2_cpu_utilization_5f5533.csv --plot "$images/analyze.svg" >/dev/null
echo "$images/analyze.svg"

node web/playback/screenshot.mjs "${CARGO_TARGET_DIR:-target}/playback-media-120" "$images/playback-demo.png"
