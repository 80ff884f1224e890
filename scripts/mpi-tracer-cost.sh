#!/usr/bin/env bash
# Prints what the tracer adds to a call, with each MPI library: nanoseconds in C and Fortran, beside two readings of the processor's counter
# in the same run. The goal is those two plus 10 ns in C, plus 15 ns in Fortran.
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
    echo "$library $bare $traced" | awk '{
        printf "%-8s two readings %5.1f ns; a traced call adds %5.1f in C (%+.1f), %5.1f in Fortran (%+.1f), %5.1f to a probe (%+.1f)\n",
            $1, $6, $7 - $3, $7 - $3 - $6, $8 - $4, $8 - $4 - $6, $9 - $5, $9 - $5 - $6
    }'
done
