#!/usr/bin/env bash
# Prints the tables that the README quotes, and leaves the same figures as JSON in target/bench/.
#
# FORETOP_BENCH_SECONDS says how long the node is watched for its cost (600 unless set).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
binary="$CARGO_TARGET_DIR/release/foretop"

scripts/python-venv.sh bench/requirements.txt
scripts/python-package.sh release
cargo bench --locked -p predict --bench ar --bench fleet
.venv/bin/python bench/predict_peers.py
.venv/bin/python bench/python_cost.py
.venv/bin/python bench/payload.py --binary "$binary"
.venv/bin/python bench/node_cost.py --binary "$binary" --seconds "${FORETOP_BENCH_SECONDS:-600}"
