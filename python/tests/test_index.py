"""Forecasts continue the index of the pandas object that was fitted."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import InputError
from numpy.testing import assert_allclose
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


def days(*dates: str) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(dates)


DAILY = pd.date_range("2026-01-01", periods=60)


@pytest.mark.parametrize(
    ("index", "place", "cure"),
    [
        pytest.param(
            days("2026-01-01", "2026-01-02", "2026-01-04"),
            "position 2, 2026-01-04 00:00:00 follows 2026-01-02 00:00:00, where 2026-01-03 00:00:00 is due",
            "y.asfreq('D')",
            id="a missing day",
        ),
        pytest.param(
            pd.date_range("2026-01-01", periods=9, freq="MS").delete(4), "2026-05-01 00:00:00 is due", "y.asfreq('MS')"
        ),
        pytest.param(
            pd.date_range("2026-01-01", periods=9, freq="ME").delete(4), "2026-05-31 00:00:00 is due", "y.asfreq('ME')"
        ),
        pytest.param(
            pd.date_range("2026-01-01", periods=9, freq="QS").delete(4),
            "2027-01-01 00:00:00 is due",
            "y.asfreq('3MS')",
            id="a missing quarter",
        ),
        pytest.param(
            (pd.date_range("2026-01-01", periods=9, freq="MS") + pd.Timedelta("14D")).delete(4),
            "2026-05-15 00:00:00 is due",
            "y.asfreq(pd.DateOffset(months=1))",
            id="a missing 15th",
        ),
        pytest.param(
            pd.date_range("2026-01-01", periods=20, freq="B").delete(9), "2026-01-14 00:00:00 is due", "y.asfreq('B')"
        ),
        pytest.param(
            pd.date_range("2026-01-04", periods=20, freq="W").delete(9), "2026-03-08 00:00:00 is due", "y.asfreq('7D')"
        ),
        pytest.param(
            pd.date_range("2026-01-01", periods=20, freq="15min").delete(9),
            "2026-01-01 02:15:00 is due",
            "y.asfreq('15min')",
        ),
        pytest.param(
            pd.date_range("2026-03-20", periods=20, freq="D", tz="Europe/Berlin").delete(12),
            "2026-04-01 00:00:00+02:00 is due",
            "y.asfreq('D')",
            id="a missing day in a time zone",
        ),
        pytest.param(
            pd.period_range("2026-01", periods=9, freq="M").delete(4),
            "2026-06 follows 2026-04, where 2026-05 is due",
            "y.reindex(pd.period_range('2026-01', '2026-09', freq='M'))",
            id="a missing period",
        ),
        pytest.param(
            pd.timedelta_range("1h", periods=9, freq="90s").delete(4),
            "0 days 01:06:00 is due",
            "y.reindex(pd.timedelta_range('0 days 01:00:00', '0 days 01:12:00', freq='90s'))",
            id="a missing span",
        ),
        pytest.param(
            pd.Index([5, 10, 15, 25, 30]), "position 3, 25 follows 15, where 20 is due", "y.reindex(range(5, 35, 5))"
        ),
        pytest.param(pd.Index([0, 1, 3, 4]), "3 follows 1, where 2 is due", "y.reindex(range(0, 5, 1))"),
        pytest.param(pd.Index([0.0, 0.5, 1.5, 2.0, 2.5]), "1.5 follows 0.5, where 1.0 is due", "a label for each step"),
    ],
)
def test_a_hole_is_refused_with_the_way_to_make_it_a_gap(index: Any, place: str, cure: str) -> None:
    y = ramp(index)
    with pytest.raises(InputError, match="not evenly spaced: at position") as refusal:
        foretop.fit(y, "LAST")
    assert place in str(refusal.value)
    assert f"make missing rows gaps, as in {cure}" in str(refusal.value) or cure in str(refusal.value)
    if cure.startswith("y."):
        # The advice is good.
        cured = eval(cure, {"pd": pd, "y": y})
        assert foretop.fit(cured, "LAST").n_samples == len(y) and len(cured) == len(y) + 1


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (days("2026-01-03", "2026-01-02", "2026-01-01"), "2026-01-02 00:00:00 comes after 2026-01-03 00:00:00 at"),
        (DAILY[::-1], "earliest first: 2026-02-28 00:00:00 comes after 2026-03-01 00:00:00 at position 1; sort it"),
        (
            days("2026-01-01", "2026-01-01", "2026-01-02"),
            "has 2026-01-01 00:00:00 more than once (again at position 1)",
        ),
        (days("2026-01-01 00:00", "2026-01-01 00:05", "2026-01-01 00:11"), "y.resample('5min').mean()"),
        (pd.Index([3, 1, 2]), "the index is not in order, earliest first: 1 comes after 3 at position 1"),
        (pd.Index([1, 2, 2, 3]), "the index has 2 more than once (again at position 2); keep one"),
        (pd.Index([0.0, 0.5, 1.2, 1.5]), "leave the index out if the samples are evenly spaced, as in y.reset_index("),
        (pd.DatetimeIndex(["2026-01-01", None, "2026-01-03"]), "label 1 of the index is missing (NaT)"),
        (pd.Index(["1/1/2026", "1/2/2026"]), "label 0 of the index is '1/1/2026', text in another form than ISO 8601"),
        (pd.Index(["2026-01-01", "2026-01-02", "Jan 3"]), "label 2 of the index is 'Jan 3', text in another form"),
        (pd.Index(["2026-02-29", "2026-02-30"]), "the labels of the index from '2026-02-29' to '2026-02-30' cannot be"),
    ],
)
def test_what_is_no_order_of_even_steps_is_refused_with_what_to_do(index: Any, message: str) -> None:
    for call in (foretop.fit, foretop.evaluate):
        with pytest.raises(InputError) as refusal:
            call(ramp(index), "LAST")
        assert message in str(refusal.value)


MONTHS = pd.period_range("2023-03", periods=144, freq="M")


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(MONTHS.to_timestamp() + pd.Timedelta("14D"), id="the 15th"),
        pytest.param(MONTHS.to_timestamp() + pd.Timedelta("2D 6h"), id="the 3rd at six"),
        pytest.param(MONTHS.to_timestamp(), id="the first"),
        pytest.param(MONTHS.to_timestamp(how="end").normalize(), id="the last"),
        pytest.param(MONTHS[::3].to_timestamp(), id="quarters"),
        pytest.param(pd.date_range("1980-12-31", periods=48, freq="YE"), id="years"),
        pytest.param(pd.date_range("2023-01-01", periods=144, freq="W-WED"), id="weeks"),
        pytest.param(pd.date_range("2023-01-01", periods=144, freq="BME"), id="last working days"),
        pytest.param(
            pd.date_range("2023-01-01", periods=144, freq="BME") - pd.offsets.BDay(), id="second-last working days"
        ),
        pytest.param(pd.date_range("2023-01-01", periods=48, freq="BMS"), id="first working days"),
        pytest.param(pd.date_range("2023-01-01", periods=48, freq="WOM-3FRI"), id="third Fridays"),
        pytest.param(
            pd.date_range("2023-01-01", periods=48, freq="MS", tz="Europe/Berlin"), id="months in a time zone"
        ),
        pytest.param(
            pd.date_range("2026-03-01", periods=60, freq="D", tz="Europe/Berlin"), id="before the clocks change"
        ),
        pytest.param(pd.date_range("2026-03-20", periods=300, freq="D", tz="Europe/Berlin"), id="over both changes"),
        pytest.param(pd.date_range("2026-10-01", periods=60, freq="D", tz="America/New_York"), id="before the autumn"),
        pytest.param(
            pd.date_range("2026-03-01", periods=6000, freq="h", tz="Europe/Berlin"), id="hours over both changes"
        ),
        pytest.param(pd.Index(np.arange(48) * 5 + 3), id="every fifth number"),
        pytest.param(pd.Index(np.arange(480) / 10), id="tenths"),
        pytest.param(pd.Index(1.75e9 + np.arange(480) / 10), id="tenths of seconds since 1970"),
        pytest.param(
            pd.DatetimeIndex(np.arange("1500", "1548", dtype="M8[Y]").astype("M8[s]")), id="years before 1677"
        ),
        pytest.param(pd.DatetimeIndex(np.arange("2240", "2288", dtype="M8[Y]").astype("M8[s]")), id="years after 2262"),
    ],
)
def test_even_on_the_calendar_is_even(index: Any) -> None:
    bare = pd.Index(index.to_list()) if isinstance(index, pd.DatetimeIndex) and index.unit != "s" else index
    n_known = len(index) * 3 // 4
    model = foretop.fit(ramp(bare[:n_known]), "MEAN")
    for n_stepped in (0, 1, 5):
        model.step(ramp(bare[n_known:])[:n_stepped]) if n_stepped == 1 else model.step([1.0] * n_stepped)
        n_known += n_stepped
        ahead = model.forecast(len(index) - n_known).index
        if isinstance(index, pd.DatetimeIndex):
            assert ahead.to_list() == index[n_known:].to_list()
        else:
            np.testing.assert_allclose(ahead, index[n_known:], rtol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([f"2026-{month:02}-01" for month in range(1, 13)], id="text"),
        pytest.param([f"2026-{month:02}" for month in range(1, 13)], id="text of months"),
        pytest.param([f"2026-{month:02}-01T00:00:00" for month in range(1, 13)], id="text with times"),
        pytest.param([date(2026, month, 1) for month in range(1, 13)], id="dates"),
        pytest.param([datetime(2026, month, 1) for month in range(1, 13)], id="datetimes"),
    ],
)
def test_iso_text_and_dates_are_timestamps(labels: list[Any]) -> None:
    y = ramp(pd.Index(labels, dtype=object))
    model = foretop.fit(y[:9], "LAST")
    assert model.forecast(3).index.to_list() == [pd.Timestamp(2026, month, 1) for month in (10, 11, 12)]
    model.step(y[10:])
    assert model.forecast(1).index[0] == pd.Timestamp("2027-01-01")


def test_iso_text_with_offsets_goes_over_a_change_of_clocks() -> None:
    hours = pd.date_range("2026-10-25", periods=9, freq="h", tz="Europe/Berlin")
    text = pd.Index([hour.isoformat() for hour in hours])
    assert foretop.fit(ramp(text[:6]), "LAST").forecast(3).index.to_list() == hours[6:].to_list()


@pytest.mark.parametrize("freq", ["h", "30min", "5min"])
def test_an_hour_that_comes_twice_is_the_end_of_summer_time(freq: str) -> None:
    zone = "Europe/Berlin"
    y = ramp(pd.date_range("2026-10-24", periods=700, freq=freq, tz=zone)).tz_localize(None)
    with pytest.raises(
        InputError, match="2026-10-25 02:00:00 comes twice .*, as at the end of summer time; say"
    ) as refusal:
        foretop.fit(y, "LAST")
    cure = f"y.tz_localize('{zone}', ambiguous='infer')"
    assert cure in str(refusal.value)
    assert foretop.fit(eval(cure), "LAST").n_samples == 700
    frame = pd.DataFrame({"unique_id": "web", "ds": y.index, "y": y.to_numpy()})
    with pytest.raises(InputError, match="'web' has 2026-10-25 02:00:00 twice, as at the end of summer time"):
        foretop.Fleet(frame, "LAST")


def test_labels_beyond_the_unit_of_an_index_are_refused_with_its_range() -> None:
    y = ramp(pd.date_range("2262-04-01", periods=9, unit="ns"))
    assert foretop.fit(y, "LAST").forecast(2).index[-1] == pd.Timestamp("2262-04-11")
    with pytest.raises(
        InputError, match=r"datetime64\[ns\] holds, 1677-09-21 to 2262-04-11; .*y\.index\.as_unit\('s'\)"
    ):
        foretop.fit(y, "LAST").forecast(9).index  # noqa: B018
    wider = y.set_axis(pd.DatetimeIndex(y.index).as_unit("s"))
    assert str(foretop.fit(wider, "LAST").forecast(9).index[-1]) == "2262-04-18 00:00:00"


HOURS = pd.date_range("2026-01-01", periods=240, freq="h")
HOURLY = pd.Series(np.sin(np.arange(240) * np.pi / 12), HOURS)


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(HOURLY, id="hours"),
        pytest.param(HOURLY.tz_localize("UTC").tz_convert("Europe/Berlin"), id="in a time zone"),
        pytest.param(HOURLY.set_axis(HOURS.strftime("%Y-%m-%d %H:%M")), id="text"),
        pytest.param(HOURLY.to_period("h"), id="periods"),
        pytest.param(HOURLY.reset_index(drop=True), id="positions"),
        pytest.param(HOURLY.set_axis(np.arange(240) * 5), id="every fifth number"),
        pytest.param(HOURLY.set_axis(np.arange(240) / 10), id="tenths"),
        pytest.param(HOURLY.set_axis(pd.RangeIndex(240, 0, -1)), id="backwards"),
        pytest.param(
            HOURLY.set_axis(pd.date_range("2000-01-15", periods=240, freq=pd.DateOffset(months=1))), id="15ths"
        ),
        pytest.param(HOURLY.set_axis(pd.date_range("2026-01-01", periods=240, freq="B")), id="working days"),
    ],
)
def test_a_step_goes_where_its_labels_are(y: Any) -> None:
    through, with_hole = (foretop.fit(y[:200], "SEASONAL(24)") for _ in range(2))
    through.step([*[None] * 12, *y[212:220]])
    with_hole.step(y[212:220])
    ahead = with_hole.forecast(20)
    assert ahead.index.to_list() == through.forecast(20).index.to_list()
    assert_allclose(ahead.mean, through.forecast(20).mean, rtol=1e-12)
    # The hole costs accuracy, and no phase.
    assert np.corrcoef(ahead.mean, HOURLY.iloc[220:])[0, 1] > 0.95
    position = with_hole.predictor()
    position.step(y[200:220].to_frame())
    assert position.forecast(20).index.to_list() == ahead.index.to_list()


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (
            HOURLY[190:200],
            "2026-01-08 22:00:00 has been seen: the series has samples up to 2026-01-09 07:00:00, and the next",
        ),
        (HOURLY[190:220], "leave out the others, as in y[y.index > '2026-01-09 07:00:00']"),
        (HOURLY[200:220][::-1], "is not in order, earliest first: 2026-01-10 02:00:00 comes after 2026-01-10 03:00:00"),
        (
            HOURLY[200:220:2],
            "are 2 steps of the series apart, which continues 2026-01-09 08:00:00, 2026-01-09 09:00:00",
        ),
        (HOURLY[200:206].resample("30min").ffill(), "2026-01-09 08:30:00 (at position 1) is none of the labels"),
        (pd.concat([HOURLY[200:202], HOURLY[201:203]]), "has 2026-01-09 09:00:00 more than once (again at position 2)"),
        (
            HOURLY[200:202].tz_localize("UTC"),
            "are timestamps in a time zone, and those of the series timestamps without",
        ),
        (HOURLY[200:202].to_period("h"), "are periods of h, and those of the series timestamps without a time zone"),
        (
            pd.Series([1.0, 2.0], [200, 201]),
            "the labels from 200 to 201 are numbers, and those of the series timestamps",
        ),
        (pd.Series([1.0, 2.0], ["a", "b"]), "the labels from a to b are of the type"),
        (pd.Series([1.0], ["1/9/2026"]), "label 0 of the index is '1/9/2026', text in another form than ISO 8601"),
        (pd.Series([1.0], pd.DatetimeIndex(["2199-01-01"])), "leaves out more than 1,000,000 samples"),
    ],
)
def test_a_step_that_does_not_continue_the_index_is_refused_and_changes_nothing(samples: Any, message: str) -> None:
    model = foretop.fit(HOURLY[:200], "LAST")
    with pytest.raises(InputError) as refusal:
        model.step(samples)
    assert message in str(refusal.value)
    assert model.forecast(1).index[0] == HOURLY.index[200]


def test_what_has_no_index_is_the_next_samples() -> None:
    model = foretop.fit(HOURLY[:200], "LAST")
    for samples in (HOURLY.to_numpy()[200:202], [1.0, 2.0], pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0], [0, 1])):
        model.step(samples)
    assert model.forecast(1).index[0] == HOURLY.index[208]
    unlabelled = foretop.fit(HOURLY.to_numpy()[:200], "LAST")
    unlabelled.step(HOURLY[212:220])
    assert unlabelled.forecast(1).index[0] == 208


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
