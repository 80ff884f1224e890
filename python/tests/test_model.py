"""What a fitted model says of itself: parameters, criteria, residuals, summary, pictures."""

import pickle
import sys
from collections.abc import Iterator
from typing import Any

import foretop
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from foretop import InputError
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from reference import read_named, read_trace

NILE = read_named("nile")
TRACE = read_trace("ec2_cpu_utilization_5f5533")


@pytest.fixture
def agg() -> Iterator[None]:
    """Draw where there is no screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("MEAN", ["mean"]),
        ("LAST", []),
        ("BM(8)", ["window"]),
        ("AR(2)", ["phi1", "phi2", "mean"]),
        ("ARMA(1,1)", ["phi1", "theta1", "mean"]),
        ("ARFIMA(1,d,0)", ["phi1", "d", "mean"]),
        ("ETS(A,N,N)", ["alpha", "level"]),
        ("REFIT(AR(1),every=10,window=100)", ["phi1", "mean"]),
        ("SEASONAL(11)", ["period1"]),
        ("AUTO", []),
    ],
)
def test_parameters_have_names(spec: str, names: list[str]) -> None:
    model = foretop.fit(NILE, spec)
    assert list(model.params) == names
    inference = model.inference()
    if inference is not None:
        assert {name: inference.parameters[name] for name in names} == pytest.approx(model.params, rel=1e-12)


def test_inference_needs_no_data_again() -> None:
    model = foretop.fit(NILE, "AR(2,method=ml)")
    known, given = model.inference(), model.inference(NILE)
    assert known is not None and given is not None
    assert known.standard_errors == given.standard_errors
    assert (model.aic, model.aicc, model.bic) == (given.aic, given.aicc, given.bic)
    assert model.log_likelihood == given.log_likelihood
    assert_array_equal(model.residuals, model.one_step_errors(NILE))


def test_a_model_without_a_likelihood_has_no_criterion() -> None:
    model = foretop.fit(NILE, "LAST")
    assert (model.aic, model.aicc, model.bic, model.log_likelihood, model.inference()) == (None,) * 5


def test_samples_stay_with_the_model() -> None:
    samples = NILE.copy()
    model = foretop.fit(samples, "AR(2)")
    expected = model.residuals
    samples[:] = 0.0
    model.step([1.0, 2.0])
    for twin in (model, pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.residuals, expected)
        assert twin.aic == foretop.fit(NILE, "AR(2)").aic


def test_a_model_met_on_the_way_has_no_samples() -> None:
    model = foretop.fit(NILE, "AR(2)").predictor().model
    assert list(model.params) == ["phi1", "phi2", "mean"]
    for ask in (lambda: model.inference(), lambda: model.aic, lambda: model.residuals):
        with pytest.raises(InputError, match="does not have the samples that it was fitted to; pass them as y"):
            ask()
    assert model.inference(NILE) is not None


def test_unsure_coefficients_widen_a_forecast() -> None:
    model = foretop.fit(NILE[:40], "AR(1,method=ml)")
    forecast, inference = model.forecast(6), model.inference()
    assert inference is not None
    wider = inference.widen(forecast)
    assert_array_equal(wider.mean, forecast.mean)
    # The delta method by hand: the mean at lead h is m + phi^h (y - m).
    phi, mean = (inference.parameters[name] for name in ("phi1", "mean"))
    leads = np.arange(1, 7)
    slopes = np.stack([leads * phi ** (leads - 1) * (NILE[39] - mean), 1 - phi**leads])
    added = np.einsum("ih,ij,jh->h", slopes, inference.covariance, slopes)
    # The slopes are difference quotients.
    assert_allclose(wider.standard_error**2, forecast.standard_error**2 + added, rtol=1e-6)
    assert (np.diff(wider.interval(0.8), axis=0) > np.diff(forecast.interval(0.8), axis=0)).all()


def test_a_forecast_from_elsewhere_is_widened_by_what_led_there() -> None:
    model = foretop.fit(NILE[:40], "AR(1,method=ml)")
    inference = pickle.loads(pickle.dumps(model.inference()))
    model.step(NILE[40:50])
    forecast = model.forecast(3)
    with pytest.raises(InputError, match="begins after sample 50 and the model was fitted to 40; pass the samples"):
        inference.widen(forecast)
    assert (inference.widen(forecast, NILE[:50]).standard_error > forecast.standard_error).all()


def test_a_summary_says_what_is_known() -> None:
    model = foretop.fit(NILE, "AR(2,method=ml)")
    summary = model.summary()
    assert summary.facts["aic"] == model.aic
    assert summary.coefficients is not None
    assert summary.coefficients["parameter"].tolist() == ["phi1", "phi2", "mean"]
    assert summary.residuals["deviation"] == pytest.approx(np.nanstd(model.residuals))
    assert summary.residuals["acf_1"] == pytest.approx(foretop.acf(model.residuals, 1)[1])
    lines = str(summary).splitlines()
    assert lines[0].split() == ["model", "AR(2,method=ml)"]
    assert any(line.split() == ["parameter", "estimate", "standard_error", "z"] for line in lines)
    assert repr(summary) == str(summary)


def test_the_summary_of_auto_says_who_speaks() -> None:
    summary = foretop.fit(TRACE[:600]).summary()
    assert summary.speakers is not None and summary.coefficients is None
    assert {"LAST", "AR(16)"} <= set(summary.speakers["model"])


def test_the_speakers_of_auto_share_the_forecast() -> None:
    model = foretop.fit(TRACE[:600])
    speakers = model.speakers
    assert speakers is not None
    for name, weights in speakers.items():
        if name.startswith("weight_"):
            assert_allclose(weights.sum(), 1.0, rtol=1e-9)
    assert foretop.fit(NILE, "AR(2)").speakers is None


def test_auto_tells_what_the_season_that_it_found_is_worth() -> None:
    rng = np.random.default_rng(1)
    steps = np.arange(2_000)
    series = 10 * (steps % 50 < 10) + rng.normal(size=len(steps))
    predictor = foretop.fit(series[:600]).predictor()
    predictor.step(series[600:])
    season = predictor.season
    assert season is not None and season["model"][0] == "SEASONAL(50)"
    assert season["error_ratio"].min() < 0.5 and season["weight"].max() > 0.5
    assert foretop.fit(rng.normal(size=600)).season is None
    assert foretop.fit(NILE, "AR(2)").season is None


@pytest.mark.usefixtures("agg")
def test_a_forecast_is_drawn_where_it_belongs() -> None:
    index = pd.date_range("2026-01-01", periods=100, freq="h")
    y = pd.Series(NILE, index)
    forecast = foretop.fit(y, "AR(2)").forecast(12)
    axes = forecast.plot(y[-24:], confidence=[0.8, 0.95])
    past, mean = axes.get_lines()
    assert_array_equal(past.get_ydata(), NILE[-24:])
    assert_array_equal(mean.get_ydata(), forecast.mean)
    assert_array_equal(mean.get_xdata(), forecast.index)
    assert len(axes.collections) == 2
    legend = axes.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["samples", "forecast", "95 % interval", "80 % interval"]


@pytest.mark.usefixtures("agg")
@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.RangeIndex(7, 107),
        pd.period_range("1871", periods=100, freq="Y"),
        pd.timedelta_range("1h", periods=100, freq="90s"),
    ],
)
def test_a_model_is_drawn_with_the_end_of_its_samples(index: Any) -> None:
    model = foretop.fit(NILE if index is None else pd.Series(NILE, index), "AR(2)")
    axes = plt.figure().subplots()
    assert model.plot(10, ax=axes) is axes
    past, mean = axes.get_lines()
    assert_array_equal(past.get_ydata(), NILE[-60:])
    assert (np.size(mean.get_xdata()), len(axes.collections)) == (10, 3)
    together = np.concatenate([np.asarray(line.get_xdata(), dtype="f8") for line in (past, mean)])
    if index is None or isinstance(index, pd.RangeIndex):
        assert_array_equal(np.diff(together), 1.0)
    else:
        assert (np.diff(together) > 0).all()


@pytest.mark.usefixtures("agg")
def test_a_history_of_numbers_ends_where_the_forecast_begins() -> None:
    past, mean = foretop.fit(NILE, "AR(2)").forecast(3).plot(NILE[90:]).get_lines()
    assert_array_equal(past.get_xdata(), np.arange(90, 100))
    assert_array_equal(mean.get_xdata(), [100, 101, 102])


def test_without_matplotlib_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="^plots need matplotlib, which is not installed: pip install matplotlib$"):
        foretop.fit(NILE, "AR(2)").plot()


def test_predict_is_forecast() -> None:
    model = foretop.fit(NILE, "AR(2)")
    for moving in (model, model.predictor()):
        assert_array_equal(moving.predict(horizon=9).mean, moving.forecast(horizon=9).mean)


def test_auto_is_what_nothing_else_was_asked_for() -> None:
    assert foretop.fit(TRACE[:300]).spec == foretop.Fleet([TRACE[:300]]).spec == "AUTO"
    by_default = foretop.evaluate(TRACE[:400], n_fit=300, horizon=2)
    assert_array_equal(by_default["crps"], foretop.evaluate(TRACE[:400], "AUTO", n_fit=300, horizon=2)["crps"])


def test_the_version_is_that_of_the_native_half() -> None:
    assert foretop.__version__.count(".") == 2
