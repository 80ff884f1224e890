"""Hours and a day ahead: outlooks beside AUTO, statsforecast's seasonal models and boosted trees, on the same windows of the same series.

Errors are absolute, over all leads within a horizon, and scaled by the mean absolute difference of samples a day apart in the past of
their window (MASE). CRPS is the weighted quantile loss at 0.1 to 0.9, as GIFT-Eval has it. Forecasts are medians. Everything is the
median over windows. Outlooks and AUTO know the bounds of CPUs, requests, network and demand, as a node does. The interval score
(Winkler) of 80 % is its width and ten times what came outside of it, scaled as errors are: it rewards narrow intervals that hold. Peers are fitted to the last 14 days of each window's past. The trees are LightGBM's by mlforecast, set up as in
its introduction: differences of a day, lags, rolling means and the time of day; intervals by its conformal method.
"""

import argparse
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import foretop
import numpy as np
import numpy.typing as npt
from report import ROOT, machine, print_machine, print_table, save
from statsforecast.models import MSTL, AutoARIMA, AutoETS, AutoTheta, SeasonalNaive
from timing import versions

Samples = npt.NDArray[np.float64]

LEVELS = np.arange(1, 10) / 10
COVERED = [0.025, 0.1, 0.9, 0.975]
N_WINDOWS = 13
SEED = 1
AMOUNT = (0, None)


class Model(Protocol):
    """One of statsforecast's."""

    def forecast(self, y: Samples, h: int, *, level: list[int]) -> dict[str, Samples]:
        """Return the mean, and the ends of intervals as `lo-80` and `hi-80`."""


class Score(NamedTuple):
    """What became of a forecaster's windows of a series."""

    mase: Samples
    loss: float
    interval: float
    held: float


class Series(NamedTuple):
    """Samples, how many of them make a day, and what they can be."""

    name: str
    samples: Samples
    day: int
    bounds: tuple[float | None, float | None] = (None, None)


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--windows", type=int, default=N_WINDOWS, help="of each series")
    n_windows = arguments.parse_args().windows
    warnings.simplefilter("ignore")
    errors, crps, ratios, shares, held = [], [], [], [], []
    for series in all_series():
        scores, covered = scores_of(series, n_windows)
        errors.append([series.name, *(" ".join(f"{error:.2f}" for error in of.mase) for of in scores.values())])
        crps.append([series.name, *(f"{of.loss:.3f}" for of in scores.values())])
        ratios.append([[*of.mase, of.loss, of.interval] for of in scores.values()])
        shares.append([of.held for of in scores.values()])
        held.append(covered)
        print(f"{series.name}: {errors[-1][1:]}", flush=True)
    names = list(scores)
    head = ["series", *names]
    print_table("Scaled absolute error within 1, 6 and 24 h, median of windows", head, errors)
    print_table("Weighted quantile loss within 24 h, median of windows", head, crps)
    table = np.array(ratios)
    arima = table[:, names.index("AutoARIMA")]
    # What a peer gets to 0 must not decide over all others.
    means = np.exp(np.mean(np.log((table + 0.01) / (arima[:, None] + 0.01)), axis=0))
    held_80 = np.mean(shares, axis=0)
    rows = [[name, *(f"{ratio:.2f}" for ratio in means[at]), f"{held_80[at]:.1%}"] for at, name in enumerate(names)]
    head = ["forecaster", "1 h", "6 h", "24 h", "quantile loss", "interval score", "80 % held"]
    print_table("Errors over AutoARIMA's, geometric mean of the series", head, rows)
    coverage = np.mean(held, axis=0)
    print_table(
        "Values within the outlook's intervals, mean of all series",
        ["80 %", "95 %"],
        [[f"{share:.1%}" for share in coverage]],
    )
    print_machine(machine() | versions())
    save("outlook", {"names": names, "errors": table.tolist(), "coverage": coverage.tolist()})


def all_series() -> Iterator[Series]:
    """Traces of cloud hosts, half-hourly demand where R has it, and made ones."""
    for file in sorted((ROOT / "testdata" / "nab").glob("*.csv")):
        stamps = np.loadtxt(file, delimiter=",", skiprows=1, usecols=0, dtype="datetime64[s]")
        slots = ((stamps - stamps[0]).astype(np.int64) + 150) // 300
        samples = np.full(slots[-1] + 1, np.nan)
        samples[slots] = np.loadtxt(file, delimiter=",", skiprows=1, usecols=1)
        yield Series(file.stem, samples, 288, (0, 100) if "cpu" in file.stem else AMOUNT)
    yield from demand()
    yield from made_series(np.random.default_rng(SEED))


