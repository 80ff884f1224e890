"""Rates of a fleet, beside a loop over single predictors, all from criterion (`cargo bench -p predict --bench fleet` runs before).

A rate is series per second on all cores that the machine has; the loop runs on one.
"""

from collections.abc import Iterator

from report import machine, print_machine, print_table, save
from timing import criterion_median_seconds

N_SERIES = 100_000
N_FITS = 5_000
# Work, criterion group, series in it, the rate that the issue which asked for it names.
GROUPS = [
    ("AR(16), fit on 600 samples", "fleet/ar16/fit_600", N_FITS, 100_000),
    ("AR(16), step and 30 forecasts", "fleet/ar16/step_and_30_forecasts", N_SERIES, 1_000_000),
    ("ARMA(8,8), step and 30 forecasts", "fleet/arma88/step_and_30_forecasts", N_SERIES, None),
    ("LAST, step and 30 forecasts", "fleet/last/step_and_30_forecasts", N_SERIES, None),
]


def main() -> None:
    """Measure, print, save."""
    rows, figures = [], []
    for work, who, rate, to_reach in rates():
        rows.append([work, who, f"{rate:,.0f}", f">= {to_reach:,}" if to_reach else ""])
        figures.append({"work": work, "who": who, "rate_series_per_sec": rate})
    print_table("Many series at once, series per second", ["work", "who", "rate", "to reach"], rows)
    print_machine(machine())
    save("fleet_rates", {"rates": figures})


def rates() -> Iterator[tuple[str, str, float, int | None]]:
    """Give who does what at which rate, and the rate to reach."""
    for work, group, n_series, to_reach in GROUPS:
        yield work, "foretop `Fleet`", n_series / criterion_median_seconds(f"{group}/fleet"), to_reach
        yield work, "loop over `Predictor`s", n_series / criterion_median_seconds(f"{group}/loop"), None


if __name__ == "__main__":
    main()
