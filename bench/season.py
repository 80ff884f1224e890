"""AUTO that searches for a season beside AUTO that is given a day and a week, on the series, windows and scaled errors of `outlook.py`."""

import argparse
from collections import Counter

import foretop
import numpy as np
from outlook import N_WINDOWS, Samples, Series, all_series
from report import machine, print_machine, print_table, save

MODELS = ["AUTO", "day and week given"]


def main() -> None:
    """Measure, print, save."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    rows = []
    for series in all_series():
        judged = [of_model(series, spec) for spec in ("AUTO", f"AUTO({series.day},{7 * series.day})")]
        found = Counter(judged[0][1])
        errors = [" ".join(f"{error:.3f}" for error in of) for of, _ in judged]
        rows.append([series.name, *errors, ", ".join(f"{spec} in {n}" for spec, n in found.most_common()) or "none"])
        print(rows[-1], flush=True)
    head = ["series", *MODELS, f"season found, in windows of {N_WINDOWS}"]
    print_table("Scaled absolute error within 1, 6 and 24 h, median of windows", head, rows)
    print_machine(machine())
    save("season", {"rows": rows})


def of_model(series: Series, spec: str) -> tuple[Samples, list[str]]:
    """Return the median errors within each horizon, and the seasonal candidate of each window that has one."""
    _, samples, day, bounds = series
    within = [day // 24, day // 4, day]
    errors, seasons = [], []
    for origin in np.linspace(len(samples) * 0.6, len(samples) - day - 1, N_WINDOWS).astype(int):
        past, came = samples[:origin], samples[origin : origin + day]
        predictor = foretop.fit(past, spec, bounds=bounds).predictor()
        away = np.abs(came - predictor.forecast(day).mean) / np.nanmean(np.abs(past[day:] - past[:-day]))
        errors.append([np.nanmean(away[:lead]) for lead in within])
        speakers = predictor.speakers
        if speakers is not None:
            seasons += [model for model in speakers["model"] if model.startswith("SEASONAL")]
    return np.median(errors, axis=0), seasons


if __name__ == "__main__":
    main()
