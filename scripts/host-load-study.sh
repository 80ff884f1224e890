#!/usr/bin/env bash
# Makes the study of host load (docs/studies/host-load.md) from its traces, template and seed: the pages below docs/studies/host-load/ and
# the table in docs/figures.md.
#
# All of these are the same to the byte each time, on processors and a C library of one kind. The results themselves, and the reports as
# HTML with what models cost on this host, are left in target/host-load-study/; a campaign that was stopped is taken up there. With --record, the
# traces are recorded anew before (about 80 minutes). FORETOP_STUDY_CASES is for trying a change.
# Usage: scripts/host-load-study.sh [--record]
set -euo pipefail
cd "$(dirname "$0")/.."
export FORETOP_BIN="${FORETOP_BIN:-${CARGO_TARGET_DIR:-target}/release/foretop}"
results="${CARGO_TARGET_DIR:-target}/host-load-study"
pages=docs/studies/host-load
recorded=testdata/host-load
n_cases="${FORETOP_STUDY_CASES:-20000}"

scripts/install-system-packages.sh python3
if [ "${1:-}" = --record ]; then
    scripts/record-traces.sh "$recorded"
fi

# Usage: campaign NAME TITLE TRACES...
campaign() {
    local name="$1" title="$2" out="$results/$1.parquet"
    shift 2
    printf '\n==== %s\n' "$name"
    rm -f "$out" "$results/$name.timings.parquet"
    "$FORETOP_BIN" crossval run "$pages/template.toml" "$@" --cases "$n_cases" --seed 1 --out "$out"
    "$FORETOP_BIN" crossval report "$out" --title "$title" --html "$results/$name.html"
    "$FORETOP_BIN" crossval report "$out" --title "$title" --no-costs --markdown "$pages/$name.md" >/dev/null
}

mkdir -p "$results"
campaign availability "CPU availability, once a second" --traces "$recorded" --column cpu.availability
campaign load-average "Load average over a minute, once a second" --traces "$recorded" --column load.1m
campaign runnable "Runnable tasks, once a second" --traces "$recorded" --column tasks.runnable
campaign pressure "Pressure on the CPU, once a second" --traces "$recorded" --column pressure.cpu.some
campaign given "Traces of cloud hosts, every five minutes" --traces testdata/nab
(cd "$results" && sha256sum availability.parquet load-average.parquet runnable.parquet pressure.parquet given.parquet) >"$pages/results.sha256"
python3 scripts/host_load_study_table.py
printf '\nthe pages are in %s, the reports with costs in %s\n' "$pages" "$results"
