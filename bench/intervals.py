"""How sharp and how right the intervals of AUTO are: beside those of REFIT(AR(16)) with normal errors, and beside theory.

`bench-intervals` does the work; this runs it and makes the tables. What AUTO came to on each recorded window is kept in
`testdata/predict/auto/windows.csv`, and the last table holds the run against it. Usage: bench/intervals.py [--seeds N] [--keep]
"""

import argparse
import csv
import math
from collections.abc import Iterable
from typing import Any

from report import ROOT, machine, print_machine, print_table, save
from timing import rust_program

KEPT = ROOT / "testdata/predict/auto/windows.csv"
LEADS = ["1", "5", "10", "30"]


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--seeds", type=int, default=500, help="series whose widths are held against theory, of each kind"
    )
    arguments.add_argument(
        "--keep", action="store_true", help="write what came out as what later runs are held against"
    )
    given = arguments.parse_args()
    found = rust_program("bench-intervals", str(given.seeds))
    if "refused" in found:
        raise SystemExit(found["refused"])
    leads = " / ".join(str(lead) for lead in found["leads"])
    head = ["series", "windows", f"interval score over the peer's, {leads} steps", "99th percentile by long window"]
    rows = [
        [
            of_set["set"],
            str(of_set["n_windows"]),
            " / ".join(ratio(lead) for lead in of_set["leads"]),
            figures(lead["interval_score_ratio_p99"] for lead in of_set["leads"]),
        ]
        for of_set in found["sets"]
    ]
    print_table("95 % interval score of AUTO over that of REFIT(AR(16)) with normal intervals", head, rows)
    head = ["series", f"inside 50 %, {leads} steps", "inside 80 %", "inside 95 %", "inside 95 %, first 100 samples"]
    rows = [
        [of_set["set"]]
        + [shares(lead["coverage_median"][idx] for lead in of_set["leads"]) for idx in range(3)]
        + [shares(lead["coverage_first"] for lead in of_set["leads"])]
        for of_set in found["sets"]
    ]
    print_table("What intervals of AUTO hold: median of windows; mean in their first 100 samples", head, rows)
    head = ["series", "age", f"5th, 50th, 95th percentile of seeds, {leads} steps"]
    rows = [
        [of_set["set"], f"{age}", "; ".join(figures(width) for width in widths)]
        for of_set in found["sets"]
        for age, widths in zip(found["ages"], of_set["width_over_theory"], strict=False)
    ]
    print_table("Width of 95 % intervals of AUTO over that of a forecast that knows the law", head, rows)
    head = ["series", f"over the best single model, {leads} steps", "over LAST", "over MEAN"]
    rows = [
        [of_set["set"]]
        + [
            figures(lead[key] for lead in of_set["leads"])
            for key in ("squared_over_best_median", "squared_over_last", "squared_over_mean")
        ]
        for of_set in found["sets"]
    ]
    print_table(
        "Squared error of AUTO: median of windows over the best of seven; geometric mean over LAST and MEAN", head, rows
    )
    windows = found.pop("windows")
    if given.keep:
        keep(windows, found["leads"])
    head = ["series", f"squared error over the kept one, {leads} steps", "95 % interval score over the kept one"]
    print_table(
        "AUTO against itself as kept in testdata/predict/auto: geometric means over windows",
        head,
        against_kept(windows),
    )
    print_machine(machine())
    save("intervals", found)


def keep(windows: list[dict[str, Any]], leads: list[int]) -> None:
    """Write a line for each window and lead."""
    with KEPT.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["set", "window", "lead", "mean_squared_error", "interval_score"])
        for idx, window in enumerate(windows):
            for lead, squared, score in zip(
                leads, window["mean_squared_errors"], window["interval_scores"], strict=True
            ):
                lines.writerow([window["set"], idx, lead, f"{squared:.6g}", f"{score:.6g}"])


def against_kept(windows: list[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each set: how the windows of this run compare with those kept."""
    logs: dict[str, dict[str, dict[str, list[float]]]] = {}
    with KEPT.open(newline="") as file:
        for line in csv.DictReader(file):
            window = windows[int(line["window"])]
            lead = LEADS.index(line["lead"])
            for key, known in [("mean_squared_errors", "mean_squared_error"), ("interval_scores", "interval_score")]:
                value, before = window[key][lead], float(line[known])
                if value and before:
                    of_set = logs.setdefault(line["set"], {}).setdefault(key, {})
                    of_set.setdefault(line["lead"], []).append(math.log(value / before))
    mean = lambda values: math.exp(sum(values) / len(values)) if values else None  # noqa: E731
    return [
        [name]
        + [
            figures(mean(of_set[key].get(lead, [])) for lead in LEADS)
            for key in ("mean_squared_errors", "interval_scores")
        ]
        for name, of_set in logs.items()
    ]


def ratio(lead: dict[str, Any]) -> str:
    """Return a ratio with its bootstrap interval of 95 %."""
    low, high = lead["interval_score_ratio_interval"] or (float("nan"), float("nan"))
    return f"{lead['interval_score_ratio']:.2f} [{low:.2f}, {high:.2f}]"


def figures(values: Iterable[float | None]) -> str:
    """Return ratios in a row, a dash where there is none."""
    return " / ".join("–" if value is None else f"{value:.2f}" for value in values)


def shares(values: Iterable[float | None]) -> str:
    """Return shares in a row, in percent."""
    return " / ".join("–" if value is None else f"{100 * value:.1f}" for value in values)


if __name__ == "__main__":
    main()
