#!/usr/bin/env bash
# Runs every test, or those of the named parts: installs what they need, prints how long each step took, and names the parts that failed.
# The last line but one counts the tests that scripts/run_tests.py ran: all but those of `python`, `chaos` and `page`.
#
# All Rust parts build the same packages in the same profile, so that only the first of them compiles, and the browser tests drive
# the very binary that it built.
# Usage: scripts/test.sh [PART[,PART]...]   (`scripts/test.sh list` says which parts there are; `peers` runs only by name)
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Every call compiles with the same flags, so that none compiles again. What only a second build would use is half of the target folder.
export CARGO_INCREMENTAL=0

# In the order in which they run.
parts=(rust mpi kernel python servers root chaos page)
# The commands that each part needs; the parts `python` and `peers` see to theirs.
declare -A needs=(
    [rust]="kill"
    [mpi]="libclang mpi4py mpicc.mpich mpicc.openmpi mpiexec.mpich mpiexec.openmpi mpifort.mpich mpifort.openmpi python-headers venv"
    [kernel]="clang libelf"
    [servers]="snmpd blastp diamond ssw-align"
    [root]="ip mpicc.mpich mpicc.openmpi mpiexec.mpich mpiexec.openmpi tc unshare"
    [page]="chromium espeak-ng ffmpeg"
)
declare -A about=(
    [rust]="all Rust tests that need nothing but cargo"
    [mpi]="programs under Open MPI, MPICH and the standard ABI"
    [kernel]="programs in the kernel: what needs clang, BTF and root"
    [python]="the Python package: its tests, signatures and tour"
    [servers]="a real Prometheus, Alertmanager, NATS server, node exporter and snmpd, at the same time"
    [root]="what root alone can do"
    [chaos]="a node for a minute under kills, full disks, clocks that jump, hostile clients (make soak: for longer)"
    [page]="the page: its units, and in a browser"
    [peers]="the Python package by the checks of statsforecast and sktime; only when named, for it takes minutes"
)

# What waits for servers does little else.
n_waiting_tests=8

step=
began=0
is_compiled=no
scratch=$(mktemp -d)
# Each part runs in a shell of its own, and leaves here what it has to report: counts, seconds of steps, reasons to skip.
export TEST_TALLY="$scratch/tally"
touch "$TEST_TALLY" "$scratch/times" "$scratch/skipped"

begin() {
    finish
    step="$1"
    began=$SECONDS
    printf '\n==== %s\n' "$step"
}

finish() {
    # A step that found nothing to do is not worth a line.
    if [ -n "$step" ] && [ "$SECONDS" -ne "$began" ]; then
        echo "$((SECONDS - began)) $step" >>"$scratch/times"
        echo "-- $step took $((SECONDS - began)) s"
    fi
    step=
}

skip() {
    echo "$step: $1" >>"$scratch/skipped"
}

print_times() {
    local seconds name total=0
    echo
    while read -r seconds name; do
        total=$((total + seconds))
        print_time "$seconds" "$name"
    done <"$scratch/times"
    print_time "$total" "all steps"
}

print_time() {
    printf '%3d:%02d  %s\n' $(($1 / 60)) $(($1 % 60)) "$2"
}

trap 'rm -rf "$scratch"' EXIT

# An ignored test outside these files would be run by nobody; scripts/kernel.sh runs those of the kernel's programs, which are units.
every_ignored_test_has_a_part() {
    local stray
    stray=$(git grep -n '#\[ignore' -- '*.rs' ':!crates/kernel/src/bpf.rs' | grep -v '/tests/it/\(alertmanager\|mpi\|nats\|node_exporter\|prometheus\|root\|snmpd\|tools\)\(/[a-z_]*\)\?\.rs:' || true)
    if [ -n "$stray" ]; then
        printf 'ignored tests that no part of scripts/test.sh runs:\n%s\n' "$stray" >&2
        return 1
    fi
}

# Sets `as_root` to what has to stand before a command to run it as root in a mount namespace of its own, where whatever a
# test mounts and leaves behind goes away with it. Fails where that cannot be had without asking for a password.
find_root() {
    as_root=(unshare --mount)
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n unshare --mount)
    fi
    "${as_root[@]}" true 2>/dev/null
}

# Compiles the tests and the programs that they start, once. Only the part `rust` needs the tests of units (usage: get_ready [all]).
# The packages are the same, and with them the features. The node embeds the page.
get_ready() {
    local targets=(--test it)
    [ "${1:-}" != all ] || targets=()
    [ "$is_compiled" = no ] || return 0
    begin "what the tests need"
    scripts/build-web.sh --tools
    begin "compiling"
    cargo test --locked "${targets[@]}" --no-run
}

run_rust() {
    every_ignored_test_has_a_part
    get_ready all
    begin "rust: tests"
    scripts/run_tests.py --doc -- --locked
}

run_mpi() {
    local library
    get_ready
    for library in openmpi mpich; do
        begin "mpi: compiled and tested with $library"
        scripts/mpi.sh test "$library"
    done
    begin "mpi: an environment with the standard ABI"
    scripts/mpi-standard.sh
    begin "mpi: from the command line"
    FORETOP_MPI_TESTED="$CARGO_TARGET_DIR/mpi" scripts/run_tests.py --ignored --filter mpi:: --at-once "$(nproc)" -- --locked --test it
}

