#!/usr/bin/env bash
# Makes .venv and installs the given requirement files into it, unless that was done since they last changed.
#
# Usage: scripts/python-venv.sh [REQUIREMENTS...]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -x .venv/bin/pip ]; then
    scripts/install-system-packages.sh python3
    scripts/install-system-packages.sh venv
    python3 -m venv .venv
fi
for requirements in "$@"; do
    stamp=".venv/installed-${requirements//\//-}"
    [ "$stamp" -nt "$requirements" ] && continue
    .venv/bin/pip install --quiet --disable-pip-version-check --requirement "$requirements"
    touch "$stamp"
done
