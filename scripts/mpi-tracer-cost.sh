#!/usr/bin/env bash
# Prints what the tracer adds to a call, with each MPI library: nanoseconds in C and Fortran, beside two readings of the processor's counter
# in the same run. The goal is those two plus 10 ns in C, plus 15 ns in Fortran. Fields between tabs: what, goal, library, figure.
# Usage: scripts/mpi-tracer-cost.sh [PROFILE]     [default: release]
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
profile="${1:-release}"

scripts/install-system-packages.sh cargo mpifort.openmpi mpifort.mpich mpicc.openmpi mpicc.mpich
cargo build --quiet --locked --profile "$profile" -p mpi-tracer
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
declare -A fortran=([openmpi]=-lmpi_mpifh [mpich]=-lmpichfort)
export FORETOP_MPI_TRACE="$scratch/trace" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for library in openmpi mpich; do
    "mpicc.$library" -O2 -o "$scratch/cost" crates/mpi-tracer/tests/programs/cost.c "${fortran[$library]}"
    bare=$("$scratch/cost")
    traced=$(LD_PRELOAD="$CARGO_TARGET_DIR/$profile/libmpi_tracer.so" "$scratch/cost")
    echo "$library $bare $traced" | awk -v OFS='\t' '
        function row(what, goal, ns) { print what, goal, $1, sprintf("%.1f ns", ns) }
        {
            row("two readings of the counter", "", $6)
            row("what a traced call in C takes longer", "", $7 - $3)
            row("the same beyond two readings", "10 ns", $7 - $3 - $6)
            row("what a traced call in Fortran takes longer", "", $8 - $4)
            row("the same in Fortran beyond two readings", "15 ns", $8 - $4 - $6)
        }'
done
