"""What the comparisons share: the trace, the best time of several runs, and the times of our own programs."""

import csv
import json
import subprocess
import timeit
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import PROGRAMS, ROOT, TARGET

TRACE = ROOT / "testdata/nab/ec2_cpu_utilization_5f5533.csv"
N_RUNS = 5

# What a step and its forecasts are timed on.
N_FIT = 600
N_AHEAD = 30
PEERS = ["statsmodels", "statsforecast", "river", "numpy"]

Samples = NDArray[np.float64]


def read_samples() -> Samples:
    """Return the values of the trace in the order of their times."""
    with TRACE.open() as file:
        return np.array([float(row["value"]) for row in csv.DictReader(file)])


def best_seconds(work: Callable[[], Any]) -> float:
    """Return the time of one call: the best of several runs, each long enough for the clock."""
    timer = timeit.Timer(work)
    n_calls, seconds = timer.autorange()
    return min(seconds, *timer.repeat(repeat=N_RUNS - 1, number=n_calls)) / n_calls


def criterion_median_seconds(bench: str) -> float:
    """Return the median time of the last run of a criterion bench, found by its full id."""
    for about in (TARGET / "criterion").glob("**/new/benchmark.json"):
        if json.loads(about.read_text())["full_id"] == bench:
            estimates = json.loads((about.parent / "estimates.json").read_text())
            return float(estimates["median"]["point_estimate"]) * 1e-9
    raise SystemExit(f"no result of `{bench}` under {TARGET}/criterion: run `cargo bench -p predict` before")


def rust_program(name: str, *arguments: str) -> dict[str, Any]:
    """Run a program of `bench/src/bin` and return what it found, or `refused` and why."""
    command = [str(PROGRAMS / name), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        return {"refused": " ".join(ended.stderr.split()) or f"it ended with {ended.returncode}"}
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def time_text(seconds: float) -> str:
    """Write a time with three digits that count."""
    for unit, size in [("s", 1.0), ("ms", 1e-3)]:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def versions() -> dict[str, str]:
    """Say which peers these are."""
    return {name: version(name) for name in PEERS}
