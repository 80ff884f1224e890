#!/usr/bin/env bash
# Lets libFuzzer look for inputs that break a decoder, each for so long; ends with an error when it finds one.
#
# FORETOP_FUZZ_SECONDS says how long each decoder has (60 unless set), or FORETOP_FUZZ_RUNS how many inputs, however long that takes. A table at
# the end says how many there were. What was learnt stays in target/fuzz/corpus/ and is where the next
# run goes on; an input that breaks something is left in target/fuzz/. The flags are those that the nightly-only `cargo fuzz` gives,
# save for the address sanitizer, which the stable compiler lacks: the decoders are safe Rust, and what can go wrong is a panic, a
# hang or a memory hog.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
if [ -n "${FORETOP_FUZZ_RUNS:-}" ]; then
    limit=(-runs="$FORETOP_FUZZ_RUNS")
else
    limit=(-max_total_time="${FORETOP_FUZZ_SECONDS:-60}")
fi

scripts/install-system-packages.sh cargo cc c++
host=$(rustc --print host-tuple)
flags=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    -Ccodegen-units=1
    -Cdebug-assertions=on
    -Coverflow-checks=on
)
# With a target named, the flags are for what is fuzzed, not for build scripts.
RUSTFLAGS="${flags[*]}" cargo build --release --locked -p fuzz --features libfuzzer --target "$host"

table=$(mktemp)
trap 'rm -f "$table"' EXIT
for decoder in crossval-template specification predictor-state exporter-page flow-message stream-frame stream-request tree-file mpi-trace-file monitor-results machine-file dedup-group tunnel-frame arrival-trace playback-rate stretched-sound record-file; do
    printf '\n==== %s (%s)\n' "$decoder" "${limit[*]#-}"
    corpus="$CARGO_TARGET_DIR/corpus/$decoder"
    mkdir -p "$corpus"
    options=("${limit[@]}" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
        -artifact_prefix="$CARGO_TARGET_DIR/$decoder-")
    [ -f "fuzz/$decoder.dict" ] && options+=(-dict="fuzz/$decoder.dict")
    "$CARGO_TARGET_DIR/$host/release/fuzz-$decoder" "${options[@]}" "$corpus" 2>&1 | tee "$CARGO_TARGET_DIR/$decoder.log"
    awk -v decoder="$decoder" '/number_of_executed_units/ { n = $2 } /average_exec_per_sec/ { rate = $2 }
        END { printf "%-20s %12d %12d\n", decoder, n, rate }' "$CARGO_TARGET_DIR/$decoder.log" >>"$table"
done
printf '\n%-20s %12s %12s\n' decoder inputs 'inputs/s'
cat "$table"
