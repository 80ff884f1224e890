#!/usr/bin/env bash
# Runs every test: installs what they need, stops at the first part that fails, ends with a line that says all passed.
#
# All Rust parts build the same packages in the same profile, so that only the first of them compiles, and the browser tests drive
# the very binary that it built.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

skipped=()
current=""
trap 'if [ $? -ne 0 ]; then echo "FAILED: $current" >&2; fi' EXIT

part() {
    current="$1"
    printf '\n==== %s\n' "$current"
}

# An ignored test outside these files would be run by nobody.
every_ignored_test_has_a_part() {
    local stray
    stray=$(grep -rn --include='*.rs' '#\[ignore' crates apps | grep -v '/tests/it/\(mpi\|nats\|node_exporter\|prometheus\|root\|snmpd\)\(/[a-z_]*\)\?\.rs:' || true)
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

part "what the tests need"
scripts/install-system-packages.sh cargo npm cc chromium ip kill snmpd tc unshare
FORETOP_PROMETHEUS=$(scripts/unpack-package.sh prometheus)
FORETOP_NATS_SERVER=$(scripts/unpack-package.sh nats-server)
FORETOP_NODE_EXPORTER=$(scripts/unpack-package.sh prometheus-node-exporter)
export FORETOP_PROMETHEUS FORETOP_NATS_SERVER FORETOP_NODE_EXPORTER
export CHROMIUM="${CHROMIUM:-$(command -v chromium)}"
every_ignored_test_has_a_part

part "the page"
scripts/build-web.sh --tools

part "Rust tests"
cargo test --locked

part "programs under Open MPI and MPICH"
scripts/mpi.sh test
FORETOP_MPI_TESTED="$CARGO_TARGET_DIR/mpi" cargo test --locked --test it -- --ignored mpi::

part "Python package"
scripts/python-venv.sh python/requirements.txt
scripts/python-package.sh dev
.venv/bin/stubtest foretop._native
rm -rf "$CARGO_TARGET_DIR/tour"
FORETOP_TOUR="$CARGO_TARGET_DIR/tour" .venv/bin/pytest python

part "a real Prometheus reads the metrics"
cargo test --locked --test it -- --ignored prometheus::

part "streams over a real NATS server"
cargo test --locked --test it -- --ignored nats::

part "signals of a real node exporter"
cargo test --locked --test it -- --ignored node_exporter::

part "a real snmpd says what its links carry"
FORETOP_SNMPD=$(PATH="$PATH:/usr/sbin" type -P snmpd) cargo test --locked --test it -- --ignored snmpd::

part "as root"
if find_root; then
    runner=$(printf '"%s",' "${as_root[@]}")
    cargo test --locked --config "target.'cfg(unix)'.runner=[${runner%,}]" --test it -- --ignored root::
else
    skipped+=("$current: needs root without a password and the right to mount; run \`make test\` as root")
fi

part "page, unit tests"
npm --prefix web test

part "page in a browser"
FORETOP_BIN="$CARGO_TARGET_DIR/debug/foretop" npm --prefix web run test:browser

current="the closing lines"
echo
for reason in "${skipped[@]}"; do
    echo "SKIPPED $reason"
done
if [ ${#skipped[@]} -eq 0 ]; then
    echo "all tests passed"
else
    echo "all tests passed, except ${#skipped[@]} part that was skipped"
fi
