#!/usr/bin/env bash
# Builds everything, a part after the other, and prints what each is and how long it took.
set -euo pipefail
cd "$(dirname "$0")/.."

began=$SECONDS
for part in build programs mpi kernel python; do
    start=$SECONDS
    printf '\n==== %s\n' "$(make help | grep -E "^ +make $part " | sed 's/^ *//')"
    make --no-print-directory "$part"
    printf '%d:%02d  %s\n' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) "$part"
done
printf '\n%d:%02d  all parts\n' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
