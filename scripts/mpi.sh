#!/usr/bin/env bash
# Builds or tests the programs that run under MPI, once for each MPI library.
#
# Each library has a target folder of its own, target/mpi/NAME, since a program is linked with one of them.
# Usage: scripts/mpi.sh build|test|clippy [openmpi|mpich]...
set -euo pipefail
cd "$(dirname "$0")/.."
base="${CARGO_TARGET_DIR:-$PWD/target}/mpi"

what="$1"
shift
flavours=("$@")
[ ${#flavours[@]} -gt 0 ] || flavours=(openmpi mpich)

packages=()
for flavour in "${flavours[@]}"; do
    packages+=("mpicc.$flavour" "mpiexec.$flavour")
done
scripts/install-system-packages.sh cargo cc libclang "${packages[@]}"

for flavour in "${flavours[@]}"; do
    export CARGO_TARGET_DIR="$base/$flavour" MPICC="mpicc.$flavour"
    echo "-- $flavour"
    case "$what" in
        build) cargo build --release --locked -p foretop-mpi ;;
        test) cargo test --locked -p foretop-mpi -p mpi-measure --features mpi-measure/mpi ;;
        clippy) cargo clippy --all-targets --locked -p foretop-mpi -p mpi-measure --features mpi-measure/mpi -- -D warnings ;;
        *)
            echo "scripts/mpi.sh: $what is none of build, test, clippy" >&2
            exit 2
            ;;
    esac
done
