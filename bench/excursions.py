"""What a node's excursions are worth: how many of those that it tells come, and how many of those that come it told before.

A series leaves its usual range when it passes the 1st or 99th percentile of the past week by a twentieth of what lies between.
It is told as `GET /api/v1/warnings` tells it: from a probability of 80 % within six hours on until it is below 50 %, while that
is twice its base rate and the series is within its range. Probabilities are corrected by what became of earlier ones of the same
side (`foretop.Record`); the node looks at 40 of the past weeks, this at six in as many hours from its beginning on. Beside it a straight line through the last hour or six, as
`predict_linear` has it, that gets beyond the same line within six hours.

A warning begins when it is told and was not a step before, and is right if the series leaves the range within six hours. An
event begins when the series leaves the range after six hours within it, and was foreseen if it was told at the step before.

For the last table our probability is set to where as many events are foreseen as by a line; it is cleared at the same share of that as otherwise.
"""

import argparse
from collections.abc import Callable, Iterable
from typing import NamedTuple

import foretop
import numpy as np
import numpy.typing as npt
from outlook import Series, all_series, filled
from report import machine, print_machine, print_table, save
from statements import margin

Samples = npt.NDArray[np.float64]
# Whether values are beyond a line, the line, and how often windows of the past were.
Side = tuple[Callable[[Samples], npt.NDArray[np.bool_]], float, float]

TAILS, MARGIN = [0.01, 0.99], 0.05
RAISE, CLEAR, RATIO_MIN = 0.8, 0.5, 2.0
N_PATHS = 500
# Answers that are kept, in the time that is looked ahead.
N_KEPT = 6
LINE_HOURS = [1, 6]


class Count(NamedTuple):
    """What became of a forecaster's warnings."""

    warned: int
    right: int
    events: int
    foreseen: int


class Walk(NamedTuple):
    """What was said of a series step by step, for either side of its range, and what came."""

    lead: int
    came: npt.NDArray[np.bool_]
    # Whether the series was beyond when it was said: then there is nothing to tell.
    there: npt.NDArray[np.bool_]
    # What is told, and what futures alone say.
    chances: Samples
    alone: Samples
    rates: Samples
    # For each of LINE_HOURS, how far beyond the range its line gets.
    margins: list[Samples]

    def by_chance(self, threshold: float, *, alone: bool = False) -> Count:
        """Count what is told from this probability on."""
        told = np.zeros_like(self.there)
        stood = np.zeros(2, bool)
        for at, chance in enumerate(self.alone if alone else self.chances):
            least = np.where(stood, threshold * CLEAR / RAISE, threshold)
            stood = (chance >= least) & (chance >= RATIO_MIN * self.rates[at]) & ~self.there[at]
            told[at] = stood
        return count_of(told, self.came, self.lead)

    def by_line(self, at: int) -> Count:
        """Count what the line of `LINE_HOURS[at]` tells."""
        return count_of((self.margins[at] > 0) & ~self.there, self.came, self.lead)


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    names = ["excursions", "futures alone", *(f"line of {hours} h" for hours in LINE_HOURS)]
    rows, walks = [], []
    for series in all_series():
        walks.append(walk := walk_of(series))
        counts = [
            walk.by_chance(RAISE),
            walk.by_chance(RAISE, alone=True),
            *(walk.by_line(at) for at in range(len(LINE_HOURS))),
        ]
        rows.append([series.name, str(counts[0].events), *(shown(count) for count in counts)])
        print(rows[-1], flush=True)
    lines = [total(walk.by_line(at) for walk in walks) for at in range(len(LINE_HOURS))]
    ours = [total(walk.by_chance(RAISE, alone=alone) for walk in walks) for alone in (False, True)]
    totals = [*ours, *lines]
    rows.append(["all", str(totals[0].events), *(shown(count) for count in totals)])
    print_table("Warned, of it rightly, events foreseen", ["series", "events", *names], rows)
    equal = [equal_recall(walks, line) for line in lines]
    head = ["", "events foreseen", "its false alarms", "our probability", "events foreseen", "our false alarms"]
    print_table(
        "False alarms where as many events are foreseen",
        head,
        [[name, *row] for name, row in zip(names[2:], equal, strict=True)],
    )
    print_machine(machine())
    save("excursions", {"names": names, "rows": rows, "totals": totals, "equal_recall": equal})


