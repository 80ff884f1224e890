"""Intervals: learned or normal, at several confidences, and inside bounds."""

import pickle
from typing import Literal

import foretop
import numpy as np
import pytest
from foretop import Forecast, InputError, RestoreError
from numpy.testing import assert_allclose, assert_array_equal
from reference import read_named, read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
LEVELS = [0.5, 0.8, 0.95]
# Errors that are not normal: few of them, and large.
BURSTS = np.where(np.random.default_rng(3).random(1200) < 0.05, 30.0, 1.0) + np.random.default_rng(4).normal(size=1200)


def reach(forecast: Forecast, confidence: float) -> np.ndarray:
    """Return how far intervals reach from the mean, in standard errors: below, then above."""
    lower, upper = forecast.interval(confidence)
    return np.array([forecast.mean - lower, upper - forecast.mean]) / forecast.standard_error


def test_several_confidences_are_rows() -> None:
    forecast = foretop.fit(TRACE[:600], "AR(4)").forecast(12)
    lower, upper = forecast.interval(LEVELS)
    assert lower.shape == upper.shape == (3, 12)
    for row, confidence in enumerate(LEVELS):
        assert_array_equal((lower[row], upper[row]), forecast.interval(confidence))
    assert_array_equal(forecast.interval(np.array(LEVELS)), (lower, upper))


def test_a_frame_has_columns_for_each_confidence() -> None:
    forecast = foretop.fit(TRACE[:600], "AR(4)").forecast(12)
    frame = forecast.to_frame(confidence=[0.8, 0.975])
    assert frame.columns.to_list() == ["mean", "standard_error", "lower_80", "upper_80", "lower_97.5", "upper_97.5"]
    assert_array_equal(frame["upper_97.5"], forecast.interval(0.975)[1])


def test_one_confidence_that_is_none_is_refused() -> None:
    with pytest.raises(foretop.ConfidenceError, match=r"confidence 95 is not strictly between 0 and 1"):
        foretop.fit(TRACE[:600], "AR(4)").forecast(12).interval([0.8, 95])


def test_those_of_auto_are_learned() -> None:
    model = foretop.fit(BURSTS)
    forecast = model.forecast(8)
    assert (model.spec, model.intervals, forecast.intervals) == ("AUTO", "adaptive", "adaptive")
    # Of bursts, far more than half are close to the rest, and nothing is far below.
    assert reach(forecast, 0.5).max() < 0.5
    normal = foretop.fit(BURSTS, intervals="normal").forecast(8)
    assert_array_equal(normal.mean, forecast.mean)
    assert_allclose(reach(normal, 0.5), 0.6744897501960817, rtol=1e-9)


def test_learned_intervals_are_those_that_are_scored() -> None:
    table = foretop.evaluate(TRACE[:400], "AUTO", horizon=8, n_fit=300)
    predictor = foretop.fit(TRACE[:300]).predictor()
    inside = np.zeros((3, 8))
    for origin in range(300, 400):
        lower, upper = predictor.forecast(8).interval(LEVELS)
        coming = TRACE[origin : min(origin + 8, 400)]
        n = len(coming)
        inside[:, :n] += (lower[:, :n] <= coming) & (coming <= upper[:, :n])
        predictor.step(TRACE[origin])
    for row, name in enumerate(["coverage_50", "coverage_80", "coverage_95"]):
        assert_allclose(inside[row], table[name] * table["n"], rtol=1e-9)


@pytest.mark.parametrize("intervals", ["adaptive", "empirical"])
def test_any_model_can_learn_its_intervals(intervals: Literal["adaptive", "empirical"]) -> None:
    plain, learned = foretop.fit(BURSTS, "AR(2)"), foretop.fit(BURSTS, "AR(2)", intervals=intervals)
    # The same fit in the end, which goes on as a REFIT.
    assert learned.spec == "REFIT(AR(2),every=600,window=1200)"
    assert_array_equal(learned.ar, plain.ar)
    forecast, of_plain = learned.forecast(8), plain.forecast(8)
    assert_array_equal(forecast.mean, of_plain.mean)
    assert_array_equal(forecast.standard_error, of_plain.standard_error)
    assert_array_equal(forecast.index, of_plain.index)
    assert (plain.intervals, learned.intervals) == ("normal", intervals)
    assert reach(forecast, 0.5).max() < 0.5 < reach(of_plain, 0.5).min()


