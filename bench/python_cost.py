"""What the way through Python adds: the same work timed there and in Rust, on one trace, in one run.

Rust's times are the medians that criterion found (`cargo bench -p predict --bench ar --bench fleet` has to run before), Python's are
medians of as many runs.
"""

import itertools
import statistics
import timeit
from collections.abc import Callable

import foretop
import numpy as np
from report import machine, print_machine, print_table, save
from timing import N_AHEAD, N_FIT, Samples, criterion_median_seconds, read_samples, time_text

N_SERIES = 100_000
N_RUNS = 20

FIT = "fit AR(16) to 600 samples"
STEP = "one more sample, then 30 forecasts"
ARRAYS = "the same, and both arrays taken"
FLEET = "one more sample of 100,000 series, then 30 forecasts of each"
CRITERION_ID = {
    FIT: "ar16/fit_600",
    STEP: "ar16/step_and_30_forecasts",
    ARRAYS: "ar16/step_and_30_forecasts",
    FLEET: "fleet/ar16/step_and_30_forecasts/fleet",
}
# The figures of the issue that asked for this package.
TO_REACH = {STEP: "<= 2 us", ARRAYS: "<= 2 us", FLEET: "<= 1.3 x Rust"}


def main() -> None:
    """Measure, print, save."""
    samples = read_samples()
    works = {FIT: fit(samples), **steps(samples), FLEET: step_fleet(samples)}
    python = {name: median_seconds(work) for name, work in works.items()}
    rust = {name: criterion_median_seconds(bench) for name, bench in CRITERION_ID.items()}
    rows = [
        [
            name,
            time_text(rust[name]),
            time_text(python[name]),
            f"{python[name] / rust[name]:.2f}",
            TO_REACH.get(name, ""),
        ]
        for name in works
    ]
    print_table("The way through Python", ["work", "Rust", "Python", "ratio", "to reach"], rows)
    print_machine(machine() | {"numpy": np.__version__})
    save("python_cost", {"work": [{"name": n, "rust_seconds": rust[n], "python_seconds": python[n]} for n in works]})


def median_seconds(work: Callable[[], object]) -> float:
    """Return the time of one call: the median of runs that are long enough for the clock."""
    timer = timeit.Timer(work)
    n_calls, _ = timer.autorange()
    return statistics.median(timer.repeat(repeat=N_RUNS, number=n_calls)) / n_calls


def fit(samples: Samples) -> Callable[[], object]:
    """Return a fit."""
    window = samples[:N_FIT].copy()
    return lambda: foretop.fit(window, "AR(16)")


def steps(samples: Samples) -> dict[str, Callable[[], object]]:
    """Return a step with its forecast, once without and once with its numbers as arrays."""
    model = foretop.fit(samples[:N_FIT], "AR(16)")
    coming = itertools.cycle(samples.tolist())

    def step() -> object:
        model.step(next(coming))
        return model.forecast(N_AHEAD)

    def step_and_take() -> object:
        model.step(next(coming))
        forecast = model.forecast(N_AHEAD)
        return forecast.mean, forecast.standard_error

    return {STEP: step, ARRAYS: step_and_take}


def step_fleet(samples: Samples) -> Callable[[], object]:
    """Return a step of many series, each fitted to another stretch of the trace, with all their forecasts."""
    starts = np.arange(N_SERIES) % (len(samples) - N_FIT)
    fleet = foretop.Fleet(np.lib.stride_tricks.sliding_window_view(samples, N_FIT)[starts], "AR(16)")
    following = samples[np.arange(N_SERIES) % len(samples)]

    def step() -> object:
        fleet.step(following)
        return fleet.forecast(N_AHEAD)

    return step


if __name__ == "__main__":
    main()
