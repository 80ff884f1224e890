"""BOOM, or any folder in its layout, by GIFT-Eval's protocol: outlooks and AUTO beside statsforecast's models on the same windows.

FOLDER holds, at any depth, a folder for each dataset with `data-*.arrow` in it, an Arrow stream of rows with `freq` and `target`, one list or a
list for each variate; variates are series of their own. Without FOLDER it is made from our own traces.

The last tenth of a series, but at most twenty windows of it, is forecast window by window: 48 steps of minutes or hours, 60 of seconds, 30 of days; ten
times as far in the medium and fifteen times in the long term, where a past of one such length is left. MASE is the median's absolute error over the mean
absolute difference of samples a season apart in the window's past, CRPS the quantile loss at 0.1 to 0.9 over the sum of absolute values. Both are taken
over those of SeasonalNaive, dataset by dataset and term by term, and averaged geometrically, with 1e-5 added to each. What has not been seen to vary is in
no MASE. Which terms BOOM itself has of a dataset does not stand in its Arrow files; here they are all that fit.

AutoARIMA has no season here and sees the last 1,000 samples: a season of a day is more than it fits in hours.
"""

import argparse
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import foretop
import numpy as np
import pyarrow as pa
from outlook import LEVELS, Samples, all_series, filled, peer, pinball
from report import machine, print_machine, print_table, save
from statsforecast.models import AutoARIMA, SeasonalNaive
from timing import versions

SECONDS = {"S": 1, "s": 1, "T": 60, "min": 60, "H": 3600, "h": 3600, "D": 86_400}
# Steps of the short term, by unit.
N_STEPS = {1: 60, 60: 48, 3600: 48, 86_400: 30}
TERMS = {"short": 1, "medium": 10, "long": 15}
N_WINDOWS_MAX = 20
SHIFT = 1e-5
N_ARIMA = 1000
BASELINE = "SeasonalNaive"
# Over SeasonalNaive, on BOOM itself: DataDog's leaderboard.
PUBLISHED = {
    "Toto 2.5B": (0.581, 0.349),
    "Toto 4M": (0.624, 0.377),
    "chronos-bolt": (0.726, 0.451),
    "AutoARIMA": (0.824, 0.736),
    "AutoETS": (0.842, 1.975),
}


class Dataset(NamedTuple):
    """The series of one folder, all with the same step."""

    name: str
    step_seconds: int
    unit_seconds: int
    series: list[Samples]

    @property
    def season(self) -> int:
        """Steps of a season as GluonTS has it: an hour of seconds, a day of minutes or hours, and a day of days."""
        whole = {1: 3600, 60: 86_400, 3600: 86_400}.get(self.unit_seconds, self.step_seconds)
        return whole // self.step_seconds if whole % self.step_seconds == 0 else 1


class Task(NamedTuple):
    """A term of a dataset: `n_windows` windows of `n_ahead` steps at the end of each series."""

    dataset: Dataset
    term: str
    n_ahead: int
    n_windows: int


class Sums(NamedTuple):
    """What makes a forecaster's MASE and CRPS of a task."""

    scaled: list[float]
    loss: list[float]
    values: list[float]

    @property
    def mase(self) -> float:
        """Mean over windows; NaN if nothing varied."""
        return float(np.mean(self.scaled)) if self.scaled else math.nan

    @property
    def crps(self) -> float:
        """Of all windows together; NaN if all values are 0."""
        return sum(self.loss) / sum(self.values) if sum(self.values) > 0 else math.nan


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path, nargs="?", help="BOOM, as it was downloaded")
    arguments.add_argument("--limit", type=int, default=None, help="of datasets, in order of their names")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        if given.folder is None:
            for series in all_series():
                # Half-hourly demand and five-minute traces.
                write(Path(made) / series.name.replace("/", "-"), f"{1440 // series.day}T", [series.samples])
        try:
            rows = [scores_of(task) for task in tasks(given.folder or Path(made), given.limit)]
        except ValueError as error:
            sys.exit(f"error: {error}")
    if not rows:
        sys.exit("error: no series is as long as two windows and a past")
    report(rows)


def report(rows: list[dict[str, Sums]]) -> None:
    """Print ratios to the baseline, and save them."""
    ratios = {name: (ratio(rows, name, "mase"), ratio(rows, name, "crps")) for name in rows[0]}
    shown = [[name, f"{mase:.3f}", f"{crps:.3f}"] for name, (mase, crps) in ratios.items()]
    shown += [[f"{name}, published on BOOM", f"{mase:.3f}", f"{crps:.3f}"] for name, (mase, crps) in PUBLISHED.items()]
    print_table(f"Errors over {BASELINE}'s, {len(rows)} datasets and terms", ["forecaster", "MASE", "CRPS"], shown)
    print_machine(machine() | versions())
    save("boom", {"ratios": ratios, "n_tasks": len(rows)})


def ratio(rows: list[dict[str, Sums]], name: str, figure: str) -> float:
    """Return the shifted geometric mean of the ratios to the baseline."""
    both = np.array([[getattr(row[name], figure), getattr(row[BASELINE], figure)] for row in rows]) + SHIFT
    logs = np.log(both[:, 0] / both[:, 1])
    return float(np.exp(np.nanmean(logs)))


