#!/usr/bin/env bash
# Builds all kernels into FOLDER for one MPI library: build.sh openmpi|mpich FOLDER
set -euo pipefail
library="$1"
mkdir -p "$2"
into="$(cd "$2" && pwd)"
cd "$(dirname "$0")"

cc() { "mpicc.$library" -O2 -Wall "$@"; }
for name in lu is ep master-worker; do cc -o "$into/$name" "$name.c" work.c; done
cc -o "$into/bt" adi.c work.c
cc -DSP -o "$into/sp" adi.c work.c

cc -c -o "$into/work.o" work.c
for name in mg cg ft; do
    # Arguments of MPI's calls have no one type.
    "mpif90.$library" -O2 -fallow-argument-mismatch -w -J "$into" -o "$into/$name" work_interface.f90 "$name.f90" "$into/work.o"
done
rm -f "$into/work.o" "$into/work_interface.mod"
