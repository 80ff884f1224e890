"""The series and numbers of ``testdata/``, which the Rust tests read as well."""

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"


def read_trace(name: str) -> NDArray[np.float64]:
    """Return the values of one of Numenta's traces, in the order of the file."""
    with (TESTDATA / "nab" / f"{name}.csv").open() as file:
        return np.array([float(line["value"]) for line in csv.DictReader(file)])


def read_named(name: str) -> NDArray[np.float64]:
    """Return a series by the name that ``reference.csv`` has for it."""
    if name == "ec2_first_600":
        return read_trace("ec2_cpu_utilization_5f5533")[:600]
    folder = "ar" if (TESTDATA / "predict/ar" / f"{name}.csv").exists() else "ml"
    return np.loadtxt(TESTDATA / "predict" / folder / f"{name}.csv", skiprows=1)


@cache
def read_reference(folder: str) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return what R found, by series and model: for each quantity its values."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (TESTDATA / "predict" / folder / "reference.csv").open() as file:
        for line in csv.DictReader(file):
            found[line["series"], line["model"]][line["quantity"]].append(float(line["value"]))
    return found
