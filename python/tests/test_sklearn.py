"""The forecaster for scikit-learn, by scikit-learn's own checks and in its tools."""

import foretop
import numpy as np
import pytest
from foretop.sklearn import Forecaster
from numpy.testing import assert_array_equal
from reference import read_named, read_trace
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

NILE = read_named("nile")
ROWS = np.arange(100).reshape(-1, 1)

# What regressors of rows without an order can promise, and a forecaster cannot.
ORDERED = "rows of predict are steps one after the other"
EXPECTED = {"check_methods_sample_order_invariance": ORDERED, "check_methods_subset_invariance": ORDERED}


@pytest.mark.parametrize("spec", ["AUTO", "AR(1)"])
def test_it_passes_the_checks_of_scikit_learn(spec: str) -> None:
    outcomes = check_estimator(Forecaster(spec), expected_failed_checks=EXPECTED, on_skip=None)
    statuses = [outcome["status"] for outcome in outcomes]
    assert statuses.count("passed") > 40 and statuses.count("xfail") == 2


def test_rows_are_steps_after_the_fit() -> None:
    forecaster = Forecaster("AR(2)", bounds=(0, None)).fit(ROWS, NILE)
    forecast = foretop.fit(NILE, "AR(2)").forecast(7)
    assert_array_equal(forecaster.predict(ROWS[:7]), forecast.mean)
    assert_array_equal(forecaster.predict_interval(ROWS[:7], confidence=0.8).T, forecast.interval(0.8))


def test_a_gap_is_taken_and_an_infinite_sample_is_not() -> None:
    gappy = NILE.copy()
    gappy[7] = np.nan
    assert Forecaster("AR(2)").fit(ROWS, gappy).model_.n_samples == 99
    gappy[7] = np.inf
    with pytest.raises(ValueError, match="Input y contains infinity"):
        Forecaster("AR(2)").fit(ROWS, gappy)


def test_a_grid_search_finds_the_model() -> None:
    trace = read_trace("ec2_cpu_utilization_5f5533")[:1000]
    specs = ["MEAN", "LAST", "AR(16)"]
    folds = TimeSeriesSplit(10, test_size=3)
    search = GridSearchCV(Forecaster(), {"spec": specs}, cv=folds, scoring="neg_mean_squared_error")
    search.fit(np.zeros((1000, 1)), trace)
    squares = [
        np.mean((foretop.fit(trace[known], spec).forecast(3).mean - trace[coming]) ** 2)
        for spec in specs
        for known, coming in folds.split(trace)
    ]
    np.testing.assert_allclose(-search.cv_results_["mean_test_score"], np.reshape(squares, (3, 10)).mean(axis=1))


def test_it_stands_at_the_end_of_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), Forecaster("AR(2)")).fit(ROWS, NILE)
    assert_array_equal(pipeline.predict(ROWS[:3]), foretop.fit(NILE, "AR(2)").forecast(3).mean)
