#!/usr/bin/env bash
# Builds the Python package and installs it into .venv.
#
# Usage: scripts/python-package.sh PROFILE, a profile of cargo: `dev` for tests, which takes over what other tests compiled, `release` for use, or `dist` for
# benches.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-system-packages.sh cargo cc
scripts/python-venv.sh
.venv/bin/pip install --quiet --disable-pip-version-check --config-settings "build-args=--locked --profile $1" ./python
