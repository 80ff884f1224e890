#!/usr/bin/env bash
# Records the traces of the study of host load: a node measures this host, once a second, under one load after the other.
#
# Leaves FOLDER/NAME.csv for each load, with a column of times and one for each signal. The last load is none: the host as it is in use
# meanwhile, by whatever its people do on it. FORETOP_RECORD_SECONDS says how long each is recorded (700 s, 480 s and an hour unless
# set). Usage: scripts/record-traces.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
folder="$1"
foretop="${FORETOP_BIN:-${CARGO_TARGET_DIR:-target}/release/foretop}"
signals=(cpu.availability load.1m tasks.runnable cpu.busy pressure.cpu.some)

scratch=$(mktemp -d)
node=
cleanup() {
    [ -z "$node" ] || kill "$node" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap cleanup EXIT

# The seconds that lie wholly between two moments are recorded.
record() {
    local name="$1" from to
    shift
    from=$(date -u -d '+1 second' +%FT%TZ)
    echo "recording $name from $from"
    "$@"
    to=$(date -u +%FT%TZ)
    export_table "$from" "$to" >"$folder/$name.csv"
}

# A row for each moment of which the first signal is known, or a gap in it; six digits are more than any sensor has.
export_table() {
    local signal joined="$scratch/joined" column="$scratch/column"
    "$foretop" export "${signals[0]}" --node "$url" --from "$1" --to "$2" | tail -n +2 >"$joined"
    for signal in "${signals[@]:1}"; do
        "$foretop" export "$signal" --node "$url" --from "$1" --to "$2" | tail -n +2 >"$column"
        LC_ALL=C join -t , -a 1 -e '' -o auto "$joined" "$column" >"$joined.next"
        mv "$joined.next" "$joined"
    done
    (IFS=, && echo "time,${signals[*]}")
    LC_ALL=C awk 'BEGIN { FS = OFS = "," } { for (i = 2; i <= NF; i++) if ($i != "") $i = sprintf("%.6g", $i) } 1' "$joined"
}

"$foretop" up --listen 127.0.0.1:0 --data-dir "$scratch/data" --every 1s >"$scratch/up.log" &
node=$!
until url=$(grep -o -m 1 'http://[^[:space:]/]*' "$scratch/up.log"); do
    kill -0 "$node"
    sleep 0.1
done

mkdir -p "$folder"
record mixed "$foretop" workload mixed --seed 1 --for "${FORETOP_RECORD_SECONDS:-700}s"
record bursty-and-spinner "$foretop" workload bursty-and-spinner --seed 1 --for "${FORETOP_RECORD_SECONDS:-480}s"
record in-use sleep "${FORETOP_RECORD_SECONDS:-3600}"
