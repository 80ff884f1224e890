"""A week ahead by the hour: the same forecasters and scores as in `outlook.py`, on hourly means of eight weeks of its made series and of demand.

Peers are fitted to the last four weeks of each window's past.
"""

import argparse
import warnings

import numpy as np
from outlook import SEED, Series, demand, made_series, scores_of
from report import machine, print_machine, print_table, save
from timing import versions

N_WINDOWS = 9
DAY = 24


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--windows", type=int, default=N_WINDOWS, help="of each series")
    n_windows = arguments.parse_args().windows
    warnings.simplefilter("ignore")
    errors, losses, coverage = [], [], []
    for series in [*demand(), *made_series(np.random.default_rng(SEED), n_weeks=8)]:
        scores, covered = scores_of(hourly(series), n_windows, [DAY, 7 * DAY], n_days_known=28)
        errors.append([series.name, *(" ".join(f"{error:.2f}" for error in of.mase) for of in scores.values())])
        losses.append([series.name, *(f"{of.loss:.3f}" for of in scores.values())])
        coverage.append(covered)
        print(f"{series.name}: {errors[-1][1:]}", flush=True)
    head = ["series", *scores]
    print_table("Scaled absolute error within a day and a week, median of windows", head, errors)
    print_table("Weighted quantile loss within a week, median of windows", head, losses)
    held = [f"{share:.1%}" for share in np.mean(coverage, axis=0)]
    print_table("Hours of the week within the outlook's intervals, mean of all series", ["80 %", "95 %"], [held])
    print_machine(machine() | versions())
    save("week", {"names": list(scores), "errors": errors, "losses": losses, "coverage": held})


def hourly(series: Series) -> Series:
    """Return the means over each hour; one of which nothing is known is a gap."""
    rows = series.samples.reshape(-1, series.day // DAY)
    n_known = np.maximum((~np.isnan(rows)).sum(axis=1), 1)
    means = np.where(np.isnan(rows).all(axis=1), np.nan, np.nansum(rows, axis=1) / n_known)
    return series._replace(samples=means, day=DAY)


if __name__ == "__main__":
    main()
