#!/usr/bin/env bash
# Has Slurm fill first the nodes where a job is forecast to end first: sets the weight of each node by the run time that its Foretop node gives.
#
# Slurm takes nodes of the least weight first. A node that gives no forecast comes last. Where Foretop nodes want a token, FORETOP_TOKEN_FILE
# names it. Usage: slurm-weights.sh CPU-TIME SLURM-NODE=URL..., as in slurm-weights.sh 60s n1=http://n1:7311 n2=http://n2:7311
set -euo pipefail

last=65000
cpu="$1"
shift
for pair in "$@"; do
    name="${pair%%=*}" url="${pair#*=}" weight="$last"
    if answer=$(foretop runtime --cpu "$cpu" --node "$url" --format json); then
        median=$(grep -o '"median_seconds": *[0-9.]*' <<<"$answer" | grep -o '[0-9.]*$' || true)
        # In tenths of a second; what takes longer than the node can tell comes right before those that tell nothing.
        weight=$(awk -v median="${median:-6499}" -v last="$last" 'BEGIN { w = int(10 * median); print w < last ? w : last - 1 }')
    fi
    scontrol update "NodeName=$name" "Weight=$weight"
    echo "$name $weight"
done
