"""Randomized evaluation of AR(16): by `foretop crossval run`, by a bare loop of the same arithmetic, and by statsforecast on the same windows.

The bare loop and a campaign in one thread are the medians that criterion found (`cargo bench -p crossval` has to run before); the
command is taken at its best of several runs, one worker and two by turns, so that both meet the same machine.
"""

import argparse
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import statsforecast
from foretop import crossval
from report import machine, print_machine, print_table, save
from statsforecast.models import ARIMA
from timing import N_AHEAD, N_FIT, N_RUNS, TRACE, criterion_median_seconds, read_samples, time_text, versions

ORDER = 16
N_TEST = 2000
TEMPLATE = f'models = ["AR({ORDER})"]\nfit = {N_FIT}\ntest = {N_TEST}\nleads = "1..{N_AHEAD}"\n'
N_CASES = 20_000
# Of the criterion bench `campaign`.
N_CASES_IN_PROCESS = 64

# What a case leaves in memory shows when there are many that are soon done.
SMALL_TEMPLATE = 'models = ["LAST"]\nfit = 10\ntest = 30\nleads = 1\n'
N_SMALL_CASES = 1_000_000

# How often the memory of a program is looked at.
LOOK_SECONDS = 0.02

# A peer takes seconds for a case.
N_PEER_CASES = 4

# What each figure is held against.
TO_REACH = {
    "cases a minute, two workers": ">= 50,000",
    "two workers over one": ">= 1.8",
    "share of the bare loop, in one thread": ">= 85 %",
    "peak memory, 20,000 cases": "< 300 MB",
    "peak memory, 1,000,000 small cases": "< 300 MB",
    "peak memory of their report": "",
}


@dataclass
class Ended:
    """A program that has ended."""

    seconds: float
    peak_bytes: int


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    binary = arguments.parse_args().binary
    with tempfile.TemporaryDirectory(prefix="foretop-bench-") as folder:
        figures = measure(binary, Path(folder))
    bare, threads = figures["bare_case_seconds"], figures["n_workers"]
    shown = {
        "cases a minute, two workers": f"{60 * N_CASES / figures['two_workers_seconds']:,.0f}",
        "two workers over one": f"{figures['one_worker_seconds'] / figures['two_workers_seconds']:.2f}",
        "a case in the bare loop": time_text(bare),
        "share of the bare loop, in one thread": f"{bare / figures['case_in_process_seconds']:.1%}",
        "the same, the whole command with two workers": (
            f"{bare * N_CASES / threads / figures['two_workers_seconds']:.1%}"
        ),
        "peak memory, 20,000 cases": megabytes(figures["peak_bytes"]),
        "peak memory, 1,000,000 small cases": megabytes(figures["small_cases_peak_bytes"]),
        "peak memory of their report": megabytes(figures["small_cases_report_peak_bytes"]),
        "a case in statsforecast, two processes": time_text(figures["peer_case_seconds"]),
        "its time over ours, two workers": f"{figures['peer_case_seconds'] * N_CASES / figures['two_workers_seconds']:,.0f}",
        "mean squared errors 1 and 30 ahead: ours": errors_text(figures["errors"]),
        "the same: statsforecast's": errors_text(figures["peer_errors"]),
    }
    title = f"AR({ORDER}) cross-validated: fit {N_FIT}, test {N_TEST:,}, {N_AHEAD} leads"
    print_table(
        title, ["what", "figure", "to reach"], [[what, text, TO_REACH.get(what, "")] for what, text in shown.items()]
    )
    print_machine(machine() | versions())
    save("crossval", figures | {"versions": versions()})


