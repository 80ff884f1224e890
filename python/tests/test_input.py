"""What is taken for a series, and what is refused."""

import array
from decimal import Decimal
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import InputError
from numpy.testing import assert_array_equal
from reference import read_named

NILE = read_named("nile")


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(NILE.tolist(), id="list"),
        pytest.param(tuple(NILE), id="tuple"),
        pytest.param(array.array("d", NILE), id="array"),
        pytest.param(NILE.astype(np.float32), id="float32"),
        pytest.param(NILE.astype(np.int16), id="int16"),
        pytest.param(NILE.astype(">f8"), id="big endian"),
        pytest.param(np.repeat(NILE, 2)[::2], id="strided"),
        pytest.param(NILE[::-1].copy()[::-1], id="backwards in memory"),
        pytest.param(pd.Series(NILE), id="pandas"),
        pytest.param(pd.Series(NILE, dtype="Float64"), id="pandas, nullable"),
        pytest.param(pd.Series(NILE, dtype="Int32"), id="pandas, nullable whole numbers"),
        pytest.param(pd.Index(NILE), id="pandas, index"),
        pytest.param(pd.DataFrame({"flow": NILE}), id="pandas, one column"),
        pytest.param(NILE.reshape(-1, 1), id="one column"),
        pytest.param(pd.Series(NILE, dtype=object), id="pandas, objects"),
        pytest.param([Decimal(str(sample)) for sample in NILE], id="decimals"),
    ],
)
def test_the_same_numbers_make_the_same_model(same: Any) -> None:
    model, expected = foretop.fit(same, "AR(2)"), foretop.fit(NILE, "AR(2)")
    assert_array_equal(model.ar, expected.ar)
    stepped, expected_stepped = model.predictor(), expected.predictor()
    stepped.step(same)
    expected_stepped.step(NILE)
    assert_array_equal(stepped.forecast(3).mean, expected_stepped.forecast(3).mean)


@pytest.mark.parametrize(
    "gappy",
    [
        pytest.param([1.0, float("nan"), 5.0, 9.0], id="list"),
        pytest.param([1.0, None, 5.0, 9.0], id="list with None"),
        pytest.param([1, pd.NA, 5, Decimal(9)], id="list with pandas' NA"),
        pytest.param(pd.Series([1, None, 5, 9], dtype=object), id="pandas, objects"),
        pytest.param(pd.DataFrame({"y": [1.0, None, 5.0, 9.0]}), id="pandas, one column"),
        pytest.param(np.ma.masked_equal([[1], [99], [5], [9]], 99), id="masked, one column"),
        pytest.param(np.ma.masked_equal([1, 99, 5, 9], 99), id="masked"),
        pytest.param(np.ma.masked_equal([1.0, 99.0, 5.0, 9.0], 99.0), id="masked floats"),
        pytest.param(pd.Series([1, None, 5, 9]), id="pandas"),
        pytest.param(pd.Series([1, None, 5, 9], dtype="Int64"), id="pandas, nullable"),
    ],
)
def test_nan_is_a_gap(gappy: Any) -> None:
    model = foretop.fit(gappy, "MEAN")
    assert (model.mean, model.n_samples) == (5.0, 3)


def test_a_gap_in_a_step_postpones_the_forecast() -> None:
    model = foretop.fit(NILE, "AR(2)")
    before = model.forecast(6)
    model.step(float("nan"))
    after = model.forecast(5)
    np.testing.assert_allclose(after.mean, before.mean[1:], rtol=1e-12)
    assert_array_equal(after.standard_error, before.standard_error[1:])
    assert after.index[0] == 101


@pytest.mark.parametrize(
    ("strange", "message"),
    [
        ([1.0, None, "2.0"], "of type object (sample 2 is '2.0'); they must be numbers, with NaN or None for a gap"),
        ([1.0, "x"], "of type <U32; they must be numbers, with NaN or None for a gap, as pandas.to_numeric(y, "),
        (np.array([None, True]), "of type object (sample 1 is True)"),
        (np.ones(9, dtype=complex), "of type complex128; they must be numbers"),
        (
            np.ones(9, dtype=bool),
            "of type bool; they must be numbers, with NaN or None for a gap, as y.astype(float) makes",
        ),
        (np.ones(9, dtype="M8[s]"), "of type datetime64[s]; they must be numbers"),
        (pd.Series(["a"], dtype="string"), "of type object (sample 0 is 'a')"),
        (
            np.ones((3, 3)),
            "have the shape (3, 3); they must be a row of numbers (pass one column, as in table['load']",
        ),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), "have the shape (1, 2); they must be a row of numbers (pass one"),
        (1.0, "have the shape (); they must be a row of numbers (one sample is no series)"),
        ([[1.0], [1.0, 2.0]], "of uneven shape"),
    ],
    ids=repr,
)
def test_what_is_no_row_of_numbers_is_refused(strange: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        foretop.fit(strange, "MEAN")
    assert message in str(refusal.value)


@pytest.mark.parametrize("one", [5, 5.0, np.float64(5), np.float32(5), np.int8(5), np.array(5.0)], ids=repr)
def test_a_single_number_is_a_step(one: Any) -> None:
    model = foretop.fit(NILE, "LAST")
    model.step(one)
    forecast = model.forecast(1)
    assert (forecast.mean[0], forecast.index[0]) == (5.0, 101)


def test_the_index_of_one_column_goes_on() -> None:
    frame = pd.DataFrame({"flow": NILE}, pd.date_range("2026-01-01", periods=100, freq="h"))
    assert foretop.fit(frame, "AR(2)").forecast(1).index[0] == pd.Timestamp("2026-01-05 04:00")


@pytest.mark.parametrize("strange", ["5", "a", b"5", [[1.0, 2.0]], True, np.inf, [1.0, -np.inf]], ids=repr)
def test_a_step_of_no_number_is_refused_and_changes_nothing(strange: Any) -> None:
    model = foretop.fit(NILE, "LAST")
    with pytest.raises(InputError):
        model.step(strange)
    assert model.forecast(1).index[0] == 100


def test_none_is_a_gap() -> None:
    model = foretop.fit(NILE, "LAST")
    model.step(None)
    model.step([None, float("nan")])
    assert (model.forecast(1).index[0], model.forecast(1).mean[0]) == (103, NILE[-1])


def test_an_empty_row_is_no_step() -> None:
    model = foretop.fit(NILE, "LAST")
    model.step([])
    assert model.forecast(1).index[0] == 100
