#!/usr/bin/env bash
# Runs compiled Rust tests again and again on a busy, slow machine that is stopped at times, and prints what failed how often.
#
# Meanwhile twice as many processes as cores compute, one writes to the disk and syncs, and tests are stopped for seconds and continued.
# Usage: [MINUTES=60] [PART=rust,servers] [SEED=1] scripts/flakes.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_INCREMENTAL=0
unset TEST_TALLY

minutes="${MINUTES:-60}"
seed="${SEED:-$RANDOM}"
IFS=, read -ra parts <<<"${PART:-rust,servers}"
for part in "${parts[@]}"; do
    case "$part" in
        rust | servers | root) ;;
        *)
            echo "scripts/flakes.sh: $part is none of rust, servers, root" >&2
            exit 2
            ;;
    esac
done
scripts/install-system-packages.sh cargo cc snmpd blastp diamond ssw-align
cargo test --locked --no-run

load=()
mkdir -p "$CARGO_TARGET_DIR/tmp"
slow=$(mktemp "$CARGO_TARGET_DIR/tmp/flakes.XXXXXX")
clean_up() {
    for child in "${load[@]}"; do
        kill "$child" 2>/dev/null || true
    done
    wait
    rm -f "$slow"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

for _ in $(seq $((2 * $(nproc)))); do
    sha256sum /dev/zero &
    load+=($!)
done
(
    # The shell that is ended waits, so that it ends its child at once.
    trap 'kill "$!" 2>/dev/null; exit' TERM
    while true; do
        dd if=/dev/zero of="$slow" bs=64k count=512 oflag=dsync status=none &
        wait "$!"
    done
) &
load+=($!)

status=0
run() {
    scripts/run_tests.py --minutes "$(awk "BEGIN { print $minutes / ${#parts[@]} }")" --stop "$seed" "$@" || status=1
}
for part in "${parts[@]}"; do
    printf '\n==== %s\n' "$part"
    case "$part" in
        rust) run -- --locked ;;
        servers)
            # shellcheck source=scripts/test-servers.sh
            . scripts/test-servers.sh
            run --ignored "${server_modules[@]/#/--filter=}" --at-once 8 -- --locked --test it
            ;;
        root) run --ignored --filter root:: --runner "unshare --mount" -- --locked --test it ;;
    esac
done
[ "$status" -eq 0 ]
