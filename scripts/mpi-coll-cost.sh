#!/usr/bin/env bash
# Prints what collectives over trees cost, with each MPI library: nanoseconds that a collector adds to a call, the share of a tight loop of sums
# that collecting takes between two emulated hosts of two ranks (as root), what both preloaded libraries add to the start of 64 ranks, and the
# memory of a host. The goals are 100 ns, 1 %, 1 s, and 1 + 1 MB. Fields between tabs: what, goal, library, figure.
# Usage: scripts/mpi-coll-cost.sh [PROFILE]     [default: release]
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
profile="${1:-release}"
n_started=64
n_ranks_of_host=8

scripts/install-system-packages.sh cargo mpicc.openmpi mpicc.mpich
cargo build --quiet --locked --profile "$profile" -p mpi-coll -p mpi-tracer -p foretop
place="$CARGO_TARGET_DIR/$profile"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 700 "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
export FORETOP_MPI_TRACE="$scratch/trace"

# Usage: tree RANKS...: a node for each host, named h0, h1 and so on, with ranks as in 0-1, and the root on the first.
tree() {
    local host=0 below="" ranks
    echo "format = 1"
    for ranks in "$@"; do
        printf '[[host]]\nname = "h%d"\nranks = "%s"\n' "$host" "$ranks"
        [ "$host" -eq 0 ] || below+=", \"n$host\""
        host=$((host + 1))
    done
    printf '[[tree]]\nname = "flat"\n[[tree.node]]\nname = "n0"\nhost = "h0"\ncontributors = ["%s"%s]\n' "$1" "$below"
    host=0
    for ranks in "$@"; do
        [ "$host" -eq 0 ] || printf '[[tree.node]]\nname = "n%d"\nhost = "h%d"\ncontributors = ["%s"]\n' "$host" "$host" "$ranks"
        host=$((host + 1))
    done
    printf '[[rule]]\noperation = "*"\ntree = "flat"\n'
} >"$scratch/tree.toml"

# Usage: over_tree COMMAND...: with the collectives preloaded, in a folder of its own.
over_tree() {
    rm -rf "$scratch/job"
    env LD_PRELOAD="$place/libmpi_coll.so${tracer:+:$place/libmpi_tracer.so}" FORETOP_MPI_TREE="$scratch/tree.toml" \
        FORETOP_MPI_JOB="$scratch/job" FORETOP_MPI_EMULATED_HOSTS=1 "$@"
}

# Usage: seconds COMMAND...: the median of three runs.
seconds() {
    for _ in 1 2 3; do
        TIMEFORMAT=%R
        { time "$@" >/dev/null; } 2>&1
    done | sort -n | sed -n 2p
}

for library in openmpi mpich; do
    "mpicc.$library" -O2 -o "$scratch/cost" crates/mpi-coll/tests/programs/cost.c
    "mpicc.$library" -O2 -o "$scratch/start" crates/mpi-coll/tests/programs/start.c
    tree 0
    over_tree "mpiexec.$library" -n 1 "$scratch/cost" 2000 | awk -v OFS='\t' -v library="$library" '{
        print "a call over a tree of one rank", "", library, sprintf("%.0f ns", $1)
        print "a collector in it", "100 ns", library, sprintf("%.0f ns", $2 / $3)
    }'

    tree "0-$((n_ranks_of_host - 1))"
    over_tree "mpiexec.$library" -n "$n_ranks_of_host" "$scratch/start" maps |
        awk -v OFS='\t' -v library="$library" -v n="$n_ranks_of_host" '{
            print "segments of a host of " n " ranks", "1 MB", library, sprintf("%.2f MB", $1 / 1e6)
            print "its rings of stages", "1 MB", library, sprintf("%.2f MB", n * $2 / 1e6)
        }'
done

mpicc.openmpi -O2 -o "$scratch/cost" crates/mpi-coll/tests/programs/cost.c
mpicc.openmpi -O2 -o "$scratch/start" crates/mpi-coll/tests/programs/start.c
tree "0-$((n_started - 1))"
bare=$(seconds mpiexec.openmpi -n "$n_started" "$scratch/start")
ours=$(tracer=yes seconds over_tree mpiexec.openmpi -n "$n_started" "$scratch/start")
awk -v OFS='\t' -v n="$n_started" -v bare="$bare" -v ours="$ours" 'BEGIN {
    print n " ranks start, sum once and end", "", "openmpi", bare " s"
    print "what both libraries add to that", "1 s", "openmpi", sprintf("%.2f s", ours - bare)
}'

if [ "$(id -u)" -ne 0 ]; then
    echo "between emulated hosts: not measured, since making them needs root" >&2
    exit
fi
printf 'format = 1\n[[site]]\nname = "lan"\nhosts = ["h0", "h1"]\nlan-bandwidth = "1 Gbit/s"\n' >"$scratch/coll-cost.toml"
trap '"$place/foretop" wan down coll-cost >/dev/null; rm -rf "$scratch"' EXIT
exec 3< <(exec "$place/foretop" wan up "$scratch/coll-cost.toml")
# Its first line says that the hosts are there.
read -r _ <&3
tree 0-1 2-3
settings=()
for setting in LD_PRELOAD="$place/libmpi_coll.so" FORETOP_MPI_TREE="$scratch/tree.toml" FORETOP_MPI_JOB=/dev/shm/foretop-cost; do
    settings+=(-x "$setting")
done
"$place/foretop" wan exec coll-cost/h0 -- mpiexec.openmpi --mca plm_rsh_agent /run/foretop-wan/coll-cost/shell \
    --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --host h0:2,h1:2 -n 4 "${settings[@]}" "$scratch/cost" 200 |
    awk -v OFS='\t' '{
        print "a sum of 4 ranks on 2 emulated hosts", "", "openmpi", sprintf("%.1f us", $1 / 1e3)
        print "what collecting adds to that", "1 %", "openmpi", sprintf("%.2f %%", 100 * $2 / $1)
    }'
