"""The wheel with the program in it, installed into an empty virtual environment."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def test_a_wheel_brings_the_package_and_the_command(tmp_path: Path) -> None:
    """`pip install` gives `import foretop` and `foretop`, of the same version."""
    wheels = list((TARGET / "wheels").glob("foretop-*.whl"))
    program = TARGET / "debug" / "foretop"
    if not wheels or not program.exists():
        pytest.skip("there is no wheel of scripts/python-package.sh, or no debug build of foretop; run `make test`")
    run(ROOT / "scripts" / "add-program-to-wheel.sh", wheels[0], program, tmp_path / "wheels")
    (wheel,) = (tmp_path / "wheels").iterdir()
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)

    # numpy alone is taken from here, so that nothing is fetched.
    numpy = Path(np.__file__).parent
    (tmp_path / "numpy-alone").mkdir()
    for folder in (numpy, numpy.with_name("numpy.libs")):
        (tmp_path / "numpy-alone" / folder.name).symlink_to(folder)
    told = "import foretop; print(foretop.__version__, foretop.fit([1.0, 2.0] * 50, 'MEAN').forecast(1).mean[0])"
    version, mean = run(python, "-c", told, PYTHONPATH=str(tmp_path / "numpy-alone")).split()
    assert mean == "1.5"
    assert run(python.with_name("foretop"), "--version").split() == ["foretop", version]


def run(*command: str | Path, **environment: str) -> str:
    """Run a command, and give what it printed."""
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout
