"""One more sample, then thirty forecasts: here and in statsmodels, statsforecast, river and skaters, on one trace, in one run.

Ours is the median that criterion found (`cargo bench -p predict --bench ar` has to run before); each peer gets the best of
several runs, so what noise there is speaks for the peers.
"""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import statsforecast.models
from report import machine, print_machine, print_table, save
from river.time_series import SNARIMAX
from statsmodels.tsa.arima.model import ARIMA
from timing import (
    N_AHEAD,
    N_FIT,
    Samples,
    best_seconds,
    criterion_median_seconds,
    read_samples,
    rust_program,
    time_text,
    versions,
)

# Model, its orders, the criterion bench, and the time that the issues which asked for it name.
MODELS = [
    ("AR(16)", (16, 0, 0), "ar16/step_and_30_forecasts", 0.4e-6),
    ("ARMA(8,8)", (8, 0, 8), "arma88/step_and_30_forecasts", 0.6e-6),
]

Orders = tuple[int, int, int]


def main() -> None:
    """Measure, print, save."""
    samples = read_samples()
    rows, figures = [], []
    for model, orders, bench, to_reach in MODELS:
        ours = criterion_median_seconds(bench)
        rows.append([model, "foretop", time_text(ours), "1", f"<= {time_text(to_reach)}"])
        figures.append({"model": model, "who": "foretop", "time_seconds": ours})
        for who, seconds in peers(samples, orders):
            rows.append([model, who, time_text(seconds), f"{seconds / ours:,.1f}", ""])
            figures.append({"model": model, "who": who, "time_seconds": seconds})
    skaters = rust_program("bench-skaters")
    for work, key in [("1 forecast", "step_and_1_forecast_seconds"), ("30 forecasts", "step_and_30_forecasts_seconds")]:
        rows.append(["its own mixture", f"skaters `laplace`, {work}", time_text(skaters[key]), "", ""])
        figures.append({"model": "mixture", "who": f"skaters, {work}", "time_seconds": skaters[key]})
    head = ["model", "who", "time", "ratio to foretop", "to reach"]
    print_table("One more sample, then 30 forecasts with standard errors", head, rows)
    print_machine(machine() | versions())
    save("step_peers", {"steps": figures, "versions": versions()})


def peers(samples: Samples, orders: Orders) -> list[tuple[str, float]]:
    """Return who takes how long for the model of these orders."""
    by_orders = "({},{},{})".format(*orders)
    return [
        ("statsmodels `append`", best_seconds(step_statsmodels(samples, orders, "append"))),
        ("statsmodels `extend`", best_seconds(step_statsmodels(samples, orders, "extend"))),
        (f"statsforecast `ARIMA{by_orders}` forward", best_seconds(step_statsforecast(samples, orders))),
        (f"river `SNARIMAX{by_orders}`, no errors", best_seconds(step_river(samples, orders))),
    ]


def step_statsmodels(samples: Samples, orders: Orders, how: str) -> Callable[[], Any]:
    """Return taking one more sample into a fitted ARIMA without refitting, then means and standard errors."""
    with warnings.catch_warnings():
        # Whether the optimizer converged does not change what a step costs.
        warnings.simplefilter("ignore")
        fitted = ARIMA(samples[:N_FIT], order=orders).fit()
    take = getattr(fitted, how)
    sample = samples[N_FIT : N_FIT + 1]

    def work() -> tuple[Any, Any]:
        ahead = take(sample).get_forecast(N_AHEAD)
        return ahead.predicted_mean, ahead.se_mean

    return work


def step_statsforecast(samples: Samples, orders: Orders) -> Callable[[], Any]:
    """Return filtering the whole series with one more sample, which is how it takes one, then means and intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = statsforecast.models.ARIMA(order=orders, method="CSS").fit(samples[:N_FIT].copy())
    longer = samples[: N_FIT + 1].copy()

    def work() -> Any:  # noqa: ANN401 (a mapping of arrays)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fitted.forward(longer, h=N_AHEAD, level=[95])

    return work


def step_river(samples: Samples, orders: Orders) -> Callable[[], Any]:
    """Return learning one more sample, then means; river has no standard errors."""
    model = SNARIMAX(p=orders[0], d=orders[1], q=orders[2])
    for sample in samples[:N_FIT]:
        model.learn_one(float(sample))
    following = itertools.cycle([float(sample) for sample in samples[N_FIT:]])

    def work() -> list[float]:
        model.learn_one(next(following))
        return model.forecast(horizon=N_AHEAD)

    return work


if __name__ == "__main__":
    main()
