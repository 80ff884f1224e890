#!/usr/bin/env bash
# Builds, tests or checks the program that measures the kernel, `foretop-kernel`, which needs clang and libelf; all else does without.
# With it the library is built that programs in C link to control it.
#
# `test` runs what needs root as root where it can be had without a password, and says so where it cannot.
# Usage: scripts/kernel.sh build|test|clippy
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

scripts/install-system-packages.sh cargo cc clang libelf

packages=(-p foretop-kernel -p kernel --features kernel/bpf)

run_tests() {
    local runner=(env)
    scripts/run_tests.py --doc -- --locked "${packages[@]}"
    # `foretop` beside the program that is tested is what the part `rust` of the tests has built.
    [ -x "$CARGO_TARGET_DIR/debug/foretop" ] || echo "SKIPPED receiving by TLS, and sorts of the study: there is no debug build of foretop; run \`make test\`"
    # The tracer is what the part `mpi` has built.
    if [ -e "$CARGO_TARGET_DIR/debug/deps/libmpi_tracer.so" ] && command -v mpicc.openmpi >/dev/null && command -v mpicc.mpich >/dev/null; then
        scripts/run_tests.py --ignored --filter mpi:: --at-once "$(nproc)" -- --locked "${packages[@]}" --test it
    else
        echo "SKIPPED calls of MPI programs: there is no debug build of the tracer, or no MPI; run \`make test\`"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "SKIPPED programs in the kernel: they need root without a password; run \`make test\` as root"
            return
        fi
        runner=(sudo -n env)
    fi
    if [ ! -e /sys/kernel/btf/vmlinux ]; then
        echo "SKIPPED programs in the kernel: this kernel has no /sys/kernel/btf/vmlinux"
        return
    fi
    # One after the other: each counts what is in the kernel. What the part `mpi` of the tests has built serves the rehearsal of the study.
    runner+=("PATH=$PATH" "HOME=$HOME" "CARGO_TARGET_DIR=$CARGO_TARGET_DIR" "FORETOP_MPI_PROGRAMS=$CARGO_TARGET_DIR/mpi/openmpi/debug")
    scripts/run_tests.py --ignored --filter root:: --at-once 1 --runner "${runner[*]@Q}" -- --locked "${packages[@]}" --lib --test it
}

case "${1:-}" in
    build) cargo build --release --locked -p foretop-kernel -p kernel-link ;;
    test) run_tests ;;
    clippy) cargo clippy --all-targets --locked "${packages[@]}" -- -D warnings ;;
    *)
        echo "scripts/kernel.sh: ${1:-nothing} is none of build, test, clippy" >&2
        exit 2
        ;;
esac