def measure(binary: Path, folder: Path) -> dict[str, float | int | list[float]]:
    """Return all figures, units in the keys."""
    runs = {workers: [] for workers in (1, 2)}
    for _ in range(N_RUNS):
        for workers, ended in runs.items():
            ended.append(campaign(binary, folder / f"{workers}.parquet", TEMPLATE, N_CASES, workers))
    small = campaign(binary, folder / "small.parquet", SMALL_TEMPLATE, N_SMALL_CASES, 2)
    report = finished([binary, "crossval", "report", folder / "small.parquet", "--html", folder / "small.html"])
    peer_seconds, errors, peer_errors = peer(folder)
    return {
        "n_cases": N_CASES,
        "n_workers": 2,
        "one_worker_seconds": min(ended.seconds for ended in runs[1]),
        "two_workers_seconds": min(ended.seconds for ended in runs[2]),
        "peak_bytes": max(ended.peak_bytes for ended in runs[2]),
        "n_small_cases": N_SMALL_CASES,
        "small_cases_peak_bytes": small.peak_bytes,
        "small_cases_report_peak_bytes": report.peak_bytes,
        "bare_case_seconds": criterion_median_seconds("bare_loop/case"),
        "case_in_process_seconds": criterion_median_seconds(f"campaign/{N_CASES_IN_PROCESS}_cases")
        / N_CASES_IN_PROCESS,
        "n_peer_cases": N_PEER_CASES,
        "peer_case_seconds": peer_seconds,
        "errors": errors,
        "peer_errors": peer_errors,
    }


def campaign(binary: Path, out: Path, template: str, n_cases: int, n_workers: int) -> Ended:
    """Run a campaign to its end."""
    for left in (out, out.with_suffix(".timings.parquet")):
        left.unlink(missing_ok=True)
    text = out.with_suffix(".toml")
    text.write_text(template)
    numbers = ["--cases", str(n_cases), "--workers", str(n_workers)]
    return finished([binary, "crossval", "run", text, "--traces", TRACE, "--out", out, *numbers])


def finished(command: list[str | Path]) -> Ended:
    """Run a program to its end, and say what it took.

    The peak is what the kernel says of the memory of the program while it runs; what it says at the end counts this process, too,
    which the program was forked from.
    """
    started, peak_bytes = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        peak_bytes = max(peak_bytes, peak_memory(process.pid))
        time.sleep(LOOK_SECONDS)
    if process.returncode != 0:
        raise SystemExit(f"`{' '.join(map(str, command))}` ended with {process.returncode}")
    return Ended(time.monotonic() - started, peak_bytes)


def peak_memory(pid: int) -> int:
    """Return the peak so far in bytes; 0 for a process that is going."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def peer(folder: Path) -> tuple[float, list[float], list[float]]:
    """Return how long a case takes in statsforecast, and mean squared errors of the shortest and longest lead: ours, and its.

    The windows are those of the first cases. It is fitted once to each, as we do, and led forward over the rest; its origins end where the
    longest lead still comes due.
    """
    template = folder / "peer.toml"
    template.write_text(TEMPLATE)
    done = crossval.run(template, TRACE, cases=N_PEER_CASES, out=folder / "peer.parquet", progress=False)
    ours = crossval.read(done.path)
    samples = read_samples()
    starts = ours.loc[ours["lead"] == 1, "start"]
    windows = [samples[start : start + N_FIT + N_TEST] for start in starts]
    frame = pd.concat(
        pd.DataFrame({"unique_id": str(idx), "ds": np.arange(len(window)), "y": window})
        for idx, window in enumerate(windows)
    )
    forecaster = statsforecast.StatsForecast([ARIMA(order=(ORDER, 0, 0), method="CSS", alias="peer")], freq=1, n_jobs=2)
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = forecaster.cross_validation(
            h=N_AHEAD, df=frame, n_windows=N_TEST - N_AHEAD + 1, step_size=1, level=[95], refit=False
        )
    seconds = (time.monotonic() - started) / len(windows)
    found["lead"] = found["ds"] - found["cutoff"]
    theirs = ((found["y"] - found["peer"]) ** 2).groupby(found["lead"]).mean()
    by_lead = ours.groupby("lead")["mse"].mean()
    leads = [1, N_AHEAD]
    return seconds, [float(by_lead[lead]) for lead in leads], [float(theirs[lead]) for lead in leads]


def megabytes(size_bytes: float) -> str:
    """Write an amount of memory."""
    return f"{size_bytes / 1e6:.0f} MB"


def errors_text(errors: list[float]) -> str:
    """Write mean squared errors."""
    return " and ".join(f"{error:.2f}" for error in errors)


if __name__ == "__main__":
    main()
