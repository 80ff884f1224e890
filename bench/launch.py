"""A week of requests with a daily shape, and a launch on day five: when Foretop warns that a line is crossed, and when a straight line does.

The requests are made, at five minutes: a day's shape, weekdays that differ a little, errors that last. At ten on day five they become 1.7 times
as many. At each step an outlook says how probable it is that they are above what the service takes within three hours; it warns from 80 %
on, and until that is below 50 %. Lines are `predict_linear` over windows of one and six hours, and warn while they are above within
the same time. A warning is right if that happens within three hours after it began, and a crossing is foreseen if one stood at the step
before. The first day is for everybody to learn from.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import foretop
import numpy as np
import numpy.typing as npt
from report import machine, print_machine, print_table, save
from statements import margin

Samples = npt.NDArray[np.float64]
Warned = npt.NDArray[np.bool_]

DAY = 288
LEAD = 3 * DAY // 24
LAUNCH = 4 * DAY + 10 * DAY // 24
CAPACITY = 1600.0
RAISE, CLEAR = 0.8, 0.5
N_PATHS = 500
LINE_HOURS = [1, 6]
N_WEEKS = 20


class Count(NamedTuple):
    """What became of the warnings of a forecaster over all weeks."""

    n: int
    # After which nothing came in time.
    n_vain: int
    # On the day of the launch and on those after it: crossings, and for each that was foreseen the minutes since its warning began.
    n_crossings: list[int]
    ahead: list[list[float]]


def main() -> None:
    """Make weeks, warn, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=int, default=N_WEEKS, help="made with as many seeds")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the first of them as well")
    arguments = parser.parse_args()
    weeks = [made(seed) for seed in range(1, arguments.weeks + 1)]
    warned = {"Foretop": [foretop_warns(week) for week in weeks]}
    for hours in LINE_HOURS:
        warned[f"line of {hours} h"] = [line_warns(week, hours) for week in weeks]
    rows = []
    for name, told in warned.items():
        count = counted(weeks, told)
        foreseen = [
            f"{len(ahead)} of {n}, {np.median(ahead or [0]):.0f} min ahead"
            for ahead, n in zip(count.ahead, count.n_crossings, strict=True)
        ]
        rows.append([name, str(count.n), str(count.n_vain), *foreseen])
    title = f"{arguments.weeks} weeks of requests with a launch on day five: warnings of the next three hours"
    print_table(title, ["", "warnings", "in vain", "foreseen on day five", "on days six and seven"], rows)
    print_machine(machine())
    save("launch", {"weeks": arguments.weeks, "rows": rows})
    if arguments.plot:
        draw(weeks[0], {name: told[0] for name, told in warned.items()}, arguments.plot)


def made(seed: int) -> Samples:
    """Return a week of requests per second."""
    chance = np.random.default_rng(seed)
    t = np.arange(7 * DAY)
    shape = np.sin(2 * np.pi * t / DAY - 1.9) + 0.4 * np.sin(4 * np.pi * t / DAY - 0.5)
    lasting = np.zeros(len(t))
    for at in range(1, len(t)):
        lasting[at] = 0.97 * lasting[at - 1] + chance.normal(0, 0.012)
    of_day = chance.normal(0, 0.04, 7)[t // DAY]
    requests = np.exp(6.4 + 0.5 * shape + lasting + of_day + chance.normal(0, 0.02, len(t)))
    return np.where(t >= LAUNCH, 1.7, 1.0) * requests


def foretop_warns(week: Samples) -> Warned:
    """Return at which steps a warning stands, by what was known until then."""
    outlook = foretop.Outlook([DAY, 7 * DAY], LEAD, non_negative=True)
    told = np.zeros(len(week), bool)
    for at, value in enumerate(week):
        outlook.step(np.array([value]))
        if at >= DAY:
            chance = np.mean((outlook.paths(N_PATHS, LEAD) > CAPACITY).any(axis=1))
            told[at] = chance >= (CLEAR if told[at - 1] else RAISE)
    return told


def line_warns(week: Samples, hours: int) -> Warned:
    """Return the same of a straight line through the last hours."""
    n = hours * DAY // 24
    return np.array([at >= DAY and margin(week[: at + 1], CAPACITY, n, LEAD) > 0 for at in range(len(week))])


def counted(weeks: list[Samples], warned: list[Warned]) -> Count:
    """Count warnings that begin while requests are below the line, and crossings that they said."""
    n, n_vain = 0, 0
    n_crossings = [0, 0]
    ahead: list[list[float]] = [[], []]
    for week, told in zip(weeks, warned, strict=True):
        above = week > CAPACITY
        begins = [at for at in range(DAY, len(week) - LEAD) if told[at] and not told[at - 1] and not above[at]]
        n += len(begins)
        n_vain += sum(not above[at + 1 : at + 1 + LEAD].any() for at in begins)
        # What comes back within three hours is the same crossing.
        for at in (at for at in range(DAY + LEAD, len(week)) if above[at] and not above[at - LEAD : at].any()):
            which = int(at >= 5 * DAY)
            n_crossings[which] += 1
            if told[at - 1]:
                began = at - 1
                while told[began - 1]:
                    began -= 1
                ahead[which].append((at - began) * 24 * 60 / DAY)
    return Count(n, n_vain, n_crossings, ahead)


def draw(week: Samples, warned: dict[str, Warned], path: Path) -> None:
    """Draw the requests, and below them when each warned."""
    from matplotlib.figure import Figure

    days = np.arange(len(week)) / DAY + 1
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    requests, bars = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    requests.plot(days, week, color="black", lw=0.8)
    requests.axhline(CAPACITY, color="C3", ls="--", lw=1, label="what the service takes")
    requests.axvline(days[LAUNCH], color="0.6", lw=1, label="launch")
    requests.set(ylabel="requests per second", ylim=(0, None))
    requests.legend(frameon=False, loc="upper left")
    names = list(reversed(warned))
    for row, name in enumerate(names):
        bars.fill_between(days, row - 0.35, row + 0.35, where=warned[name].tolist(), step="mid", color="C3")
    bars.set(yticks=range(len(names)), yticklabels=names, xlabel="day", ylim=(-0.6, len(names) - 0.4))
    figure.savefig(path)


if __name__ == "__main__":
    main()