def test_gaps_and_short_series_learn_what_there_is_to_learn() -> None:
    begun_late = np.concatenate([np.full(600, np.nan), TRACE[:300]])
    assert foretop.fit(begun_late, "AR(4)", intervals="empirical").n_samples == 300
    # As many samples as the fit needs: nothing is left to learn from.
    model = foretop.fit(TRACE[:33], "AR(16)", intervals="empirical")
    assert (model.spec, model.intervals) == ("AR(16)", "empirical")
    assert_allclose(reach(model.forecast(3), 0.8), 1.2815515655446004, rtol=1e-9)


def test_a_refit_learns_as_it_is() -> None:
    spec = "REFIT(AR(4),every=50,window=200)"
    model = foretop.fit(TRACE[:600], spec, intervals="adaptive")
    assert (model.spec, model.intervals) == (spec, "adaptive")


def test_learned_intervals_survive_a_pickle() -> None:
    forecast = foretop.fit(BURSTS).forecast(40)
    twin = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(forecast))))
    assert twin.intervals == "adaptive"
    assert_array_equal(twin.standard_error, forecast.standard_error)
    for confidence in (0.3, 0.5, 0.85, 0.95, 0.999):
        assert_array_equal(twin.interval(confidence), forecast.interval(confidence))


def test_a_damaged_pickle_is_refused() -> None:
    forecast = foretop.fit(TRACE[:600], "AR(4)").forecast(12)
    remake, (said, *rest) = forecast.__reduce__()
    with pytest.raises(RestoreError, match="saved forecast of 5 bytes is damaged: it is cut off or its fields do not"):
        remake(said[:5], *rest)
    # A list is written as its length and its elements: twelve means, twelve standard errors.
    with pytest.raises(RestoreError, match="its fields do not decode"):
        remake(bytes([11]) + said[1:89] + said[97:], *rest)
    remake, (*parts, samples) = foretop.fit(TRACE[:600], "AR(4)").__reduce__()
    with pytest.raises(RestoreError, match="not as many samples as it was fitted to"):
        remake(*parts, samples[1:])


def test_a_model_goes_on_learning_after_a_pickle() -> None:
    model = foretop.fit(BURSTS[:900])
    twin = pickle.loads(pickle.dumps(model))
    for moving in (model, twin):
        moving.step(BURSTS[900:])
    assert_array_equal(twin.forecast(9).interval(0.8), model.forecast(9).interval(0.8))


def test_nothing_is_outside_of_the_bounds() -> None:
    model = foretop.fit(TRACE[:600], "AR(16)", bounds=(40.0, 50.0))
    forecast = model.forecast(30)
    lower, upper = forecast.interval(LEVELS)
    for values in (forecast.mean, lower, upper):
        assert values.min() >= 40.0 and values.max() <= 50.0
    free = foretop.fit(TRACE[:600], "AR(16)").forecast(30)
    assert free.mean.min() < 40.0 or free.interval(0.95)[0].min() < 40.0
    assert (lower <= forecast.mean).all() and (forecast.mean <= upper).all()


def test_one_end_is_enough() -> None:
    nile = read_named("nile") - 900.0
    assert (foretop.fit(nile, "AR(2)").forecast(5).interval(0.95)[0] < 0.0).any()
    for model in (foretop.fit(nile, "AR(2)", non_negative=True), foretop.fit(nile, "AR(2)", bounds=(0.0, None))):
        assert model.forecast(5).interval(0.95)[0].min() == 0.0
    both = foretop.fit(nile, "AR(2)", bounds=(None, 10.0), non_negative=True)
    assert_array_equal(both.forecast(1).interval(0.999999), [[0.0], [10.0]])


def test_bounds_go_where_the_model_goes() -> None:
    model = foretop.fit(TRACE[:600], "AR(16)", bounds=(40.0, 41.0))
    predictor = model.predictor()
    predictor.step(TRACE[600:610])
    for moving in (predictor, predictor.copy(), predictor.model, pickle.loads(pickle.dumps(predictor))):
        forecast = pickle.loads(pickle.dumps(moving.forecast(5)))
        assert forecast.interval(0.999)[1].max() <= 41.0


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan)])
def test_bounds_with_nothing_between_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="they must be a lower and an upper one, None where there is none"):
        foretop.fit(TRACE[:600], "AR(4)", bounds=bounds)


def test_bounds_below_zero_of_what_is_not_negative_are_refused() -> None:
    with pytest.raises(InputError, match=r"the bounds are \(0\.0, -1\.0\)"):
        foretop.fit(TRACE[:600], "AR(4)", bounds=(None, -1.0), non_negative=True)


def test_intervals_of_another_kind_are_refused() -> None:
    with pytest.raises(InputError, match="^the intervals are `gaussian`; they must be adaptive, empirical or normal$"):
        foretop.fit(TRACE[:600], "AR(4)", intervals="gaussian")  # type: ignore[arg-type]
