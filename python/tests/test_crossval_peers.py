"""Forecasters of other libraries on the cases of a campaign, scored as its models are."""

from pathlib import Path
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from forecasters import Forgetful, Own, OwnModel
from foretop import crossval
from foretop.crossval import peers
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
SCORES = ["n", "n_unscored", "mae", "mse", "mase", "crps", "coverage_50", "coverage_95", "interval_score_95"]


def rows(
    folder: Path, models: list[str], others: list[peers.Peer], cases: int = 60, **template: Any
) -> dict[str, pd.DataFrame]:
    """Return the results of a campaign by model."""
    out = folder / "cases.parquet"
    full = {"models": models, "fit": "150..300", "test": 40, "leads": [1, 5], **template}
    crossval.run(full, {"cpu": TRACE}, cases=cases, peers=others, out=out, progress=False)
    return {str(name): part for name, part in crossval.read(out).groupby("family", observed=True)}


def test_a_peer_is_scored_as_a_model_is(tmp_path: Path) -> None:
    frame = rows(tmp_path, ["LAST", "AR(4)"], [Own("AR(4)")])
    model, peer = frame["AR(4)"], frame["own:AR(4)"]
    assert len(model) == 40
    same = ["window", "start", "n_fit"]
    assert_array_equal(model[same].to_numpy(), peer[same].to_numpy())
    for score in SCORES:
        assert_array_equal(model[score], peer[score], err_msg=score)