run_kernel() {
    begin "kernel: compiled and tested"
    scripts/kernel.sh test | tee "$scratch/kernel"
    local line
    while read -r line; do
        skip "${line#SKIPPED }"
    done < <(grep '^SKIPPED' "$scratch/kernel")
}

run_python() {
    begin "python: what it needs"
    scripts/python-venv.sh python/requirements.txt
    begin "python: compiling"
    scripts/python-package.sh dev
    begin "python: tests"
    .venv/bin/stubtest foretop._native
    rm -rf "$CARGO_TARGET_DIR/tour"
    # What statsforecast is needed for comes after it, in the environment that has it.
    FORETOP_TOUR="$CARGO_TARGET_DIR/tour" noting_skipped .venv/bin/pytest python -k "not statsforecast" \
        --ignore python/tests/test_statsforecast.py --ignore python/tests/test_boom.py
    begin "python: what peers need"
    scripts/python-peers.sh
    begin "python: peers"
    noting_skipped .venv/peers/bin/pytest python/tests/test_{boom,crossval_peers,howto,sktime,statsforecast}.py \
        -k "statsforecast or boom or sktime"
}

# Runs pytest, and notes how many tests it skipped and why, for the end.
noting_skipped() {
    local line
    "$@" -rs | tee "$scratch/pytest"
    while read -r line; do
        skip "${line#SKIPPED }"
    done < <(grep '^SKIPPED' "$scratch/pytest")
}

run_peers() {
    begin "peers: what they need"
    scripts/python-peers.sh
    begin "peers: tests"
    (cd python && ../.venv/peers/bin/pytest tests/test_boom.py tests/test_howto.py tests/test_sklearn.py tests/test_sktime.py tests/test_statsforecast.py)
}

run_servers() {
    get_ready
    # shellcheck source=scripts/test-servers.sh
    . scripts/test-servers.sh
    begin "servers: tests"
    [[ " ${server_modules[*]} " = *" alertmanager:: "* ]] || skip "Alertmanager needs namespaces of the user's own; allow them, or install prometheus-alertmanager"
    scripts/run_tests.py --ignored "${server_modules[@]/#/--filter=}" --at-once "$n_waiting_tests" -- --locked --test it
}

run_root() {
    get_ready
    begin "root: tests"
    if find_root; then
        scripts/run_tests.py --ignored --filter root:: --at-once "$(nproc)" --runner "${as_root[*]}" -- --locked --test it
    else
        skip "needs root without a password and the right to mount; run \`make test\` as root"
    fi
}

run_chaos() {
    get_ready
    begin "chaos: a minute of faults"
    "$CARGO_TARGET_DIR/debug/soak" --seconds 60 --foretop "$CARGO_TARGET_DIR/debug/foretop"
}

run_page() {
    get_ready
    begin "page: the demo of playback"
    scripts/build-playback.sh
    begin "page: units"
    npm --prefix web test
    begin "page: in a browser"
    CHROMIUM="${CHROMIUM:-$(command -v chromium)}" FORETOP_BIN="$CARGO_TARGET_DIR/debug/foretop" npm --prefix web run test:browser
}

list() {
    local part
    for part in "${parts[@]}" peers; do
        printf '%-8s %s\n' "$part" "${about[$part]}"
    done
}

if [ "${1:-}" = list ]; then
    list
    exit
fi
IFS=, read -ra chosen <<<"${1:-}"
for part in "${chosen[@]}"; do
    if [ -z "${about[$part]:-}" ]; then
        { echo "scripts/test.sh: there is no part $part; there are:"; list; } >&2
        exit 2
    fi
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${parts[@]}")
scripts/check-disk.sh
# What is missing shows before anything is compiled.
begin "what is installed"
missing=(cargo npm cc python3)
for part in "${chosen[@]}"; do
    read -ra more <<<"${needs[$part]:-}"
    missing+=("${more[@]}")
done
scripts/install-system-packages.sh "${missing[@]}"
if [[ " ${chosen[*]} " =~ " root "|" kernel " ]] && ! find_root; then
    echo "root cannot be had without a password: what needs it will be skipped; run \`make test\` as root" >&2
fi

failed=()
for part in "${chosen[@]}"; do
    finish
    # Without `if` and `||`, in which bash ignores `set -e`.
    set +e
    (
        set -e
        trap finish EXIT
        "run_$part"
    )
    status=$?
    set -e
    # Interrupted: nothing else is to run.
    [ "$status" -ne 130 ] || exit 130
    if [ "$status" -eq 0 ]; then
        case "$part" in rust) is_compiled=yes ;; esac
    else
        echo "FAILED: $part" >&2
        failed+=("$part")
    fi
done

finish
print_times
echo
while read -r reason; do
    echo "SKIPPED $reason"
done <"$scratch/skipped"
awk '{ for (i = 1; i <= 3; i++) n[i] += $i } END { printf "%d passed, %d failed, %d skipped\n", n[1], n[2], n[3] }' "$TEST_TALLY"
if [ ${#failed[@]} -gt 0 ]; then
    echo "FAILED: ${failed[*]}" >&2
    exit 1
fi
what="all tests"
[ ${#chosen[@]} -eq ${#parts[@]} ] || what="the tests of $(IFS=, && echo "${chosen[*]}")"
if [ ! -s "$scratch/skipped" ]; then
    echo "$what passed"
else
    echo "$what passed, except those that were skipped, see above"
fi
