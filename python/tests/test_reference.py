"""Numbers: the same as R's, from the same files as the Rust tests read."""

import foretop
import numpy as np
import pytest
from foretop import Model
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from reference import read_named, read_reference

# Where least squares has one minimum, which R finds too; elsewhere ours is lower, and only its height can be compared.
SAME_MINIMUM = [
    ("lh", "ARIMA(3,0,0)"),
    ("lh", "ARIMA(1,0,1)"),
    ("lake_huron", "ARIMA(1,0,1)"),
    ("lake_huron", "ARIMA(2,0,0)"),
    ("nile", "ARIMA(0,1,1)"),
    ("nile", "ARIMA(1,1,1)"),
]


def assert_close(ours: NDArray[np.float64], theirs: list[float], tolerance: float) -> None:
    """Compare relative to the larger of 1 and the number."""
    assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def fit_named(series: str, spec: str) -> Model:
    return foretop.fit(read_named(series), spec)


@pytest.mark.parametrize(("series", "spec"), read_reference("ar"), ids=":".join)
def test_ar_is_that_of_r(series: str, spec: str) -> None:
    theirs = read_reference("ar")[series, spec]
    model = fit_named(series, spec)
    forecast = model.forecast(30)
    # R solves the same equations in another order, so the last few of sixteen digits differ, and a recursion loses two more.
    assert_close(model.ar, theirs["coefficient"], 1e-9)
    for quantity, ours in [
        ("mean", np.array([model.mean])),
        ("innovation_variance", np.array([model.innovation_variance])),
        ("forecast", forecast.mean),
        ("standard_error", forecast.standard_error),
    ]:
        if quantity in theirs:
            assert_close(ours, theirs[quantity], 1e-9)


@pytest.mark.parametrize(("series", "spec"), SAME_MINIMUM, ids=":".join)
def test_least_squares_are_those_of_r(series: str, spec: str) -> None:
    theirs = read_reference("arma")[series, spec]
    model = fit_named(series, spec)
    forecast = model.forecast(10)
    # R stops where its numeric gradient is lost in rounding, and its filter starts from the stationary distribution.
    assert_close(model.ar, theirs["phi"], 1e-3)
    assert_close(model.ma, theirs["theta"], 1e-3)
    assert_close(forecast.mean, theirs["forecast"], 1e-3)
    assert_close(forecast.standard_error, theirs["standard_error"], 1e-3)


@pytest.mark.parametrize(("series", "spec"), read_reference("arma"), ids=":".join)
def test_no_sum_of_squares_is_above_that_of_r(series: str, spec: str) -> None:
    # R's minimum for 8,0,8 lies where theta is not invertible, which a predictor cannot use.
    most = 1.01 if spec == "ARIMA(8,0,8)" else 1 + 1e-7
    theirs = read_reference("arma")[series, spec]["innovation_variance"][0]
    assert fit_named(series, spec).innovation_variance <= most * theirs


@pytest.mark.parametrize(
    ("series", "spec"),
    [("lh", "ARIMA(3,0,0)"), ("lake_huron", "ARIMA(1,0,1)"), ("nile", "ARIMA(0,1,1)"), ("lynx", "ARIMA(2,0,0)")],
    ids=":".join,
)
def test_exact_likelihood_and_its_standard_errors_are_those_of_r(series: str, spec: str) -> None:
    theirs = read_reference("ml")[series, spec]
    model = fit_named(series, spec.replace(")", ",method=ml)"))
    inference = model.inference(read_named(series))
    assert inference is not None and inference.log_likelihood is not None
    assert_close(np.array([inference.log_likelihood]), theirs["log_likelihood"], 1e-4)
    # R's second differences have steps of 1e-3.
    errors = np.array([*inference.standard_errors.values()])
    assert_close(errors, theirs["standard_error_of_parameter"], 2e-3)
    assert_allclose(np.sqrt(np.diag(inference.covariance)), errors)
    coefficients = [*theirs.get("phi", []), *theirs.get("theta", [])]
    assert_close(np.array([*inference.parameters.values()])[: len(coefficients)], coefficients, 1e-3)
    assert inference.aic == pytest.approx(2 * (len(errors) + 1) - 2 * inference.log_likelihood)


def test_a_model_without_a_distribution_has_no_likelihood() -> None:
    assert fit_named("nile", "LAST").inference(read_named("nile")) is None


def test_one_step_errors_are_sample_minus_forecast() -> None:
    y = read_named("lake_huron")
    model = foretop.fit(y[:60], "AR(2)")
    errors, predictor = model.one_step_errors(y), model.predictor()
    for t in range(60, 98):
        assert errors[t] == pytest.approx(y[t] - predictor.forecast(1).mean[0], abs=1e-9)
        predictor.step(y[t])


def test_intervals_are_those_of_the_normal_distribution() -> None:
    forecast = fit_named("lake_huron", "AR(2)").forecast(12)
    for confidence, half_width in [(0.5, 0.6744897501960817), (0.8, 1.2815515655446004), (0.95, 1.959963984540054)]:
        lower, upper = forecast.interval(confidence)
        assert_allclose(upper - forecast.mean, half_width * forecast.standard_error, rtol=1e-9)
        assert_allclose(forecast.mean - lower, half_width * forecast.standard_error, rtol=1e-9)
