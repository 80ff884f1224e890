"""How probable it is that a line is crossed: an outlook's answers beside the base rate and straight lines, scored by what came.

The statement is "some value within 30 min (6 h) is above the 95th percentile of the past", or below the 5th, on the series of `outlook.py`, at moments that lie as far apart, so that none
overlap. An outlook's answer is the share of its futures, corrected by what became of earlier ones (`foretop.Record`), as `foretop ask` tells it; "futures alone" is that share itself. The
base rate is the share that came true so far. A line is drawn through the last samples as `predict_linear` does; how far it gets beyond has the probability with which the nearest such
margins of the past came true. The first ten statements of a series are for everybody to learn from. Bands of reliability hold 95 % of differences when whole days are drawn again.
"""

import argparse
import itertools

import foretop
import numpy as np
from outlook import SEED, Samples, Series, all_series, filled
from report import machine, print_machine, print_table, save

HOURS = [0.5, 6]
SIDES = {"above the 95th percentile": 1, "below the 5th percentile": -1}
# Windows of a straight line, in hours: what `predict_linear` is given in common alerts.
LINE_HOURS = [0.5, 1, 6]
N_LEARNED = 10
N_DRAWS = 2000


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    kept = {}
    for hours, (what, sign) in itertools.product(HOURS, SIDES.items()):
        rows, all_said, all_truth, all_days = [], [], [], []
        below = []
        for number, series in enumerate(all_series()):
            truth, said, days = statements(series, hours, sign)
            scores = [float(np.mean((row - truth) ** 2)) for row in said]
            below.append(scores)
            counts = [str(len(truth)), str(int(truth.sum()))]
            rows.append([series.name, *counts, *(f"{score:.3f}" for score in scores)])
            all_said.append(said[0])
            all_truth.append(truth)
            all_days.append(days + number * 10_000)
            print(f"{hours:g} h, {rows[-1]}", flush=True)
        mean = np.mean(below, axis=0)
        totals = [str(sum(int(row[at]) for row in rows)) for at in (1, 2)]
        rows.append(["mean of all series", *totals, *(f"{score:.3f}" for score in mean)])
        lines = [f"line of {past:g} h" for past in LINE_HOURS]
        head = ["series", "statements", "true", "outlook", "futures alone", "base rate", *lines]
        print_table(f"Brier score of '{what} within {hours:g} h'", head, rows)
        told = reliability(np.concatenate(all_said), np.concatenate(all_truth), np.concatenate(all_days))
        head = ["stated", "statements", "stated on average", "came true", "band of the difference"]
        print_table(f"Reliability of the outlook's '{what} within {hours:g} h'", head, told)
        kept[f"{what} within {hours:g} h"] = {"scores": rows, "reliability": told}
    print_machine(machine())
    save("statements", kept)


def statements(series: Series, hours: float, sign: int) -> tuple[Samples, list[Samples], Samples]:
    """Return which came true, the probabilities that each way of saying them had, and the day of each."""
    # Being below a line is being above it upside down.
    _, samples, day, bounds = series
    lead, first = max(int(hours * day / 24), 1), len(samples) // 3
    outlook = foretop.Outlook([day, 7 * day], lead, bounds=bounds)
    outlook.step(samples[:first])
    record = foretop.Record(lead)
    came: list[bool] = []
    ours, alone, base, days = [], [], [], []
    margins: dict[float, list[float]] = {past: [] for past in LINE_HOURS}
    for origin in range(first, len(samples) - lead, lead):
        past, ahead = sign * samples[:origin], sign * samples[origin : origin + lead]
        if not np.isnan(ahead).all():
            line = np.nanquantile(past, 0.95)
            alone.append(np.mean((sign * outlook.paths(1000, lead)).max(axis=1) > line))
            ours.append(record.told(origin, alone[-1]))
            # Laplace's rule, so that nothing is certain that has never been seen otherwise.
            base.append((sum(came) + 1) / (len(came) + 2))
            recent = filled(past[-day:]) if not np.isnan(past[-day:]).all() else np.array([line])
            for hours_past in LINE_HOURS:
                margins[hours_past].append(margin(recent, line, int(hours_past * day / 24), lead))
            came.append(bool(np.nanmax(ahead) > line))
            record.add(origin, alone[-1], came[-1])
            days.append(origin // day)
        outlook.step(samples[origin : origin + lead])
    truth = np.array(came, float)
    lines = [learned(np.array(margins[past]), truth) for past in LINE_HOURS]
    return (
        truth[N_LEARNED:],
        [np.array(said)[N_LEARNED:] for said in [ours, alone, base, *lines]],
        np.array(days)[N_LEARNED:],
    )


def margin(past: Samples, line: float, n_window: int, lead: int) -> float:
    """Return how far a straight line through the last samples gets beyond `line`, as `predict_linear` has it."""
    window = past[-max(n_window, 2) :]
    slope, start = np.polyfit(np.arange(len(window)), window, 1)
    ends = start + slope * np.array([len(window), len(window) + lead - 1])
    return float(ends.max() - line)


def learned(margins: Samples, truth: Samples) -> Samples:
    """Turn margins into probabilities: the share that came true among the past statements with the nearest margins."""
    said = np.full(len(truth), 0.5)
    for at in range(1, len(truth)):
        nearest = np.argsort(np.abs(margins[:at] - margins[at]))[: max(5, at // 5)]
        said[at] = (truth[nearest].sum() + 1) / (len(nearest) + 2)
    return said


def reliability(said: Samples, truth: Samples, days: Samples) -> list[list[str]]:
    """Return a row for each tenth of probabilities."""
    chance = np.random.default_rng(SEED)
    rows = []
    tenths = np.minimum((said * 10).astype(int), 9)
    for tenth in range(10):
        here = tenths == tenth
        if not here.any():
            continue
        _, of = np.unique(days[here], return_inverse=True)
        sums = np.bincount(of, weights=(truth - said)[here])
        counts = np.bincount(of)
        drawn = chance.integers(len(counts), size=(N_DRAWS, len(counts)))
        low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975])
        rows.append(
            [
                f"{10 * tenth} to {10 * tenth + 10} %",
                str(here.sum()),
                f"{said[here].mean():.1%}",
                f"{truth[here].mean():.1%}",
                f"{100 * low:+.1f} to {100 * high:+.1f}",
            ]
        )
    return rows


if __name__ == "__main__":
    main()
