#!/usr/bin/env bash
# Runs every test, or those of the named parts: installs what they need, stops at the first part that fails, prints how long each step took,
# and ends with a line that says all passed.
#
# All Rust parts build the same packages in the same profile, so that only the first of them compiles, and the browser tests drive
# the very binary that it built.
# Usage: scripts/test.sh [PART[,PART]...]   (`scripts/test.sh list` says which parts there are; `peers` runs only by name)
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

# In the order in which they run.
parts=(rust mpi kernel python servers root chaos page)
declare -A about=(
    [rust]="all Rust tests that need nothing but cargo"
    [mpi]="programs under Open MPI and MPICH"
    [kernel]="programs in the kernel: what needs clang, BTF and root"
    [python]="the Python package: its tests, signatures and tour"
    [servers]="a real Prometheus, Alertmanager, NATS server, node exporter and snmpd, at the same time"
    [root]="what root alone can do"
    [chaos]="a node for a minute under kills, full disks, clocks that jump, hostile clients (make soak: for longer)"
    [page]="the page: its units, and in a browser"
    [peers]="the Python package by the checks of statsforecast and sktime; only when named, for it takes minutes"
)

# Many tests wait for processes of their own, and leave the processor to others meanwhile.
n_tests_at_once=$((2 * $(nproc)))
# What waits for servers does little else.
n_waiting_tests=8

skipped=()
step=
began=0
times=()
background=()
is_compiled=no
scratch=$(mktemp -d)

begin() {
    finish
    step="$1"
    began=$SECONDS
    printf '\n==== %s\n' "$step"
}

finish() {
    # A step that found nothing to do is not worth a line.
    [ -z "$step" ] || [ "$SECONDS" -eq "$began" ] || times+=("$((SECONDS - began)) $step")
    step=
}

print_times() {
    local entry total=0
    echo
    for entry in "${times[@]}"; do
        total=$((total + ${entry%% *}))
        print_time "${entry%% *}" "${entry#* }"
    done
    print_time "$total" "all steps"
}

print_time() {
    printf '%3d:%02d  %s\n' $(($1 / 60)) $(($1 % 60)) "$2"
}

