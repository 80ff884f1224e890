#!/usr/bin/env bash
# Makes .venv/peers, with libraries that do not go with those in .venv, and puts the Python package into it as built for tests.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/python-package.sh dev
if [ ! -x .venv/peers/bin/pip ]; then
    python3 -m venv .venv/peers
fi
.venv/peers/bin/pip install --quiet --disable-pip-version-check --requirement python/requirements-peers.txt
# The same files, rather than a second build of them: both have the same Python.
.venv/peers/bin/python - <<'END'
import shutil
import sysconfig
from pathlib import Path

theirs = Path(sysconfig.get_path("purelib"))
ours = Path(".venv", *theirs.parts[-3:])
shutil.rmtree(theirs / "foretop", ignore_errors=True)
shutil.copytree(ours / "foretop", theirs / "foretop")
for info in ours.glob("foretop-*.dist-info"):
    shutil.copytree(info, theirs / info.name, dirs_exist_ok=True)
END
