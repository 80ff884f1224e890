#!/usr/bin/env bash
# Builds the Python package and installs it into .venv. The wheel stays in target/wheels.
#
# Usage: scripts/python-package.sh PROFILE, a profile of cargo: `dev` for tests, which takes over what other tests compiled, `release` for use, or `dist` for
# benches.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels="${CARGO_TARGET_DIR:-$PWD/target}/wheels"

scripts/install-system-packages.sh cargo cc
scripts/python-venv.sh
rm -rf "$wheels"
.venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$wheels" --config-settings "build-args=--locked --profile $1" ./python
# A wheel of the same version would not be installed again; what it depends on is, if it is not there.
.venv/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/foretop-*.whl
.venv/bin/pip install --quiet --disable-pip-version-check "$wheels"/foretop-*.whl
