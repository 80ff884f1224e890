#!/usr/bin/env bash
# Fails where the target folder's disk has too little room, before anything is built.
#
# Usage: scripts/check-disk.sh [FOLDER], the target folder if none is named; FORETOP_DISK_GB says how many GB must be free, 5 if it is not set, 0 for any
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${1:-${CARGO_TARGET_DIR:-$PWD/target}}"
needed="${FORETOP_DISK_GB:-5}"
# A folder that is yet to be made will be on the disk of the first one above it.
place="$folder"
while [ ! -d "$place" ]; do
    place=$(dirname "$place")
done
# What was built before is most of what is needed.
[ ! -d "$folder/debug/deps" ] || [ ! -d "$folder/release/deps" ] || exit 0
free=$(($(df --output=avail --block-size=1000000 "$place" | tail -n 1) / 1000))
if [ "$free" -lt "$needed" ]; then
    echo "$place has $free GB free, and building and testing need $needed GB: free some, name another folder by CARGO_TARGET_DIR, or set FORETOP_DISK_GB to what should do" >&2
    exit 1
fi
