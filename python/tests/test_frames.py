"""Many series with names: dictionaries, wide and long frames, in fleets and in campaigns."""

import pickle
from pathlib import Path
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import Fleet, InputError, crossval
from numpy.testing import assert_array_equal
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
INDEX = pd.date_range("2026-01-01", periods=310, freq="h")
WIDE = pd.DataFrame({name: TRACE[first : first + 300] for name, first in [("web", 0), ("db", 500), ("mail", 900)]})
WIDE.index = INDEX[:300]


def melted(wide: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each sample, with the columns that statsforecast wants."""
    return (
        wide.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")[["unique_id", "ds", "y"]]
    )


LONG = melted(WIDE)


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(LONG, id="long"),
        pytest.param(LONG.set_index("unique_id"), id="long, indexed by name"),
        pytest.param(dict(WIDE.items()), id="dictionary of Series"),
    ],
)
def test_the_same_series_make_the_same_fleet(same: Any) -> None:
    fleet, expected = Fleet(same, "AR(4)"), Fleet(WIDE, "AR(4)")
    assert fleet.names == expected.names == ["web", "db", "mail"]
    ahead = fleet.forecast(9)
    assert_array_equal(ahead.mean, expected.forecast(9).mean)
    assert ahead.index.equals(INDEX[300:309])
    assert ahead.names == fleet.names


def test_rows_of_a_long_frame_come_in_any_order() -> None:
    mixed = LONG.sample(frac=1.0, random_state=1)
    ahead = Fleet(mixed, "AR(4)").forecast(3)
    by_name = dict(zip(ahead.names, ahead.mean, strict=True))
    for name, mean in zip(WIDE.columns, Fleet(WIDE, "AR(4)").forecast(3).mean, strict=True):
        assert_array_equal(by_name[name], mean)


def test_rows_that_are_not_there_are_gaps() -> None:
    gappy = WIDE.copy()
    gappy.loc[INDEX[100:110], "db"] = np.nan
    gappy.loc[INDEX[:50], "mail"] = np.nan
    gappy.loc[INDEX[290:300], "web"] = np.nan
    ahead, expected = Fleet(melted(gappy).dropna(), "AR(4)").forecast(9), Fleet(gappy, "AR(4)").forecast(9)
    assert_array_equal(ahead.mean, expected.mean)
    assert ahead.index.equals(INDEX[300:309])


def test_a_moment_that_no_series_has_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match=r"`ds`.* not evenly spaced: .*; make missing rows gaps, as in frame\.pivot"):
        Fleet(LONG[LONG["ds"] != INDEX[7]], "AR(4)")


def test_a_moment_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="the series 'web' has more than one sample at 2026-01-01 00:00:00; keep one"):
        Fleet(pd.concat([LONG, LONG[:1]]), "AR(4)")


def test_shorter_entries_of_a_dictionary_begin_later() -> None:
    fleet = Fleet({"long": TRACE[:300], "short": TRACE[100:300].tolist()}, "AR(4)")
    assert_array_equal(fleet.predictor("short").forecast(5).mean, foretop.fit(TRACE[100:300], "AR(4)").forecast(5).mean)
    assert fleet.forecast(1).index[0] == 300


def test_a_long_table_of_forecasts() -> None:
    ahead = Fleet(LONG, "AR(4)").forecast(5)
    frame = ahead.to_frame(confidence=[0.8, 0.95])
    assert frame.columns.to_list() == [
        *("unique_id", "ds", "mean", "standard_error"),
        *("lower_80", "upper_80", "lower_95", "upper_95"),
    ]
    db = frame[frame["unique_id"] == "db"]
    assert db["ds"].to_list() == INDEX[300:305].to_list()
    assert_array_equal(db["mean"], ahead.mean[1])
    assert_array_equal(db["upper_80"], ahead.interval(0.8)[1][1])
    plain = Fleet(WIDE.to_numpy().T, "AR(4)").forecast(2).to_frame()
    assert plain["unique_id"].to_list() == [0, 0, 1, 1, 2, 2]
    assert plain["ds"].to_list() == [300, 301] * 3


def test_columns_of_a_polars_frame_are_series() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"web": TRACE[:300], "db": [None, *TRACE[501:800]]})
    fleet, expected = Fleet(frame, "AR(4)"), Fleet({name: frame[name].to_numpy() for name in frame.columns}, "AR(4)")
    assert fleet.names == ["web", "db"]
    assert_array_equal(fleet.forecast(9).mean, expected.forecast(9).mean)
    fleet.step(polars.DataFrame({"db": [3, 4], "web": [1.5, None]}))
    for step in [[1.5, 3.0], [np.nan, 4.0]]:
        expected.step(step)
    assert_array_equal(fleet.forecast(9).mean, expected.forecast(9).mean)
    one = foretop.fit(frame["web"], "AR(4)").forecast(9)
    assert_array_equal(one.mean, foretop.fit(TRACE[:300], "AR(4)").forecast(9).mean)
    with pytest.raises(InputError, match="there is no series 'disk' among 2"):
        fleet.step(polars.DataFrame({"disk": [1.0]}))


def test_a_column_of_a_polars_frame_without_numbers_is_refused_with_what_to_do() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"at": INDEX[:300].to_numpy(), "web": TRACE[:300]})
    with pytest.raises(InputError, match=r"`at` .* Datetime.*frame\.drop\('at'\), or .*\.to_pandas\(\)\.set_index"):
        Fleet(frame, "AR(4)")
    long = polars.DataFrame({name: LONG[name].to_numpy() for name in LONG})
    with pytest.raises(InputError, match=r"pass a long frame as frame\.to_pandas\(\)"):
        Fleet(long, "AR(4)")


def test_series_are_met_by_name_or_position() -> None:
    fleet = Fleet(WIDE, "AR(4)")
    assert_array_equal(fleet.predictor("db").forecast(3).mean, fleet.predictor(1).forecast(3).mean)
    with pytest.raises(KeyError, match="there is no series 'disk' among 3"):
        fleet.predictor("disk")
    with pytest.raises(IndexError, match="there is no series 3 among 3"):
        fleet.predictor(3)


def test_a_name_goes_before_a_position() -> None:
    fleet = Fleet({1: TRACE[:300], 0: TRACE[500:800]}, "AR(4)")
    assert_array_equal(fleet.predictor(1).forecast(3).mean, foretop.fit(TRACE[:300], "AR(4)").forecast(3).mean)


def test_failures_and_refits_go_by_name() -> None:
    fleet = Fleet({"web": TRACE[:300], "still": [7.0] * 300}, "AR(4)")
    assert list(fleet.failures) == ["still"]
    fleet.refit("still", TRACE[:300])
    assert fleet.failures == {}


@pytest.mark.parametrize("step", [{"mail": 3.0, "web": 1.0}, pd.Series({"mail": 3.0, "web": 1.0})])
def test_a_step_by_name_leaves_gaps(step: Any) -> None:
    fleet, expected = Fleet(WIDE, "AR(4)"), Fleet(WIDE, "AR(4)")
    fleet.step(step)
    expected.step([1.0, np.nan, 3.0])
    assert_array_equal(fleet.forecast(3).mean, expected.forecast(3).mean)


def test_a_step_of_a_stranger_is_refused() -> None:
    with pytest.raises(InputError, match="there is no series 'disk' among 3; the names are 'web', 'db', 'mail'"):
        Fleet(WIDE, "AR(4)").step({"disk": 1.0})


def test_each_series_of_auto_learns_its_intervals() -> None:
    fleet = Fleet(LONG, bounds=(0.0, 100.0))
    fleet.step({"web": 40.0})
    fleet = pickle.loads(pickle.dumps(fleet))
    ahead = fleet.forecast(12)
    for row, name in enumerate(fleet.names):
        alone = fleet.predictor(name).forecast(12)
        assert alone.intervals == "adaptive"
        for confidence in (0.5, 0.95):
            lower, upper = (ends[row] for ends in ahead.interval(confidence))
            assert_array_equal((lower, upper), alone.interval(confidence))
    twin = pickle.loads(pickle.dumps(ahead))
    np.testing.assert_allclose(twin.interval([0.5, 0.95]), ahead.interval([0.5, 0.95]), rtol=1e-9, atol=1e-9)


def test_forecasts_of_a_fleet_stay_inside_their_bounds() -> None:
    free, bounded = Fleet(WIDE, "AR(4)").forecast(30), Fleet(WIDE, "AR(4)", bounds=(40.0, 45.0)).forecast(30)
    assert free.interval(0.95)[0].min() < 40.0
    lower, upper = pickle.loads(pickle.dumps(bounded)).interval(0.95)
    assert lower.min() == 40.0 and upper.max() == 45.0
    assert_array_equal(bounded.mean, np.clip(free.mean, 40.0, 45.0))


def test_a_campaign_takes_a_long_frame(tmp_path: Path) -> None:
    template = {"models": ["LAST", "AR(4)"], "fit": 100, "test": 20, "leads": [1]}
    late = LONG[(LONG["unique_id"] != "mail") | (LONG["ds"] >= INDEX[100])]
    of_long = crossval.run(template, late, cases=60, out=tmp_path / "long.parquet")
    wide = {"web": WIDE["web"], "db": WIDE["db"], "mail": WIDE["mail"][100:]}
    of_wide = crossval.run(template, wide, cases=60, out=tmp_path / "wide.parquet")
    assert of_long.path.read_bytes() == of_wide.path.read_bytes()
    frame = of_long.to_frame()
    assert sorted(frame["trace"].unique()) == ["db", "mail", "web"]
    pd.testing.assert_frame_equal(frame, crossval.read(of_long.path))


def test_a_campaign_takes_one_series_by_its_name(tmp_path: Path) -> None:
    template = {"models": ["LAST"], "fit": 100, "test": 20, "leads": [1]}
    for y, name in [(WIDE["db"], "db"), (WIDE["db"].rename(None), "y")]:
        frame = crossval.run(template, y, cases=5, out=tmp_path / f"{name}.parquet").to_frame()
        assert set(frame["trace"]) == {name}


def test_traces_without_names_are_refused_with_what_to_do(tmp_path: Path) -> None:
    traces: Any = TRACE
    with pytest.raises(InputError, match=r"give each a name, as in \{'load': y\}"):
        crossval.run({"models": ["LAST"], "fit": 100, "test": 20, "leads": [1]}, traces, out=tmp_path / "x.parquet")