def equal_recall(walks: list[Walk], line: Count) -> list[str]:
    """Return a line's events and false alarms, and ours at the highest probability at which no fewer events are foreseen."""
    ours = total(())
    for threshold in np.arange(0.95, 0.0, -0.05):
        ours = total(walk.by_chance(threshold) for walk in walks)
        if ours.foreseen >= line.foreseen:
            break
    return [
        str(line.foreseen),
        str(line.warned - line.right),
        f"{threshold:.2f}",
        str(ours.foreseen),
        str(ours.warned - ours.right),
    ]


def total(counts: Iterable[Count]) -> Count:
    """Add counts up."""
    return Count(*(sum(figures) for figures in zip(Count(0, 0, 0, 0), *counts, strict=True)))


def shown(count: Count) -> str:
    """Return the figures of a cell."""
    return f"{count.warned} / {count.right} / {count.foreseen}"


def walk_of(series: Series) -> Walk:
    """Walk through a series, and note what everybody says at each step and what comes after it."""
    _, samples, day, bounds = series
    lead, first = day // 4, min(7 * day, len(samples) // 3)
    outlook = foretop.Outlook([day, 7 * day], lead, bounds=bounds)
    outlook.step(samples[:first])
    there, came, chances, alone, rates = [], [], [], [], []
    margins: list[list[list[float]]] = [[] for _ in LINE_HOURS]
    records = [foretop.Record(lead), foretop.Record(lead)]
    for now in range(first, len(samples) - lead):
        if (now - first) % lead == 0:
            sides = sides_of(samples[max(0, now - 7 * day) : now], lead)
        there.append([bool(is_beyond(samples[now - 1])) for is_beyond, _, _ in sides])
        paths = outlook.paths(N_PATHS, lead)
        drawn = [float(np.mean(is_beyond(paths).any(axis=1))) for is_beyond, _, _ in sides]
        alone.append(drawn)
        chances.append([record.told(now, share) for record, share in zip(records, drawn, strict=True)])
        if now % max(lead // N_KEPT, 1) == 0:
            ahead = samples[now : now + lead]
            for (is_beyond, _, _), record, share in zip(sides, records, drawn, strict=True):
                record.add(now, share, bool(is_beyond(ahead).any()))
        rates.append([rate for _, _, rate in sides])
        past = filled(samples[max(0, now - day) : now])
        for at, hours in enumerate(LINE_HOURS):
            n = int(hours * day / 24)
            signed = zip(sides, [-1, 1], strict=True)
            margins[at].append([margin(sign * past, sign * line, n, lead) for (_, line, _), sign in signed])
        came.append([bool(is_beyond(samples[now])) for is_beyond, _, _ in sides])
        outlook.step(samples[now : now + 1])
    of_lines = [np.array(one) for one in margins]
    return Walk(lead, np.array(came), np.array(there), np.array(chances), np.array(alone), np.array(rates), of_lines)


def sides_of(week: Samples, lead: int) -> list[Side]:
    """Return what is below the usual range, and what above."""
    low, high = np.nanquantile(week, TAILS)
    width = MARGIN * (high - low)
    sides: list[Side] = []
    for line, sign in [(low - width, -1), (high + width, 1)]:

        def is_beyond(values: Samples, line: float = line, sign: int = sign) -> npt.NDArray[np.bool_]:
            return sign * values > sign * line

        windows = np.lib.stride_tricks.sliding_window_view(is_beyond(week), lead)
        sides.append((is_beyond, float(line), float(np.mean(windows.any(axis=1)))))
    return sides


def count_of(told: npt.NDArray[np.bool_], came: npt.NDArray[np.bool_], lead: int) -> Count:
    """Count both sides together. Row `i` of `told` was said before row `i` of `came` was known."""
    warned = right = events = foreseen = 0
    for side in range(2):
        said, there = told[:, side], came[:, side]
        begins = np.flatnonzero(said & ~np.concatenate(([False], said[:-1])))
        warned += len(begins)
        right += sum(bool(there[at : at + lead].any()) for at in begins)
        onsets = [at for at in np.flatnonzero(there) if not there[max(0, at - lead) : at].any()]
        events += len(onsets)
        foreseen += sum(bool(said[at]) for at in onsets)
    return Count(warned, right, events, foreseen)


if __name__ == "__main__":
    main()
