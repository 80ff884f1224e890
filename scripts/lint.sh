#!/usr/bin/env bash
# Checks form and habits of all code, and changes none of it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-system-packages.sh cargo npm cc shellcheck
scripts/python-venv.sh scripts/requirements.txt python/requirements.txt
# clippy compiles the node, and the node embeds the page.
scripts/build-web.sh --tools

run() {
    printf '\n==== %s\n' "$*"
    "$@"
}
run cargo fmt --check
run cargo clippy --all-targets --locked -- -D warnings
run scripts/mpi.sh clippy openmpi
run scripts/kernel.sh clippy
run python3 scripts/packages.py
run python3 scripts/changelog.py --check
run .venv/bin/ruff check
run .venv/bin/ruff format --check
run python3 scripts/host_load_study_table.py --check
run python3 bench/figures.py --check
run env --chdir=python ../.venv/bin/mypy
run npm --prefix web run lint
run shellcheck --external-sources .ci/run scripts/*.sh packaging/debian/*

printf '\nall clean\n'
