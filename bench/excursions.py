"""What a node's excursions are worth: how many of those that it tells come, and how many of those that come it told before.

A series leaves its usual range when it passes the 1st or 99th percentile of the past week by a twentieth of what lies between.
It is told as `GET /api/v1/warnings` tells it: from a probability of 80 % within six hours on until it is below 50 %, while that
is twice its base rate and the series is within its range. Beside it a straight line through the last hour or six, as
`predict_linear` has it, that gets beyond the same line within six hours.

A warning begins when it is told and was not a step before, and is right if the series leaves the range within six hours. An
event begins when the series leaves the range after six hours within it, and was foreseen if it was told at the step before.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import foretop
import numpy as np
import numpy.typing as npt
from outlook import Series, all_series, filled, margin
from report import machine, print_machine, print_table, save

Samples = npt.NDArray[np.float64]

TAILS, MARGIN = [0.01, 0.99], 0.05
RAISE, CLEAR, RATIO_MIN = 0.8, 0.5, 2.0
N_PATHS = 500
LINE_HOURS = [1, 6]


class Count(NamedTuple):
    """What became of a forecaster's warnings."""

    warned: int
    right: int
    events: int
    foreseen: int


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    names = ["excursions", *(f"line of {hours} h" for hours in LINE_HOURS)]
    rows, totals = [], np.zeros((len(names), 4), int)
    for series in all_series():
        counts = counts_of(series)
        totals += np.array(counts)
        events = counts[0].events
        rows.append([series.name, str(events), *(shown(count) for count in counts)])
        print(rows[-1], flush=True)
    rows.append(["all", str(totals[0][2]), *(shown(Count(*total)) for total in totals)])
    print_table("Warned, of it rightly, events foreseen", ["series", "events", *names], rows)
    print_machine(machine())
    save("excursions", {"names": names, "rows": rows, "totals": totals.tolist()})


def shown(count: Count) -> str:
    """Return the figures of a cell."""
    return f"{count.warned} / {count.right} / {count.foreseen}"


def counts_of(series: Series) -> list[Count]:
    """Walk through a series and count each forecaster's warnings, ours first."""
    _, samples, day = series
    lead, first = day // 4, min(7 * day, len(samples) // 3)
    outlook = foretop.Outlook([day, 7 * day], lead)
    outlook.step(samples[:first])
    told: list[list[npt.NDArray[np.bool_]]] = [[] for _ in range(1 + len(LINE_HOURS))]
    beyond = []
    for now in range(first, len(samples) - lead):
        if (now - first) % lead == 0:
            sides = sides_of(samples[max(0, now - 7 * day) : now], lead)
        is_there = [bool(is_beyond(samples[now - 1])) for is_beyond, _, _ in sides]
        paths = outlook.paths(N_PATHS, lead)
        ours = [np.mean(is_beyond(paths).any(axis=1)) for is_beyond, _, _ in sides]
        rates = [rate for _, _, rate in sides]
        stands = told[0][-1] if told[0] else [False, False]
        told[0].append(
            np.array(
                [
                    chance >= (CLEAR if stood else RAISE) and chance >= RATIO_MIN * rate and not there
                    for chance, rate, there, stood in zip(ours, rates, is_there, stands, strict=True)
                ]
            )
        )
        past = filled(samples[max(0, now - day) : now])
        for at, hours in enumerate(LINE_HOURS, start=1):
            n = int(hours * day / 24)
            passed = [
                margin(sign * past, sign * line, n, lead) > 0 for (_, line, _), sign in zip(sides, [-1, 1], strict=True)
            ]
            told[at].append(np.array([does and not there for does, there in zip(passed, is_there, strict=True)]))
        beyond.append([bool(is_beyond(samples[now])) for is_beyond, _, _ in sides])
        outlook.step(samples[now : now + 1])
    came = np.array(beyond)
    return [count_of(np.array(one), came, lead) for one in told]


def sides_of(week: Samples, lead: int) -> list[tuple[Callable[[Samples], npt.NDArray[np.bool_]], float, float]]:
    """Return whether values are below the usual range, the line, and the base rate; the same above."""
    low, high = np.nanquantile(week, TAILS)
    width = MARGIN * (high - low)
    sides = []
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