def test_windows_do_not_depend_on_peers(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    with_peer = rows(tmp_path / "with", ["AR(1..9)"], [Own("LAST")], cases=80)["AR(1..9)"]
    without = rows(tmp_path, ["AR(1..9)"], [], cases=40)["AR(1..9)"]
    same = ["window", "start", "n_fit", "model", "mse"]
    assert_array_equal(with_peer[same].to_numpy(), without[same].to_numpy())


def test_a_peer_sees_no_more_than_there_was(tmp_path: Path) -> None:
    seen: list[list[Any]] = []

    class WatchedModel(OwnModel):
        def step(self, sample: float) -> None:
            seen[-1].append(sample)
            super().step(sample)

        def forecast(self, n_leads: int) -> Any:
            seen[-1].append("forecast")
            return super().forecast(n_leads)

    class Watched(Own):
        def fit(self, samples: NDArray[np.float64]) -> OwnModel:
            assert samples.base is None
            seen.append([samples])
            return WatchedModel(foretop.fit(samples, self.spec))

    out = tmp_path / "cases.parquet"
    template = {"models": ["LAST"], "fit": 100, "test": 30, "leads": 3}
    crossval.run(template, {"cpu": TRACE}, cases=10, peers=[Watched("LAST")], out=out, progress=False, workers=1)
    starts = crossval.read(out)["start"][1::2]
    assert len(seen) == len(starts) == 5
    for (samples, *later), start in zip(seen, starts, strict=True):
        assert_array_equal(samples, TRACE[start : start + 100])
        assert later[0::2] == ["forecast"] * 30
        assert_array_equal(later[1::2], TRACE[start + 100 : start + 130])


def test_without_standard_errors_there_is_no_word_on_intervals(tmp_path: Path) -> None:
    frame = rows(tmp_path, ["LAST"], [Forgetful(lambda n_leads: ([50.0] * n_leads, None))])["forgetful"]
    assert frame[["mse", "mae", "mase"]].notna().all(axis=None)
    assert frame[["crps", "coverage_50", "coverage_95", "interval_score_80"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("forecast", "message"),
    [
        (lambda n_leads: 1 // 0, "ZeroDivisionError: integer division or modulo by zero"),
        (lambda n_leads: [1.0] * n_leads, "TypeError: "),
        (lambda n_leads: ([1.0], None), "it gave 1 means and 1 standard errors where 5 were asked for"),
        (lambda n_leads: ([1.0] * 5, [-1.0] * 5), "it gave the standard error -1, which is below 0"),
        (lambda n_leads: (["a"] * 5, None), "InputError: the samples are of type"),
    ],
)
def test_a_peer_that_gives_up_fails_its_cases_only(tmp_path: Path, forecast: Any, message: str) -> None:
    frame = rows(tmp_path, ["LAST"], [Forgetful(forecast)], leads=5)
    failed = frame["forgetful"]
    assert (failed["failure"] == "peer gave up").all() and failed["mse"].isna().all()
    assert failed["failure_message"].str.startswith(message).all(), failed["failure_message"].iloc[0]
    assert frame["LAST"]["failure"].isna().all()


def test_forecasts_that_are_no_numbers_are_not_scored(tmp_path: Path) -> None:
    frame = rows(tmp_path, ["LAST"], [Forgetful(lambda n_leads: ([np.nan] * n_leads, None))])["forgetful"]
    assert (frame["n"] == 0).all() and (frame["n_unscored"] > 30).all() and frame["mse"].isna().all()


@pytest.mark.parametrize("name", ["", "LAST", "x" * 201])
def test_a_name_that_says_nothing_is_refused(tmp_path: Path, name: str) -> None:
    peer = peers.AtEachOrigin(name, lambda samples, n_leads: ([0.0] * n_leads, None))
    with pytest.raises(crossval.CampaignError) as refusal:
        rows(tmp_path, ["LAST"], [peer])
    assert (refusal.value.kind, refusal.value.name) == ("PeerName", name)


def test_a_function_starts_anew_at_each_origin(tmp_path: Path) -> None:
    def ar(samples: NDArray[np.float64], n_leads: int) -> Any:
        found = foretop.fit(samples, "MEAN").forecast(n_leads)
        return found.mean, found.standard_error

    frame = rows(tmp_path, ["MEAN"], [peers.AtEachOrigin("mean", ar)])
    # Sums in another order.
    assert_allclose(frame["MEAN"]["mse"], frame["mean"]["mse"], rtol=1e-9)


def test_a_report_ranks_peers_and_recommends_a_model(tmp_path: Path) -> None:
    rows(tmp_path, ["MEAN", "LAST"], [Own("AR(8)")], cases=300)
    report = crossval.report(tmp_path / "cases.parquet", html=tmp_path / "r.html", markdown=tmp_path / "r.md")
    assert report.recommended in ("MEAN", "LAST")
    assert "own:AR(8)" in (tmp_path / "r.md").read_text() and "own:AR(8)" in (tmp_path / "r.html").read_text()


def test_statsmodels_autoregression_agrees_with_ours(tmp_path: Path) -> None:
    frame = rows(tmp_path, ["AR(4,method=ls)"], [peers.AutoReg(4)], cases=40)
    model, peer = frame["AR(4,method=ls)"], frame["statsmodels:AutoReg(4)"]
    assert peer["failure"].isna().all() and (peer["n_coefficients"] == 5).all()
    # The same least squares, whose means need not agree to the last place.
    assert_allclose(peer["mse"], model["mse"], rtol=1e-6)
    # Its error variance is that of all samples so far, ours that of the fit.
    assert_allclose(peer["crps"], model["crps"], rtol=0.1)


def test_statsmodels_arima_agrees_with_ours(tmp_path: Path) -> None:
    frame = rows(tmp_path, ["AR(2,method=ml)"], [peers.Arima((2, 0, 0))], cases=20)
    model, peer = frame["AR(2,method=ml)"], frame["statsmodels:ARIMA(2,0,0)"]
    assert peer["failure"].isna().all()
    # Two searches for one maximum, which stop at their own tolerances.
    assert_allclose(peer["mse"], model["mse"], rtol=1e-2)
    assert_allclose(peer["crps"], model["crps"], rtol=1e-2)


def test_river_learns_as_it_goes(tmp_path: Path) -> None:
    time_series = pytest.importorskip("river.time_series")
    frame = rows(tmp_path, ["MEAN", "LAST"], [peers.River(time_series.HoltWinters(alpha=0.3))], cases=30)
    peer = frame["river:HoltWinters"]
    assert peer["failure"].isna().all() and peer["crps"].isna().all()
    by_hand = peers.River(time_series.HoltWinters(alpha=0.3)).fit(TRACE[:200])
    level = TRACE[0]
    for sample in TRACE[1:200]:
        level += 0.3 * (sample - level)
    assert_allclose(np.asarray(by_hand.forecast(2)[0]), [level, level], rtol=1e-9)


def test_statsforecast_is_led_forward(tmp_path: Path) -> None:
    models = pytest.importorskip("statsforecast.models")
    frame = rows(tmp_path, ["LAST"], [peers.StatsForecast(models.Naive())], cases=20)
    model, peer = frame["LAST"], frame["statsforecast:Naive"]
    assert peer["failure"].isna().all(), peer["failure_message"].iloc[0]
    assert_allclose(peer["mse"], model["mse"], rtol=1e-12)


def test_a_skater_says_how_sure_it_is(tmp_path: Path) -> None:
    skaters = pytest.importorskip("skaters")
    frame = rows(tmp_path, ["LAST"], [peers.Skaters(skaters.laplace)], cases=4, fit=60, test=20)
    peer = frame["skaters:laplace"]
    assert peer["failure"].isna().all(), peer["failure_message"].iloc[0]
    assert peer[["mse", "crps", "coverage_95"]].notna().all(axis=None)
    by_hand, state = skaters.laplace(5), None
    model = peers.Skaters(skaters.laplace).fit(TRACE[:60])
    for sample in TRACE[:60]:
        said, state = by_hand(sample, state)
    for sample in TRACE[60:64]:
        means, errors = model.forecast(5)
        assert errors is not None
        assert_allclose(np.asarray(means), [one.mean for one in said], rtol=1e-12)
        assert_allclose(np.asarray(errors), [one.std for one in said], rtol=1e-12)
        model.step(sample)
        said, state = by_hand(sample, state)
