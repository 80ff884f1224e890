"""AR(16) here and in statsmodels and river, on one trace, in one run.

Ours is the median that criterion found (`cargo bench -p predict --bench ar` has to run before); each peer gets the best of
several runs, so what noise there is speaks for the peers.
"""

import csv
import itertools
import json
import timeit
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import ROOT, TARGET, machine, print_machine, print_table, save
from river.time_series import SNARIMAX
from statsmodels.regression.linear_model import yule_walker
from statsmodels.tsa.arima.model import ARIMA

TRACE = ROOT / "testdata/nab/ec2_cpu_utilization_5f5533.csv"
N_FIT = 600
N_AHEAD = 30
ORDER = 16
N_RUNS = 7

FIT = "fit on 600 samples"
STEP = "one more sample, then 30 forecasts"
# The figures of the issue that asked for this library.
TARGET_SECONDS = {FIT: 8e-6, STEP: 0.4e-6}
CRITERION_ID = {FIT: "ar16/fit_600", STEP: "ar16/step_and_30_forecasts"}


def main() -> None:
    """Measure, print, save."""
    samples = read_samples()
    ours = {operation: criterion_median_seconds(bench) for operation, bench in CRITERION_ID.items()}
    peers = [
        (FIT, "statsmodels `yule_walker(16)`", fit_yule_walker(samples)),
        (STEP, "statsmodels `append`, with errors", step_statsmodels(samples, "append")),
        (STEP, "statsmodels `extend`, with errors", step_statsmodels(samples, "extend")),
        (STEP, "river `SNARIMAX(16,0,0)`, no errors", step_river(samples)),
    ]
    timed = [(operation, who, best_seconds(work)) for operation, who, work in peers]
    rows = []
    for operation, seconds in ours.items():
        rows.append([operation, "foretop", text(seconds), "1", f"<= {text(TARGET_SECONDS[operation])}"])
        rows += [[o, who, text(peer), f"{peer / seconds:,.1f}", ""] for o, who, peer in timed if o == operation]
    print_table("AR(16) beside its peers", ["work", "who", "time", "ratio to foretop", "to reach"], rows)
    print_machine(machine() | {name: version(name) for name in ("statsmodels", "river", "numpy")})
    save(
        "predict_peers",
        {
            "foretop": [{"work": operation, "time_seconds": seconds} for operation, seconds in ours.items()],
            "peers": [{"work": operation, "who": who, "time_seconds": seconds} for operation, who, seconds in timed],
            "versions": {name: version(name) for name in ("statsmodels", "river", "numpy")},
        },
    )


def read_samples() -> NDArray[np.float64]:
    """Return the values of the trace in the order of their times."""
    with TRACE.open() as file:
        return np.array([float(row["value"]) for row in csv.DictReader(file)])


def criterion_median_seconds(bench: str) -> float:
    """Return the median time of the last run of a criterion bench, found by its full id."""
    for about in (TARGET / "criterion").glob("**/new/benchmark.json"):
        if json.loads(about.read_text())["full_id"] == bench:
            estimates = json.loads((about.parent / "estimates.json").read_text())
            return estimates["median"]["point_estimate"] * 1e-9
    raise SystemExit(f"no result of `{bench}` under {TARGET}/criterion: run `cargo bench -p predict --bench ar` before")


def best_seconds(work: Callable[[], Any]) -> float:
    """Return the time of one call: the best of several runs, each long enough for the clock."""
    timer = timeit.Timer(work)
    n_calls, _ = timer.autorange()
    return min(timer.repeat(repeat=N_RUNS, number=n_calls)) / n_calls


def fit_yule_walker(samples: NDArray[np.float64]) -> Callable[[], Any]:
    """Return the same fit as ours: mean taken off, autocovariance divided by n."""
    window = samples[:N_FIT].copy()
    return lambda: yule_walker(window, order=ORDER, method="mle", demean=True, result_object=False)


def step_statsmodels(samples: NDArray[np.float64], how: str) -> Callable[[], Any]:
    """Return taking one more sample into a fitted ARIMA without refitting, then means and standard errors."""
    with warnings.catch_warnings():
        # Whether the optimizer converged does not change what a step costs.
        warnings.simplefilter("ignore")
        fitted = ARIMA(samples[:N_FIT], order=(ORDER, 0, 0)).fit()
    take = getattr(fitted, how)
    sample = samples[N_FIT : N_FIT + 1]

    def work() -> tuple[Any, Any]:
        ahead = take(sample).get_forecast(N_AHEAD)
        return ahead.predicted_mean, ahead.se_mean

    return work


def step_river(samples: NDArray[np.float64]) -> Callable[[], Any]:
    """Return learning one more sample, then means; river has no standard errors."""
    model = SNARIMAX(p=ORDER, d=0, q=0)
    for sample in samples[:N_FIT]:
        model.learn_one(float(sample))
    following = itertools.cycle([float(sample) for sample in samples[N_FIT:]])

    def work() -> list[float]:
        model.learn_one(next(following))
        return model.forecast(horizon=N_AHEAD)

    return work


def text(seconds: float) -> str:
    """Write a time in microseconds with three digits that count."""
    micros = seconds * 1e6
    return f"{micros:,.0f} us" if micros >= 100 else f"{micros:.3g} us"


if __name__ == "__main__":
    main()
