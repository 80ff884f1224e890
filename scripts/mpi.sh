#!/usr/bin/env bash
# Builds, tests or checks the programs that run under MPI, for one MPI library after the other, and the tracer, which serves all of them.
#
# A program is linked with one library. `build` leaves release builds in target/mpi/NAME, where `foretop mpi` looks for them;
# `test` leaves those that it tested in target/mpi/NAME/debug.
# Usage: scripts/mpi.sh build|test|clippy [openmpi|mpich]...
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

what="$1"
shift
flavours=("$@")
[ ${#flavours[@]} -gt 0 ] || flavours=(openmpi mpich)

needed=(cargo cc libclang)
for flavour in "${flavours[@]}"; do
    needed+=("mpicc.$flavour" "mpiexec.$flavour")
done
scripts/install-system-packages.sh "${needed[@]}"

# The crate that binds the library does not see that MPICC has changed, so it is made to start afresh.
bind_to() {
    local profile="$1" flavour="$2" record="$CARGO_TARGET_DIR/mpi/bound-$1"
    export MPICC="mpicc.$flavour"
    mkdir -p "$CARGO_TARGET_DIR/mpi/$flavour/debug"
    if [ "$(cat "$record" 2>/dev/null)" != "$flavour" ]; then
        cargo clean --quiet --profile "$profile" -p mpi-sys
        echo "$flavour" >"$record"
    fi
}

# Keeps the programs of one library apart from those of the next.
keep() {
    local name
    for name in ace comb miniapp noise sort; do
        cp "$CARGO_TARGET_DIR/$1/foretop-$name" "$2/"
    done
}

# What runs inside of the ranks of a simulation, which `foretop sim run` looks for in target/mpi/sim.
simulate() {
    local folder="$CARGO_TARGET_DIR/mpi/sim" kind
    [ "$1" = openmpi ] || return 0
    mkdir -p "$folder"
    mpicc.openmpi -shared -fPIC -O2 -mcx16 -Wall -Wextra -Werror crates/mpi-sim-component/c/*.c -lopen-rte -lopen-pal -o "$folder/mca_pml_foretop.so"
    for kind in ess pmix; do
        ln -sf mca_pml_foretop.so "$folder/mca_${kind}_foretop.so"
    done
    # For programs that are linked with MPICH.
    mkdir -p "$folder/mpich"
    cp "$CARGO_TARGET_DIR/$2/libmpi_sim_mpich.so" "$folder/mpich/libmpich.so.12"
}

all=(--locked -p foretop-mpi -p mpi-run -p ace -p comb -p miniapp -p noise -p sort --features "mpi-run/mpi,ace/mpi,comb/mpi,miniapp/mpi,noise/mpi,sort/mpi")
# The programs, and the crates with tests of what is there with the feature `mpi` only. All other tests run without MPI.
tested=(--locked -p foretop-mpi -p ace -p comb --features "ace/mpi,comb/mpi")
for flavour in "${flavours[@]}"; do
    echo "-- $flavour"
    place="$CARGO_TARGET_DIR/mpi/$flavour"
    case "$what" in
        build)
            bind_to release "$flavour"
            cargo build --release --locked -p foretop-mpi -p mpi-coll -p mpi-sim-component -p mpi-sim-mpich -p mpi-tracer -p mpi-wait
            keep release "$place"
            # For the programs of every profile.
            cp "$CARGO_TARGET_DIR"/release/libmpi_{coll,sim_component,tracer,wait}.so "$CARGO_TARGET_DIR/mpi/"
            simulate "$flavour" release
            ;;
        test)
            bind_to dev "$flavour"
            targets=(--bins --test it)
            # What is in our crates does not depend on the library below: it is tested with one.
            [ "$flavour" != openmpi ] || targets+=(--lib)
            scripts/run_tests.py --at-once "$(nproc)" -- "${tested[@]}" "${targets[@]}"
            cargo build --locked -p foretop-sim -p mpi-coll -p mpi-sim-component -p mpi-sim-mpich -p mpi-tracer -p mpi-wait
            keep debug "$place/debug"
            simulate "$flavour" debug
            ;;
        clippy)
            bind_to dev "$flavour"
            cargo clippy --all-targets "${all[@]}" -- -D warnings
            ;;
        *)
            echo "scripts/mpi.sh: $what is none of build, test, clippy" >&2
            exit 2
            ;;
    esac
done