def tasks(folder: Path, limit: int | None) -> Iterator[Task]:
    """Give each dataset below `folder` in each term that fits."""
    folders = sorted({file.parent for file in folder.rglob("data-*.arrow")})
    if not folders:
        raise ValueError(f"{folder} has no folder with data-*.arrow in it")
    for at, one in enumerate(folders[:limit]):
        dataset = read(one, str(one.relative_to(folder)))
        print(f"{at + 1} of {len(folders[:limit])}: {dataset.name}", file=sys.stderr, flush=True)
        n_least = min(len(series) for series in dataset.series)
        for term, factor in TERMS.items():
            n_ahead = factor * N_STEPS[dataset.unit_seconds]
            n_windows = min(max(math.ceil(n_least / 10 / n_ahead), 1), N_WINDOWS_MAX)
            if n_least >= (n_windows + 1) * n_ahead:
                yield Task(dataset, term, n_ahead, n_windows)


def read(folder: Path, name: str) -> Dataset:
    """Read a dataset. Raises ValueError with the file for what is not one."""
    series: list[Samples] = []
    steps = set()
    for file in sorted(folder.glob("data-*.arrow")):
        try:
            with pa.memory_map(str(file)) as source:
                rows = pa.ipc.open_stream(source).read_all().select(["freq", "target"]).to_pylist()
        except (pa.ArrowInvalid, KeyError) as error:
            raise ValueError(f"{file} is no Arrow stream with freq and target: {error}") from None
        for row in rows:
            target = np.array(row["target"], float)
            series.extend(np.atleast_2d(target))
            steps.add(str(row["freq"]))
    if len(steps) != 1:
        raise ValueError(f"{folder} has {len(steps)} frequencies ({', '.join(sorted(steps))}); one was expected")
    return Dataset(name, *step_of(steps.pop(), folder), series)


def step_of(frequency: str, folder: Path) -> tuple[int, int]:
    """Return the step and its unit in seconds: `5T` is 300 and 60."""
    found = re.fullmatch(r"(\d*)([A-Za-z]+)", frequency)
    unit = SECONDS.get(found[2]) if found else None
    if found is None or unit is None:
        raise ValueError(f"the frequency {frequency} of {folder} is none of {', '.join(SECONDS)} with a number before")
    return int(found[1] or 1) * unit, unit


def write(folder: Path, frequency: str, series: list[Samples]) -> None:
    """Write a dataset in the layout of BOOM."""
    folder.mkdir(parents=True)
    table = pa.table({"item_id": [folder.name], "freq": [frequency], "target": [[list(row) for row in series]]})
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as to,
    ):
        to.write_table(table)


def scores_of(task: Task) -> dict[str, Sums]:
    """Forecast all windows of a task by everybody."""
    sums: dict[str, Sums] = {}
    for samples in task.dataset.series:
        for past, came, said in windows(task, samples):
            scale = seasonal_error(past, task.dataset.season)
            for name, forecast in said.items():
                quantiles = forecast()
                of = sums.setdefault(name, Sums([], [], []))
                away = float(np.nanmean(np.abs(came - quantiles[4])))
                if scale > 0:
                    of.scaled.append(away / scale)
                losses = [
                    2 * np.nansum(pinball(came, row, level)) for row, level in zip(quantiles, LEVELS, strict=True)
                ]
                of.loss.append(float(np.mean(losses)))
                of.values.append(float(np.nansum(np.abs(came))))
    return sums


def windows(task: Task, samples: Samples) -> Iterator[tuple[Samples, Samples, dict[str, Callable[[], Samples]]]]:
    """Give each window's past, what came, and everybody's quantiles. A window without any value is left out."""
    day = 86_400 / task.dataset.step_seconds
    first = len(samples) - task.n_windows * task.n_ahead
    periods = [day, 7 * day] if day >= 2 else [7 * day]
    # What never was below 0 before is taken for an amount.
    is_amount = not (samples[:first] < 0).any()
    outlook = foretop.Outlook(periods, task.n_ahead, non_negative=is_amount)
    outlook.step(samples[:first])
    for origin in range(first, len(samples), task.n_ahead):
        past, came = samples[:origin], samples[origin : origin + task.n_ahead]
        if not np.isnan(came).all() and not np.isnan(past).all():
            yield past, came, forecasters(outlook, filled(past), task)
        outlook.step(came)


def forecasters(outlook: foretop.Outlook, past: Samples, task: Task) -> dict[str, Callable[[], Samples]]:
    """Each gives its quantiles at `LEVELS`, a row each."""

    def auto() -> Samples:
        forecast = foretop.fit(past[-1200:], "AUTO").forecast(task.n_ahead)
        lower, upper = zip(*(forecast.interval(level) for level in (0.8, 0.6, 0.4, 0.2)), strict=True)
        return np.array([*lower, forecast.mean, *upper[::-1]])

    season = task.dataset.season if len(past) > task.dataset.season else 1
    return {
        "outlook": lambda: outlook.quantiles(task.n_ahead, LEVELS.tolist()),
        "AUTO": auto,
        BASELINE: peer(SeasonalNaive(season), past, task.n_ahead),
        "AutoARIMA": peer(AutoARIMA(season_length=1), past[-N_ARIMA:], task.n_ahead),
    }


def seasonal_error(past: Samples, season: int) -> float:
    """Return the mean absolute difference of samples a season apart, or of neighbours where the past is no longer than one."""
    apart = season if season < len(past) else 1
    differences = np.abs(past[apart:] - past[:-apart])
    return float(np.nanmean(differences)) if not np.isnan(differences).all() else 0.0


if __name__ == "__main__":
    main()
