#!/usr/bin/env bash
# Makes target/mpi/standard, a virtual environment of Python with MPICH 5 and mpi4py, unless its requirements are older.
#
# mpi4py's wheel calls MPICH by MPICH's own ABI. The folder `abi` has mpi4py once more, built for the standard ABI, which takes half a minute.
# Usage: scripts/mpi-standard.sh
set -euo pipefail
cd "$(dirname "$0")/.."
place="${CARGO_TARGET_DIR:-$PWD/target}/mpi/standard"
requirements=scripts/requirements-mpi.txt

if [ "$place/installed" -nt "$requirements" ]; then
    exit
fi
scripts/install-system-packages.sh cc python3 python-headers venv
rm -rf "$place"
python3 -m venv "$place"
pip=("$place/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" --requirement "$requirements"
CFLAGS=-O0 MPI4PY_BUILD_MPICC="$place/bin/mpicc_abi" "${pip[@]}" --no-deps --no-binary mpi4py --target "$place/abi" "$(grep '^mpi4py' "$requirements")"
touch "$place/installed"
