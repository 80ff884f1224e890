#!/usr/bin/env bash
# Runs an emulation of foretop-ace alone, beside hpcc on the same cores, and alone again.
#
# Usage: scripts/mpi-neighbour.sh PROGRAM [ARGUMENT]...   (PROGRAM: a foretop-ace that was built with Open MPI)
# RANKS: how many ranks each of the two has (2). Needs hpcc and mpiexec.openmpi.
set -euo pipefail
ranks="${RANKS:-2}"
program="$(command -v "$1")"
shift
launch=(mpiexec.openmpi -n "$ranks" --oversubscribe --bind-to none)
[ "$(id -u)" -ne 0 ] || launch+=(--allow-run-as-root)

place="$(mktemp -d)"
neighbour=
stop() {
    [ -z "$neighbour" ] || { kill "$neighbour" 2>/dev/null && wait "$neighbour"; } || true
    neighbour=
}
trap 'stop; rm -rf "$place"' EXIT

# A problem that takes some minutes on a small machine: 8,000 unknowns, a process grid of 1 x RANKS.
cat >"$place/hpccinf.txt" <<INPUT
HPLinpack benchmark input file
beside foretop-ace
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
8000         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
$ranks       Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### this line is passed over
0            # of additional problem sizes for PTRANS
0            values of N
0            number of additional blocking sizes for PTRANS
0            values of NB
INPUT

echo "== alone"
"${launch[@]}" "$program" --quiet "$@"

echo "== beside hpcc"
(cd "$place" && exec "${launch[@]}" hpcc) >"$place/hpcc.log" 2>&1 &
neighbour=$!
# The first of its benchmarks has begun when its report has a first line.
until [ -s "$place/hpccoutf.txt" ] || ! kill -0 "$neighbour" 2>/dev/null; do sleep 0.2; done
kill -0 "$neighbour" 2>/dev/null || { cat "$place/hpcc.log" >&2; exit 1; }
"${launch[@]}" "$program" --quiet "$@"
kill -0 "$neighbour" 2>/dev/null || echo "hpcc ended before the emulation did: part of the run was alone" >&2
stop

echo "== alone again"
"${launch[@]}" "$program" --quiet "$@"
