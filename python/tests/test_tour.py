"""The tour runs, says what it should, and draws pictures with something in them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

TOUR = Path(__file__).resolve().parents[1] / "examples/tour.py"
PICTURES = ["correlations", "fleet", "forecast", "memory", "scores"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the tour as its reader would; its pictures are kept where FORETOP_TOUR names a folder."""
    given = os.environ.get("FORETOP_TOUR")
    folder = Path(given) if given else tmp_path_factory.mktemp("tour")
    command = [sys.executable, "-W", "error", str(TOUR), str(folder)]
    ran = subprocess.run(command, env={**os.environ, "MPLBACKEND": "agg"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (folder / "tour.txt").write_text(ran.stdout)
    return folder


def test_the_tour_says_what_it_found(folder: Path) -> None:
    said = (folder / "tour.txt").read_text()
    for fact in (
        "4032 samples from 2014-02-14 14:27:00 to 2014-02-28 14:22:00, 0 of them gaps",
        "AR(16)  phi ",
        "phi(1) has a standard error of 0.01",
        "2014-02-27 02:27:00",
        "samples inside their 95 % intervals; 4 refits on the way",
        "Hurst exponent by whittle: ",
        "250 series; inside 95 % intervals: ",
        "the restored predictor and the pickled one agree",
    ):
        assert fact in said, said


def test_the_tour_draws_its_pictures_and_no_others(folder: Path) -> None:
    assert sorted(path.stem for path in folder.glob("*.png")) == PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_something_in_it(folder: Path, name: str) -> None:
    picture = imread(folder / f"{name}.png")[:, :, :3]
    height, width, _ = picture.shape
    assert width >= 800 and height >= 400
    ink = (picture < 0.9).any(axis=2)
    assert 0.01 < ink.mean() < 0.9
    # What is drawn reaches over the picture: ink in each third of both directions, and in colour.
    for axis in (0, 1):
        thirds = np.array_split(np.any(ink, axis=axis), 3)
        assert all(third.sum() > 0 for third in thirds)
    assert (np.ptp(picture, axis=2) > 0.3).mean() > 0.001
