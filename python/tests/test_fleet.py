"""A fleet says what single predictors say."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import Fleet, FleetForecast, RestoreError
from numpy.testing import assert_array_equal
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
# Stretches of one trace, and one series that no AR can be fitted to.
ROWS = np.array([TRACE[begin : begin + 300] for begin in range(0, 900, 100)] + [np.full(300, 7.0)])
CONSTANT = len(ROWS) - 1
NEXT = np.linspace(20.0, 80.0, len(ROWS))


def assert_same(one: FleetForecast, other: FleetForecast) -> None:
    assert_array_equal(one.mean, other.mean)
    assert_array_equal(one.standard_error, other.standard_error)
    assert_array_equal(one.index, other.index)


@pytest.mark.parametrize("spec", ["MEAN", "BM(8)", "AR(4)", "ARMA(2,1)", "REFIT(AR(2),every=3,window=99)"])
def test_each_series_is_that_of_its_own_predictor(spec: str) -> None:
    fleet = Fleet(ROWS[:CONSTANT], spec)
    singles = [foretop.fit(samples, spec).predictor() for samples in ROWS[:CONSTANT]]
    for shift in range(5):
        fleet.step(NEXT[:CONSTANT] + shift)
        for single, sample in zip(singles, NEXT, strict=False):
            single.step(sample + shift)
    ahead = fleet.forecast(70)
    assert ahead.mean.shape == ahead.standard_error.shape == (CONSTANT, 70)
    for idx, single in enumerate(singles):
        alone = single.forecast(70)
        assert_array_equal(ahead.mean[idx], alone.mean)
        assert_array_equal(ahead.standard_error[idx], alone.standard_error)
        assert_array_equal(fleet.predictor(idx).forecast(70).mean, alone.mean)
        assert_array_equal(ahead.index, alone.index)
        assert_array_equal(ahead.interval(0.8)[1][idx], alone.interval(0.8)[1])


def test_a_series_that_cannot_be_fitted_keeps_its_place() -> None:
    fleet = Fleet(ROWS, "AR(4)")
    assert list(fleet.failures) == [CONSTANT]
    assert fleet.failures[CONSTANT].kind == "Constant"
    assert len(fleet) == len(ROWS)
    ahead = fleet.forecast(5)
    assert np.isnan(ahead.mean[CONSTANT]).all() and not np.isnan(ahead.mean[:CONSTANT]).any()
    with pytest.raises(foretop.FitError, match="constant series"):
        fleet.predictor(CONSTANT)


def test_a_refit_gives_a_series_its_model() -> None:
    fleet = Fleet(ROWS, "AR(4)")
    with pytest.raises(foretop.FitError):
        fleet.refit(CONSTANT, [1.0] * 50)
    fleet.refit(CONSTANT, ROWS[0])
    assert fleet.failures == {}
    assert_array_equal(fleet.forecast(9).mean[CONSTANT], fleet.forecast(9).mean[0])


def test_columns_of_a_frame_are_series_and_its_index_goes_on() -> None:
    index = pd.date_range("2026-01-01", periods=310, freq="s")
    fleet = Fleet(pd.DataFrame(ROWS.T, index[:300]), "AR(4)")
    assert_array_equal(fleet.forecast(9).mean, Fleet(ROWS, "AR(4)").forecast(9).mean)
    fleet.step(pd.Series(NEXT))
    assert fleet.forecast(9).index.equals(index[301:])
    assert fleet.predictor(0).forecast(9).index.equals(index[301:])


@pytest.mark.parametrize("same", [ROWS.tolist(), np.asfortranarray(ROWS), np.repeat(ROWS, 2, axis=0)[::2]])
def test_the_same_table_makes_the_same_fleet(same: Any) -> None:
    assert_same(Fleet(same, "AR(4)").forecast(5), Fleet(ROWS, "AR(4)").forecast(5))


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda fleet: pickle.loads(pickle.dumps(fleet))])
@pytest.mark.parametrize("spec", ["LAST", "AR(4)", "ARMA(2,1)", "REFIT(AR(2),every=3,window=99)"])
def test_a_twin_goes_on_alike_and_its_own_way(spec: str, twin_of: Callable[[Fleet], Fleet]) -> None:
    fleet = Fleet(ROWS, spec)
    fleet.step(NEXT)
    twin = twin_of(fleet)
    assert_same(twin.forecast(9), fleet.forecast(9))
    for moving in (fleet, twin):
        moving.step(NEXT[::-1])
        moving.step(NEXT)
    assert_same(twin.forecast(9), fleet.forecast(9))
    assert {idx: str(error) for idx, error in twin.failures.items()} == {
        idx: str(error) for idx, error in fleet.failures.items()
    }
    twin.step(NEXT)
    assert twin.forecast(1).index[0] == fleet.forecast(1).index[0] + 1


@pytest.mark.parametrize("spec", ["AR(4)", "AUTO"])
def test_a_forecast_survives_a_pickle(spec: str) -> None:
    ahead = Fleet(ROWS, spec).forecast(9)
    twin = pickle.loads(pickle.dumps(ahead))
    assert_same(twin, ahead)
    assert_array_equal(twin.interval(0.97), ahead.interval(0.97))


def test_a_fleet_of_nothing_takes_nothing() -> None:
    fleet = Fleet(np.empty((0, 10)), "AR(4)")
    fleet.step([])
    assert fleet.forecast(3).mean.shape == (0, 3)
    assert Fleet(ROWS, "AR(4)").forecast(0).mean.shape == (len(ROWS), 0)


def test_a_step_of_another_length_is_refused() -> None:
    fleet = Fleet(ROWS, "AR(4)")
    before = fleet.forecast(3)
    with pytest.raises(foretop.InputError, match="^3 samples do not make a step of 10 series; give one for each$"):
        fleet.step([1.0, 2.0, 3.0])
    assert_same(fleet.forecast(3), before)


def test_what_is_no_table_or_not_there_is_refused() -> None:
    with pytest.raises(foretop.InputError, match="a table with a row for each series"):
        Fleet(ROWS[0], "AR(4)")
    with pytest.raises(foretop.InputError, match="uneven shape"):
        Fleet([[1.0, 2.0], [1.0]], "LAST")
    with pytest.raises(foretop.SpecError):
        Fleet(ROWS, "AR")
    with pytest.raises(IndexError, match="there is no series 10 among 10"):
        Fleet(ROWS, "AR(4)").predictor(10)


def test_parts_that_do_not_go_together_are_refused() -> None:
    remake, (mean, error, rows, *rest) = Fleet(ROWS, "AUTO").forecast(9).__reduce__()
    for parts in (
        (mean[1:], error, rows),
        (mean, error[:, 1:], rows),
        (mean[:, :8], error[:, :8], rows),
        (mean[1:], error[1:], rows),
    ):
        with pytest.raises(RestoreError, match="saved fleet forecast of .* is damaged: its parts differ"):
            remake(*parts, *rest)
    with pytest.raises(RestoreError, match="differ in their numbers"):
        remake(mean, error, rows, rest[0], ["one", "two"], None)
    remake, (_, saved, n_past, failures, axis, (_, bounds)) = Fleet(ROWS, "AR(4)").__reduce__()
    with pytest.raises(RestoreError, match="not all of its series are of its model"):
        remake("AR(2)", saved, n_past, failures, axis, (None, bounds))
    with pytest.raises(RestoreError, match="not as many names as series"):
        remake("AR(4)", saved, n_past, failures, axis, (["one"], bounds))