at_exit() {
    local status=$? failed="$step" child
    finish
    for child in "${background[@]}"; do
        kill -- "-$child" 2>/dev/null || true
    done
    rm -rf "$scratch"
    [ ${#times[@]} -eq 0 ] || print_times
    if [ "$status" -ne 0 ] && [ -n "$failed" ]; then
        echo "FAILED: $failed" >&2
    fi
}
trap at_exit EXIT

# Runs the ignored tests of each given module in a process of its own, all at the same time, and prints what each said when all are done.
at_once() {
    local module i status=0
    background=()
    # With job control each child leads a process group of its own, so that it can be ended with its children.
    set -m
    for module in "$@"; do
        cargo test --locked --test it -- --ignored --test-threads="$n_waiting_tests" "$module::" </dev/null >"$scratch/$module" 2>&1 &
        background+=($!)
    done
    set +m
    i=0
    for module in "$@"; do
        wait "${background[$i]}" || status=1
        printf '\n-- %s\n' "$module"
        cat "$scratch/$module"
        i=$((i + 1))
    done
    background=()
    return "$status"
}

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

# Usage: get_ready COMMAND..., with the commands that a part needs beside the compiled tests. The node embeds the page.
get_ready() {
    begin "what the tests need"
    scripts/install-system-packages.sh cargo npm cc "$@"
    [ "$is_compiled" = no ] || return 0
    scripts/build-web.sh --tools
    begin "compiling"
    cargo test --locked --no-run
    is_compiled=yes
}

run_rust() {
    every_ignored_test_has_a_part
    get_ready kill
    begin "rust: tests"
    cargo test --locked --no-fail-fast -- --test-threads="$n_tests_at_once"
}

run_mpi() {
    local library
    get_ready mpi4py mpifort.mpich mpifort.openmpi
    for library in openmpi mpich; do
        begin "mpi: compiled and tested with $library"
        scripts/mpi.sh test "$library"
    done
    begin "mpi: from the command line"
    FORETOP_MPI_TESTED="$CARGO_TARGET_DIR/mpi" cargo test --locked --test it -- --ignored mpi::
}

run_kernel() {
    begin "kernel: compiled and tested"
    scripts/kernel.sh test | tee "$scratch/kernel"
    local line
    while read -r line; do
        skipped+=("$step: ${line#SKIPPED }")
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
    noting_skipped .venv/peers/bin/pytest python/tests/test_{boom,crossval_peers,howto,statsforecast}.py \
        -k "statsforecast or boom"
}

# Runs pytest, and notes how many tests it skipped and why, for the end.
noting_skipped() {
    local line
    "$@" -rs | tee "$scratch/pytest"
    while read -r line; do
        skipped+=("$step: ${line#SKIPPED }")
    done < <(grep '^SKIPPED' "$scratch/pytest")
}

run_peers() {
    begin "peers: what they need"
    scripts/python-peers.sh
    begin "peers: tests"
    (cd python && ../.venv/peers/bin/pytest tests/test_boom.py tests/test_howto.py tests/test_sklearn.py tests/test_sktime.py tests/test_statsforecast.py)
}

run_servers() {
    local modules
    get_ready snmpd blastp diamond ssw-align
    FORETOP_TEST_PROMETHEUS=$(scripts/unpack-package.sh prometheus)
    FORETOP_TEST_NATS_SERVER=$(scripts/unpack-package.sh nats-server)
    FORETOP_TEST_NODE_EXPORTER=$(scripts/unpack-package.sh prometheus-node-exporter)
    FORETOP_TEST_ALERTMANAGER=$(scripts/unpack-package.sh prometheus-alertmanager)
    FORETOP_TEST_SNMPD=$(PATH="$PATH:/usr/sbin" type -P snmpd)
    export FORETOP_TEST_PROMETHEUS FORETOP_TEST_ALERTMANAGER FORETOP_TEST_NATS_SERVER FORETOP_TEST_NODE_EXPORTER FORETOP_TEST_SNMPD
    begin "servers: tests"
    modules=(prometheus nats node_exporter snmpd tools)
    # The package's program looks for files in /usr/share, which a namespace of its own shows it there.
    if type -P prometheus-alertmanager >/dev/null || unshare --user --map-root-user --mount true 2>/dev/null; then
        modules+=(alertmanager)
    else
        skipped+=("$step: Alertmanager needs namespaces of the user's own; allow them, or install prometheus-alertmanager")
    fi
    at_once "${modules[@]}"
}

run_root() {
    local runner
    get_ready ip mpicc.mpich mpicc.openmpi mpiexec.mpich mpiexec.openmpi tc unshare
    begin "root: tests"
    if find_root; then
        runner=$(printf '"%s",' "${as_root[@]}")
        cargo test --locked --config "target.'cfg(unix)'.runner=[${runner%,}]" --test it -- --ignored root::
    else
        skipped+=("$step: needs root without a password and the right to mount; run \`make test\` as root")
    fi
}

run_chaos() {
    get_ready cc
    begin "chaos: a minute of faults"
    "$CARGO_TARGET_DIR/debug/soak" --seconds 60 --foretop "$CARGO_TARGET_DIR/debug/foretop"
}

run_page() {
    get_ready chromium espeak-ng ffmpeg
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
for part in "${chosen[@]}"; do
    "run_$part"
done

finish
print_times
times=()
echo
for reason in "${skipped[@]}"; do
    echo "SKIPPED $reason"
done
what="all tests"
[ ${#chosen[@]} -eq ${#parts[@]} ] || what="the tests of $(IFS=, && echo "${chosen[*]}")"
if [ ${#skipped[@]} -eq 0 ]; then
    echo "$what passed"
else
    echo "$what passed, except those that were skipped, see above"
fi
