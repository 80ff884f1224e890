"""Writes what statsmodels finds by exponential smoothing, for crates/predict/tests/it/ets.rs and src/model/ets.rs.

Made with statsmodels 0.15.0; run in this folder: python reference.py
`fitted` rows are of a search for the greatest likelihood: the sum of squared errors and where it was found. `fixed` rows
are of parameters that are given: the sum of squared errors, and means and variances of leads 1 to 30.
"""

import csv
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.tsa.exponential_smoothing.ets import ETSModel

LETTERS = {"N": (None, False), "A": ("add", False), "Ad": ("add", True)}
NAMES = ("alpha", "beta", "phi")


def read(path: str) -> np.ndarray:
    rows = Path(path).read_text().splitlines()[1:]
    return np.array([float(row.rsplit(",", 1)[-1]) for row in rows])


def model(values: np.ndarray, letter: str) -> ETSModel:
    trend, damped = LETTERS[letter]
    return ETSModel(pd.Series(values), error="add", trend=trend, damped_trend=damped)


SERIES = {name: read(f"../ar/{name}.csv") for name in ("lh", "lake_huron", "nile", "sunspots")}
SERIES["ec2_first_600"] = read("../../nab/ec2_cpu_utilization_5f5533.csv")[:600]
FIXED = {
    "N": [[0.25, 900.0], [0.9, 1100.0]],
    "A": [[0.25, 0.1, 1000.0, -3.0], [0.8, 0.05, 1100.0, 2.0]],
    "Ad": [[0.25, 0.1, 0.9, 1000.0, -3.0], [0.6, 0.3, 0.8, 1100.0, 20.0]],
}

with Path("reference.csv").open("w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["kind", "series", "trend", "case", "quantity", "idx", "value"])
    for name, values in SERIES.items():
        for letter in LETTERS:
            # From several starts, since one search may end beside the minimum.
            best = None
            for alpha, share in product((0.1, 0.5, 0.9, 0.99), (0.1, 0.9)):
                problem = model(values, letter)
                start = np.array(problem.start_params)
                start[0] = alpha
                if letter != "N":
                    start[1] = alpha * share
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fit = problem.fit(start_params=start, maxiter=5000, disp=False, pgtol=1e-10, factr=10)
                if best is None or fit.sse < best.sse:
                    best = fit
            table.writerow(["fitted", name, letter, 1, "sse", 1, repr(float(best.sse))])
            table.writerow(["fitted", name, letter, 1, "log_likelihood", 1, repr(float(best.llf))])
            for idx in range(list(LETTERS).index(letter) + 1):
                table.writerow(["fitted", name, letter, 1, NAMES[idx], 1, repr(float(best.params.iloc[idx]))])
    for letter, cases in FIXED.items():
        for case, parameters in enumerate(cases, 1):
            values = SERIES["nile"]
            result = model(values, letter).smooth(np.array(parameters))
            n_smoothing = len(parameters) - (1 if letter == "N" else 2)
            states = ("level", "slope")
            for idx, parameter in enumerate(parameters):
                quantity = NAMES[idx] if idx < n_smoothing else states[idx - n_smoothing]
                table.writerow(["fixed", "nile", letter, case, quantity, 1, repr(parameter)])
            table.writerow(["fixed", "nile", letter, case, "sse", 1, repr(float(result.sse))])
            prediction = result.get_prediction(start=len(values), end=len(values) + 29)
            for idx in range(30):
                mean, variance = (
                    np.asarray(prediction.predicted_mean)[idx],
                    np.asarray(prediction.forecast_variance)[idx],
                )
                table.writerow(["fixed", "nile", letter, case, "mean", idx + 1, repr(float(mean))])
                table.writerow(["fixed", "nile", letter, case, "variance", idx + 1, repr(float(variance))])
