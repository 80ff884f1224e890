"""Steps of several lengths that agree: outlooks of five minutes (or half hours) and of hours, each alone and beside the other, on the series and windows of `outlook.py`.

Errors are absolute ones of medians within 1, 6 and 24 h, and of an hour's mean in hours, scaled by the mean absolute difference of samples a day apart.
"""

import argparse
import warnings

import foretop
import numpy as np
from outlook import LEVELS, N_WINDOWS, Samples, Series, all_series, pinball
from report import machine, print_machine, print_table, save

HOURS = [1, 6, 24]
NAMES = ["steps alone", "steps with hours", "hours alone", "hours with steps"]


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    series = list(all_series())
    scores = np.array([scores_of(one) for one in series])
    rows = [
        [one.name, *(" ".join(f"{error:.2f}" for error in row[:-1]) for row in of)]
        for one, of in zip(series, scores, strict=True)
    ]
    print_table("Scaled absolute error within 1, 6 and 24 h, median of windows", ["series", *NAMES], rows)
    # What one series gets to 0 must not decide over all others.
    means = np.exp(np.mean(np.log(scores + 0.01), axis=0)) - 0.01
    means_told = [[name, *(f"{value:.3f}" for value in row)] for name, row in zip(NAMES, means, strict=True)]
    print_table("Geometric means of the series", ["", "1 h", "6 h", "24 h", "quantile loss within 24 h"], means_told)
    print_machine(machine())
    save("levels", {"names": NAMES, "scores": scores.tolist()})


def scores_of(series: Series) -> Samples:
    """Return the errors within each horizon and the quantile loss of each way of forecasting."""
    _, samples, day, bounds = series
    ratio = day // 24
    origins = np.linspace(len(samples) * 0.6, len(samples) - day - 1, N_WINDOWS).astype(int) // ratio * ratio
    windows = []
    for origin in origins:
        past, came = samples[:origin], samples[origin : origin + day]
        scale = np.nanmean(np.abs(past[day:] - past[:-day]))
        seasons = [day, 7 * day]
        alone, hours_alone = (
            foretop.Outlook.agreeing(past, [length], seasons, day // length, bounds=bounds)[0] for length in (1, ratio)
        )
        together, hours_together = foretop.Outlook.agreeing(past, [1, ratio], seasons, day, bounds=bounds)
        rows = [scored(outlook, came, scale, ratio) for outlook in (alone, together)]
        means = np.nanmean(came.reshape(-1, ratio), axis=1)
        windows.append([*rows, *(scored(outlook, means, scale, 1) for outlook in (hours_alone, hours_together))])
    return np.nanmedian(windows, axis=0)


def scored(outlook: foretop.Outlook, came: Samples, scale: float, per_hour: int) -> list[float]:
    """Return the scores of one forecast of a day."""
    quantiles = outlook.quantiles(len(came), LEVELS.tolist())
    away = np.abs(came - quantiles[len(LEVELS) // 2])
    losses = [2 * np.nansum(pinball(came, row, level)) for row, level in zip(quantiles, LEVELS, strict=True)]
    errors = [float(np.nanmean(away[: hours * per_hour]) / scale) for hours in HOURS]
    return [*errors, float(np.mean(losses) / np.nansum(np.abs(came)))]


if __name__ == "__main__":
    main()