def demand() -> Iterator[Series]:
    """Twelve weeks of half-hourly demand for electricity, where R has it."""
    if shutil.which("Rscript"):
        read = subprocess.run(
            ["Rscript", "-e", "cat(forecast::taylor, sep='\\n')"], capture_output=True, text=True, check=False
        )
        if read.returncode == 0:
            yield Series("taylor (R, forecast)", np.array(read.stdout.split(), float), 48, AMOUNT)


def made_series(chance: np.random.Generator, n_weeks: int = 4) -> Iterator[Series]:
    """Weeks at five minutes: two seasons, shifts, gaps, a timer, and two without a season."""
    day, t = 288, np.arange(288 * 7 * n_weeks)
    shape = np.sin(2 * np.pi * t / day - 1.9) + 0.5 * np.sin(4 * np.pi * t / day)
    week = 1 - 0.5 * (t // day % 7 >= 5)

    def noise(phi: float, deviation: float) -> Samples:
        return ar1(chance, len(t), phi, deviation)

    yield Series("made: day and week", 100 + 40 * shape * week + noise(0.95, 2), day)
    shifts = 60 * (t > day * 15) - 30 * (t > day * 22)
    yield Series("made: shifts", 100 + 30 * shape + shifts + noise(0.9, 4), day)
    requests = np.exp(3 + 0.8 * shape * week + noise(0.9, 0.15))
    requests[chance.random(len(t)) < 0.05] = np.nan
    requests[day * 12 : day * 12 + 200] = np.nan
    yield Series("made: gaps", requests, day, AMOUNT)
    yield Series("made: timers", 10 + noise(0.8, 0.5) + 60 * (t % day < 4) + 20 * (t % 72 == 10), day)
    yield Series("made: random walk", np.cumsum(chance.normal(0, 1, len(t))), day)
    yield Series("made: AR(1)", 50 + noise(0.99, 1), day)


def ar1(chance: np.random.Generator, n: int, phi: float, deviation: float = 1) -> Samples:
    """Return an AR(1) with shocks of this deviation, from 0 on; a random walk where `phi` is 1."""
    values = chance.normal(0, deviation, n)
    for i in range(1, n):
        values[i] += phi * values[i - 1]
    return values


def scores_of(
    series: Series, n_windows: int, within: list[int] | None = None, n_days_known: int = 14
) -> tuple[dict[str, Score], Samples]:
    """Return each forecaster's scores within these leads, by default an hour, six and a day, and our coverage of 80 and 95 %."""
    _, samples, day, bounds = series
    within = within or [day // 24, day // 4, day]
    n_leads = within[-1]
    origins = np.linspace(len(samples) * 0.6, len(samples) - n_leads - 1, n_windows).astype(int)
    outlook = foretop.Outlook([day, 7 * day], n_leads, bounds=bounds)
    outlook.step(samples[: origins[0]])
    results: dict[str, list[Score]] = {}
    coverage = []
    for at, origin in enumerate(origins):
        past, came = samples[:origin], samples[origin : origin + n_leads]
        scale = np.nanmean(np.abs(past[day:] - past[:-day]))
        known = ~np.isnan(came)
        ends = outlook.quantiles(n_leads, COVERED)[:, known]
        coverage.append([np.mean((ends[i] <= came[known]) & (came[known] <= ends[-1 - i])) for i in (1, 0)])
        whole = filled(past)[-n_days_known * day :]
        for name, forecast in forecasters(outlook, whole, series, n_leads).items():
            quantiles = forecast()
            away = np.abs(came - quantiles[4])
            losses = [2 * np.nansum(pinball(came, row, level)) for row, level in zip(quantiles, LEVELS, strict=True)]
            mase = [float(np.nanmean(away[:lead]) / scale) for lead in within]
            lower, upper = quantiles[0], quantiles[-1]
            beyond = np.maximum(lower - came, 0) + np.maximum(came - upper, 0)
            # 2 over the share of values that may be outside.
            interval = float(np.nanmean(upper - lower + 10 * beyond) / scale)
            loss = float(np.mean(losses) / np.nansum(np.abs(came)))
            results.setdefault(name, []).append(
                Score(np.array(mase), loss, interval, float(np.mean(beyond[known] == 0)))
            )
        following = origins[at + 1] if at + 1 < len(origins) else origin
        outlook.step(samples[origin:following])
    medians = {
        name: Score(
            np.median([row.mase for row in rows], axis=0),
            float(np.median([row.loss for row in rows])),
            float(np.median([row.interval for row in rows])),
            float(np.mean([row.held for row in rows])),
        )
        for name, rows in results.items()
    }
    return medians, np.mean(coverage, axis=0)


def forecasters(
    outlook: foretop.Outlook, past: Samples, series: Series, n_leads: int
) -> dict[str, Callable[[], Samples]]:
    """Each gives its quantiles at `LEVELS`, a row each, for so many leads."""
    day = series.day
    seasons = [day, 7 * day] if len(past) >= 14 * day else [day]

    def auto() -> Samples:
        forecast = foretop.fit(past, "AUTO", bounds=series.bounds).forecast(n_leads)
        lower, upper = zip(*(forecast.interval(level) for level in (0.8, 0.6, 0.4, 0.2)), strict=True)
        return np.array([*lower, forecast.mean, *upper[::-1]])

    def last() -> Samples:
        return np.full((len(LEVELS), n_leads), past[-1])

    return {
        "outlook": lambda: outlook.quantiles(n_leads, LEVELS.tolist()),
        "AUTO": auto,
        "LAST": last,
        "SeasonalNaive": peer(SeasonalNaive(day), past, n_leads),
        "MSTL": peer(MSTL(seasons), past, n_leads),
        "AutoTheta": peer(AutoTheta(season_length=day), past, n_leads),
        # Longer seasons than 24 are more than its states can hold.
        "AutoETS": peer(AutoETS(season_length=1), past, n_leads),
        "AutoARIMA": peer(AutoARIMA(season_length=1), past, n_leads),
        "LightGBM": lambda: boosted(past, seasons, n_leads),
    }


def peer(model: Model, past: Samples, n_leads: int) -> Callable[[], Samples]:
    """Return the quantiles of a model of statsforecast."""

    def forecast() -> Samples:
        said = model.forecast(y=past, h=n_leads, level=[20, 40, 60, 80])
        lower = [said[f"lo-{level}"] for level in (80, 60, 40, 20)]
        upper = [said[f"hi-{level}"] for level in (20, 40, 60, 80)]
        return np.array([*lower, said["mean"], *upper])

    return forecast


def boosted(past: Samples, seasons: list[int], n_leads: int) -> Samples:
    """Return the quantiles of boosted trees, one step after another."""
    # Who takes only the series from here does without these.
    import pandas as pd
    from lightgbm import LGBMRegressor
    from mlforecast import MLForecast
    from mlforecast.lag_transforms import RollingMean
    from mlforecast.target_transforms import Differences
    from mlforecast.utils import PredictionIntervals

    day, *_ = seasons

    def of_day(times: Samples) -> Samples:
        return times % day

    def of_week(times: Samples) -> Samples:
        return times // day % 7

    model = MLForecast(
        models={"trees": LGBMRegressor(verbosity=-1, n_jobs=1)},
        freq=1,
        lags=[1, 2, 3, 6, 12, *seasons],
        lag_transforms={1: [RollingMean(12), RollingMean(day // 4)]},
        date_features=[of_day, of_week][: len(seasons)],
        target_transforms=[Differences([day])],
    )
    frame = pd.DataFrame({"unique_id": 0, "ds": np.arange(len(past)), "y": past})
    said = model.fit(frame, prediction_intervals=PredictionIntervals(n_windows=2, h=n_leads)).predict(
        n_leads, level=[20, 40, 60, 80]
    )
    lower = [said[f"trees-lo-{level}"] for level in (80, 60, 40, 20)]
    upper = [said[f"trees-hi-{level}"] for level in (20, 40, 60, 80)]
    return np.array([*lower, said["trees"], *upper])


def pinball(came: Samples, said: Samples, level: float) -> Samples:
    """Return the loss of saying a quantile."""
    return np.where(came >= said, level * (came - said), (1 - level) * (said - came))


def filled(samples: Samples) -> Samples:
    """Return the samples with straight lines over gaps."""
    at, known = np.arange(len(samples)), ~np.isnan(samples)
    return np.interp(at, at[known], samples[known])


if __name__ == "__main__":
    main()
