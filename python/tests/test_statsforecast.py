"""The forecaster for statsforecast, in statsforecast's own machinery."""

import pickle

import foretop
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import read_named, read_trace

reason = "statsforecast does not go with pandas 3: scripts/test.sh runs this with pandas 2 in .venv/peers"
statsforecast = pytest.importorskip("statsforecast", reason=reason)

from foretop.statsforecast import Forecaster  # noqa: E402
from statsforecast.models import Naive  # noqa: E402
from statsforecast.utils import ConformalIntervals  # noqa: E402

TRACE = read_trace("ec2_cpu_utilization_5f5533")
LENGTHS = {"web": 400, "db": 300}
FRAME = pd.concat(
    pd.DataFrame({"unique_id": name, "ds": pd.date_range("2026-01-01", periods=n, freq="h"), "y": TRACE[:n]})
    for name, n in LENGTHS.items()
)


def test_its_forecasts_are_those_of_the_model() -> None:
    runner = statsforecast.StatsForecast(models=[Forecaster("AR(4)"), Naive()], freq="h")
    frame = runner.forecast(df=FRAME, h=6, level=[80, 95])
    assert {"Naive", "AR(4)", "AR(4)-lo-95", "AR(4)-hi-80"} <= set(frame.columns)
    for name, n in LENGTHS.items():
        forecast = foretop.fit(TRACE[:n], "AR(4)").forecast(6)
        part = frame[frame["unique_id"] == name]
        assert_allclose(part["AR(4)"], forecast.mean, rtol=1e-12)
        assert_allclose(part["AR(4)-lo-95"], forecast.interval(0.95)[0], rtol=1e-12)
        assert_allclose(part["AR(4)-hi-80"], forecast.interval(0.8)[1], rtol=1e-12)
    fitted = runner.fit(df=FRAME).predict(h=6, level=[80, 95])
    pd.testing.assert_frame_equal(fitted, frame)


@pytest.mark.parametrize("refit", [True, False, 2])
def test_cross_validation_is_that_of_the_predictor(refit: bool | int) -> None:
    runner = statsforecast.StatsForecast(models=[Forecaster("AR(4)"), Forecaster(alias="auto")], freq="h")
    frame = runner.cross_validation(df=FRAME, h=5, n_windows=4, step_size=5, refit=refit, level=[90])
    for name, n in LENGTHS.items():
        part = frame[frame["unique_id"] == name]
        assert_array_equal(part["y"], TRACE[n - 20 : n])
        model = foretop.fit(TRACE[: n - 20], "AR(4)")
        for window in range(4):
            origin = n - 20 + 5 * window
            if refit is True or (window > 0 and refit == 2 and window % 2 == 0):
                model = foretop.fit(TRACE[:origin], "AR(4)")
            forecast = model.forecast(5)
            rows = part.iloc[5 * window : 5 * window + 5]
            assert_allclose(rows["AR(4)"], forecast.mean, rtol=1e-9)
            assert_allclose(rows["AR(4)-hi-90"], forecast.interval(0.9)[1], rtol=1e-9)
            model.step(TRACE[origin : origin + 5])
        assert (part["auto-lo-90"] < part["auto"]).all() and (part["auto"] < part["auto-hi-90"]).all()


def test_bounds_and_learned_intervals_go_along() -> None:
    learned = Forecaster("AR(4)", intervals="empirical", bounds=(40.0, 45.0), alias="AR")
    frame = statsforecast.StatsForecast(models=[learned], freq="h").forecast(df=FRAME, h=6, level=[95])
    assert frame["AR-lo-95"].min() >= 40.0 and frame["AR-hi-95"].max() <= 45.0


def test_values_in_sample_are_one_step_forecasts() -> None:
    nile = read_named("nile")
    runner = statsforecast.StatsForecast(models=[Forecaster("AR(2)")], freq=1)
    frame = pd.DataFrame({"unique_id": "nile", "ds": np.arange(100), "y": nile})
    runner.forecast(df=frame, h=2, fitted=True, level=[80])
    in_sample = runner.forecast_fitted_values()
    model = foretop.fit(nile, "AR(2)")
    assert_allclose(nile - in_sample["AR(2)"], model.residuals, rtol=1e-9)
    half = 1.2815515655446004 * np.sqrt(model.innovation_variance)
    # Nothing was said of the first samples.
    assert_allclose((in_sample["AR(2)-hi-80"] - in_sample["AR(2)"])[2:], half, rtol=1e-9)


def test_intervals_of_statsforecast_take_the_place_of_its_own() -> None:
    conformal = Forecaster("AR(4)", prediction_intervals=ConformalIntervals(h=6, n_windows=5))
    for columns in (
        conformal.forecast(TRACE[:300], 6, level=[80]),
        pickle.loads(pickle.dumps(conformal.fit(TRACE[:300]))).predict(6, level=[80]),
    ):
        own = foretop.fit(TRACE[:300], "AR(4)").forecast(6)
        assert_allclose(columns["mean"], own.mean)
        assert (columns["lo-80"] <= own.mean).all() and not np.allclose(columns["lo-80"], own.interval(0.8)[0])
