"""Forecasts continue the index of the pandas object that was fitted."""

from __future__ import annotations

from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import InputError
from reference import TESTDATA

INDEXES = [
    pytest.param(pd.date_range("2014-02-14 14:30", periods=40, freq="5min"), id="minutes"),
    pytest.param(pd.date_range("2026-01-31", periods=40, freq="ME", name="month"), id="months"),
    pytest.param(pd.date_range("2026-01-01", periods=40, freq="B"), id="working days"),
    pytest.param(
        pd.date_range("2026-10-24", periods=40, freq="h", tz="Europe/Berlin"), id="through a change of clocks"
    ),
    pytest.param(pd.date_range("2026-10-01", periods=40, freq="D", tz="Europe/Berlin"), id="days, one of 25 hours"),
    pytest.param(pd.date_range("2026-01-01", periods=40, freq="D", unit="s"), id="in whole seconds"),
    pytest.param(pd.timedelta_range("1h", periods=40, freq="90s"), id="spans"),
    pytest.param(pd.period_range("2026-01", periods=40, freq="M", name="month"), id="periods"),
    pytest.param(pd.RangeIndex(40), id="range"),
    pytest.param(pd.RangeIndex(100, 180, 2, name="second"), id="range of every second"),
    pytest.param(pd.RangeIndex(80, 0, -2), id="range backwards"),
]


def ramp(index: pd.Index[Any]) -> pd.Series[float]:
    return pd.Series(np.arange(len(index)) % 7.0, index)


@pytest.mark.parametrize("index", INDEXES)
def test_the_index_goes_on_where_it_ended(index: pd.Index[Any]) -> None:
    model = foretop.fit(ramp(index[:30]), "MEAN")
    pd.testing.assert_index_equal(model.forecast(10).index, index[30:])
    model.step(1.0)
    model.step([1.0, 2.0])
    pd.testing.assert_index_equal(model.forecast(7).index, index[33:])
    pd.testing.assert_index_equal(model.predictor().forecast(10).index, index[30:])


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_that_forgot_its_frequency_goes_on_as_well(index: pd.Index[Any]) -> None:
    bare = pd.Index(index.to_list()[:30], name=index.name)
    labels = foretop.fit(ramp(bare), "MEAN").forecast(10).index
    assert labels.to_list() == index.to_list()[30:]


def test_without_an_index_positions_count() -> None:
    for y in ([1.0, 2.0, 4.0], pd.Series([1.0, 2.0, 4.0], list("abc"))):
        index = foretop.fit(y, "LAST").forecast(2).index
        assert isinstance(index, np.ndarray)
        assert index.tolist() == [3, 4]


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(pd.DatetimeIndex(["2026-01-01", "2026-01-02", "2026-01-04"]), id="a missing day"),
        pytest.param(pd.DatetimeIndex(["2026-01-03", "2026-01-02", "2026-01-01"]), id="latest first"),
        pytest.param(pd.DatetimeIndex(["2026-01-01"] * 3), id="one moment three times"),
        pytest.param(pd.PeriodIndex(["2026-01", "2026-02", "2026-04"], freq="M"), id="a missing month"),
    ],
)
def test_uneven_moments_are_refused_with_what_to_do(index: Any) -> None:
    with pytest.raises(InputError, match="not evenly spaced, earliest first; sort it, and make missing rows gaps"):
        foretop.fit(pd.Series([1.0, 2.0, 3.0], index), "LAST")


def test_the_table_of_a_forecast_has_its_index() -> None:
    index = pd.date_range("2026-01-01", periods=40, freq="h")
    forecast = foretop.fit(ramp(index), "AR(2)").forecast(5)
    frame = forecast.to_frame(confidence=0.5)
    assert frame.index.equals(forecast.index)
    assert frame.columns.to_list() == ["mean", "standard_error", "lower", "upper"]
    np.testing.assert_array_equal(frame["lower"], forecast.interval(0.5)[0])


def test_a_trace_goes_on_in_time() -> None:
    path = TESTDATA / "nab/ec2_cpu_utilization_5f5533.csv"
    trace = pd.read_csv(path, index_col="timestamp", parse_dates=True)["value"][:600]
    forecast = foretop.fit(trace, "AR(16)").forecast(3)
    assert forecast.index[0] == pd.Timestamp("2014-02-16 16:27")
    np.testing.assert_allclose(forecast.mean[0], 48.98557363142203, rtol=1e-9)
