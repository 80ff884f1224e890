"""Models and predictors in motion: steps, refits, copies, saved states, pickles."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import Forecast, Model, Predictor, RestoreError
from numpy.testing import assert_array_equal
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
REFIT = "REFIT(AR(4),every=50,window=200)"


def assert_same(one: Forecast, other: Forecast) -> None:
    assert_array_equal(one.mean, other.mean)
    assert_array_equal(one.standard_error, other.standard_error)
    assert_array_equal(one.index, other.index)


def assert_goes_on_alike(one: Model | Predictor, other: Model | Predictor) -> None:
    assert_same(one.forecast(70), other.forecast(70))
    for moving in (one, other):
        moving.step(TRACE[:170])
    assert_same(one.forecast(70), other.forecast(70))


def test_a_row_is_stepped_like_its_samples() -> None:
    one, other = (foretop.fit(TRACE[:300], REFIT).predictor() for _ in range(2))
    one.step(TRACE[300:420])
    for sample in TRACE[300:420]:
        other.step(sample)
    assert one.n_refits == other.n_refits == 2
    assert_same(one.forecast(70), other.forecast(70))


def test_a_refit_is_the_fit_of_its_window() -> None:
    predictor = foretop.fit(TRACE[:200], REFIT).predictor()
    predictor.step(TRACE[200:300])
    anew = foretop.fit(TRACE[100:300], "AR(4)")
    assert_array_equal(predictor.model.ar, anew.ar)
    assert_array_equal(predictor.forecast(30).mean, anew.forecast(30).mean)


def test_a_refit_that_fails_is_counted() -> None:
    predictor = foretop.fit(TRACE[:200], "REFIT(AR(2),every=60,window=60)").predictor()
    predictor.step([1.0] * 60)
    assert (predictor.n_refits, predictor.n_failed_refits) == (0, 1)


def test_a_model_describes_its_fit_wherever_it_went() -> None:
    model = foretop.fit(TRACE[:200], REFIT)
    before = model.ar
    model.step(TRACE[200:400])
    assert_array_equal(model.ar, before)
    assert_array_equal(model.predictor().forecast(5).index, [200, 201, 202, 203, 204])


def test_the_model_in_use_stands_where_its_predictor_does() -> None:
    predictor = foretop.fit(TRACE[:200], "AR(4)").predictor()
    predictor.step(TRACE[200:210])
    assert_goes_on_alike(predictor.model, predictor)


def copied(moving: Any) -> Any:
    return copy.copy(moving)


def deeply_copied(moving: Any) -> Any:
    return copy.deepcopy([moving])[0]


def pickled(moving: Any) -> Any:
    return pickle.loads(pickle.dumps(moving))


def saved(moving: Any) -> Any:
    return Predictor.restore(moving.save())


@pytest.mark.parametrize("twin_of", [copied, deeply_copied, pickled])
@pytest.mark.parametrize("spec", ["MEAN", "LAST", "BM(8)", "AR(4)", "ARMA(2,2)", REFIT])
def test_a_twin_goes_on_alike_and_its_own_way(spec: str, twin_of: Callable[[Any], Any]) -> None:
    model = foretop.fit(pd.Series(TRACE[:300], pd.date_range("2026-01-01", periods=300, freq="h")), spec)
    model.step([1.0, 2.0, 3.0])
    for moving in (model, model.predictor()):
        twin = twin_of(moving)
        assert type(twin) is type(moving)
        assert_goes_on_alike(twin, moving)
        twin.step(1e3)
        assert twin.forecast(1).index[0] != moving.forecast(1).index[0]


@pytest.mark.parametrize("twin_of", [copied, deeply_copied, pickled])
def test_the_twin_of_a_model_keeps_what_the_fit_found(twin_of: Callable[[Any], Any]) -> None:
    model = foretop.fit(TRACE[:300], REFIT)
    model.step(TRACE[300:500])
    twin = twin_of(model)
    assert str(twin) == str(model)
    assert_goes_on_alike(twin.predictor(), model.predictor())


def test_a_forecast_survives_a_pickle() -> None:
    forecast = foretop.fit(pd.Series(TRACE[:99], pd.RangeIndex(5, 104)), "AR(4)").forecast(40)
    assert_same(pickled(forecast), forecast)


def test_a_saved_state_goes_on_to_the_same_digits() -> None:
    predictor = foretop.fit(TRACE[:300], REFIT).predictor()
    restored = saved(predictor)
    for moving in (predictor, restored):
        moving.step(TRACE[300:420])
    assert_array_equal(restored.forecast(70).mean, predictor.forecast(70).mean)
    assert restored.n_refits == predictor.n_refits == 2


@pytest.mark.parametrize(
    ("state", "kind", "attribute"),
    [
        (b"", "NotAPredictor", ("n_bytes", 0)),
        (b"FTPS\xff", "UnknownVersion", ("given", 255)),
        (foretop.fit(TRACE[:300], "LAST").predictor().save()[:-1], "Damaged", ("problem",)),
    ],
)
def test_bytes_that_are_no_saved_state_are_refused(state: bytes, kind: str, attribute: tuple[str, object]) -> None:
    with pytest.raises(RestoreError) as refusal:
        Predictor.restore(state)
    assert refusal.value.kind == kind
    assert hasattr(refusal.value, attribute[0])
    assert attribute[1:] in ((), (getattr(refusal.value, attribute[0]),))


def test_arrays_of_a_forecast_are_the_callers() -> None:
    forecast = foretop.fit(TRACE[:300], "AR(4)").forecast(5)
    forecast.mean[:] = 0.0
    assert np.all(forecast.mean != 0.0)
    assert len(forecast) == 5
