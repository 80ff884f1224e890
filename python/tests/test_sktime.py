"""The forecaster for sktime, by sktime's own checks."""

import foretop
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import read_named

pytest.importorskip("sktime", reason="sktime does not go with pandas 3: scripts/test.sh runs this in .venv/peers")

from foretop.sktime import Forecaster  # noqa: E402
from sktime.utils.estimator_checks import check_estimator  # noqa: E402

NILE = read_named("nile")
Y = pd.Series(NILE, pd.period_range("1871", periods=100, freq="Y"), name="flow")


# sktime warns of itself on the way.
@pytest.mark.filterwarnings("default")
def test_it_passes_the_checks_of_sktime() -> None:
    # That one asks for a copy of the samples which sktime 1.3 no longer keeps either.
    outcomes = check_estimator(
        Forecaster, raise_exceptions=False, verbose=False, tests_to_exclude=["test__y_remember_data"]
    )
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "PASSED"} == {}
    assert len(outcomes) > 500


def test_it_forecasts_what_the_model_does() -> None:
    forecaster = Forecaster("AR(2)").fit(Y[:90])
    model = foretop.fit(NILE[:90], "AR(2)")
    for _ in range(2):
        found, forecast = forecaster.predict([1, 3, 9]), model.forecast(9)
        assert_allclose(found, forecast.mean[[0, 2, 8]], rtol=1e-12)
        interval = forecaster.predict_interval([1, 3, 9], coverage=[0.5, 0.8])
        assert_allclose(interval["flow", 0.8, "upper"], forecast.interval(0.8)[1][[0, 2, 8]], rtol=1e-12)
        forecaster.update(Y[90:], update_params=False)
        model.step(NILE[90:])
    assert forecaster.predict([1]).index[0] == pd.Period("1971", "Y-DEC")
