#!/usr/bin/env bash
# Makes the study of trees (docs/studies/mpi-trees.md): on emulated hosts as root, else on this host alone. Some 25 minutes; a study that was
# stopped is taken up again. Arguments go to `foretop mpi study trees`. The results are left in target/mpi-tree-study/.
# Usage: scripts/mpi-tree-study.sh [--quick] [--rounds N] [--pairs N]
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
foretop="${FORETOP_BIN:-$target/release/foretop}"
# The monitors are measured on the first, where hosts have fewest ranks to take a core from.
topologies=(
    --hosts "h0:1,h1:1,h2:1,h3:1"
    --hosts "h0:4,h1:4,h2:4,h3:4"
    --hosts "h0:8,h1:8"
)

if [ "$(id -u)" -ne 0 ]; then
    echo "$0: emulated hosts need root; the study is made on this host alone" >&2
    exec "$foretop" mpi study trees --out "$target/mpi-tree-study" "$@"
fi
# Four hosts, on links as fast as those of the first paper.
trap '"$foretop" wan down cluster >/dev/null' EXIT
exec 3< <(exec "$foretop" wan up examples/wan/cluster.toml)
# Its first line says that the hosts are there.
read -r _ <&3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=/run/foretop-wan/cluster/shell
export OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
# More ranks than cores: whoever waits for a message gives its core away.
export OMPI_MCA_mpi_yield_when_idle=1
"$foretop" wan exec cluster/h0 -- "$foretop" mpi study trees "${topologies[@]}" --mpi openmpi --out "$target/mpi-tree-study" "$@"
