#!/usr/bin/env bash
# Measures Foretop beside its peers: prints tables, leaves the figures as JSON in target/bench/, and writes docs/figures.md from those.
#
# FORETOP_BENCH_SECONDS says how long the node is watched for its cost (600 unless set).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Ours fits on one core, and so do the peers.
export OPENBLAS_NUM_THREADS=1
binary="$CARGO_TARGET_DIR/dist/foretop"

scripts/install-system-packages.sh Rscript borg bpftrace cargo cc clang espeak-ng ffmpeg forecast fracdiff libelf mpifort.openmpi rsync rubberband smpicc soundstretch ssw-align tc unshare zstd
scripts/python-venv.sh bench/requirements.txt
scripts/python-package.sh dist
cargo build --profile dist --locked -p bench --features skaters
cargo bench --locked -p predict --bench ar --bench fleet --bench outlook
cargo bench --locked -p crossval
cargo bench --locked -p feed --bench snmp
.venv/bin/python bench/fit_peers.py
.venv/bin/python bench/step_peers.py
.venv/bin/python bench/intervals.py
.venv/bin/python bench/outlook.py
.venv/bin/python bench/naive.py
.venv/bin/python bench/season.py
.venv/bin/python bench/levels.py
.venv/bin/python bench/sums.py
.venv/bin/python bench/week.py
.venv/bin/python bench/statements.py
.venv/bin/python bench/disk_fills.py
.venv/bin/python bench/launch.py
.venv/bin/python bench/excursions.py
.venv/bin/python bench/boom.py
.venv/bin/python bench/fleet_rates.py
.venv/bin/python bench/python_cost.py
.venv/bin/python bench/crossval.py --binary "$binary"
.venv/bin/python bench/payload.py --binary "$binary"
.venv/bin/python bench/streams.py --binary "$binary"
.venv/bin/python bench/pool.py --binary "$binary" --nats-server "$(scripts/unpack-package.sh nats-server)"
scripts/mpi.sh build
.venv/bin/python bench/mpi_cost.py
.venv/bin/python bench/mpi_trees.py --binary "$binary"
.venv/bin/python bench/wan.py --binary "$binary"
.venv/bin/python bench/wan_collectives.py --binary "$binary"
cargo bench --locked -p des
cargo bench --locked -p mpi-sim
.venv/bin/python bench/sim.py --binary "$binary"
.venv/bin/python bench/sim_error.py --binary "$binary"
.venv/bin/python bench/sim_paper.py --binary "$binary"
cargo bench --locked -p sched
.venv/bin/python bench/sched.py --binary "$CARGO_TARGET_DIR/dist/foretop-sched"
# Control groups need root.
[ "$(id -u)" -ne 0 ] || .venv/bin/python bench/sched_pool.py --binary "$CARGO_TARGET_DIR/dist/foretop-sched"
[ "$(id -u)" -ne 0 ] || .venv/bin/python bench/dask_steal.py
cargo bench --locked -p playback
.venv/bin/python bench/playback.py --binary "$CARGO_TARGET_DIR/dist/foretop-play"
.venv/bin/python bench/stretch.py --binary "$CARGO_TARGET_DIR/dist/foretop-play"
cargo build --profile dist --locked -p segment-store --example terabyte
.venv/bin/python bench/dedup.py --binary "$binary"
cargo build --profile dist --locked -p foretop-kernel
.venv/bin/python bench/kernel_cost.py --binary "$CARGO_TARGET_DIR/dist/foretop-kernel"
.venv/bin/python bench/node_cost.py --binary "$binary" --seconds "${FORETOP_BENCH_SECONDS:-600}"
.venv/bin/python bench/large_host.py --binary "$binary"
.venv/bin/python bench/prometheus.py --binary "$binary"
.venv/bin/python bench/figures.py --take
