"""Scores of forecasts against the same sums by hand."""

import math

import foretop
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import read_named, read_trace
from scipy.stats import probplot
from statsmodels.stats.diagnostic import acorr_ljungbox

TRACE = read_trace("ec2_cpu_utilization_5f5533")[:800]


def test_scores_are_the_sums_they_stand_for() -> None:
    table = foretop.evaluate(TRACE, "AR(16)", horizon=5, n_fit=600)
    predictor = foretop.fit(TRACE[:600], "AR(16)").predictor()
    forecasts = [predictor.forecast(5)]
    for sample in TRACE[600:]:
        predictor.step(sample)
        forecasts.append(predictor.forecast(5))
    for lead in range(1, 6):
        said = forecasts[: 201 - lead]
        errors = TRACE[599 + lead :] - [forecast.mean[lead - 1] for forecast in said]
        reach = np.abs(errors) / [forecast.standard_error[lead - 1] for forecast in said]
        row = {name: column[lead - 1] for name, column in table.items()}
        assert (row["lead"], row["n"], row["n_unscored"]) == (lead, 201 - lead, 0)
        by_hand = {
            "mean_squared": np.mean(errors**2),
            "mean_absolute": np.mean(np.abs(errors)),
            "mean": np.mean(errors),
            "min": np.min(errors),
            "median": np.median(errors),
            "max": np.max(errors),
            "mean_absolute_scaled": np.mean(np.abs(errors)) / np.mean(np.abs(np.diff(TRACE[:600]))),
            "coverage_50": np.mean(reach <= 0.6744897501960817),
            "coverage_80": np.mean(reach <= 1.2815515655446004),
            "coverage_95": np.mean(reach <= 1.959963984540054),
        }
        for name, value in by_hand.items():
            assert_allclose(row[name], value, rtol=1e-9, err_msg=f"{name} of lead {lead}")


def test_probability_scores_are_the_integrals_they_stand_for() -> None:
    table = foretop.evaluate(TRACE, "MEAN", horizon=1, n_fit=799)
    forecast = foretop.fit(TRACE[:799], "MEAN").forecast(1)
    mean, deviation, came = forecast.mean[0], forecast.standard_error[0], TRACE[799]
    at = np.linspace(mean - 12 * deviation, mean + 12 * deviation, 200_001)
    below = np.array([0.5 * (1 + math.erf((x - mean) / (deviation * math.sqrt(2)))) for x in at])
    # Trapezoids of this width are off by less than 1e-4 of a deviation where the indicator jumps.
    assert_allclose(table["crps"][0], np.trapezoid((below - (at >= came)) ** 2, at), atol=1e-3 * deviation)
    lower, upper = forecast.interval(0.8)
    outside = max(lower[0] - came, came - upper[0], 0.0)
    # Kept as 32-bit floats.
    assert_allclose(table["interval_score_80"][0], upper[0] - lower[0] + 10 * outside, rtol=1e-6)


def test_half_of_the_samples_are_fitted_unless_told() -> None:
    assert foretop.evaluate(TRACE, "LAST", horizon=1)["n"][0] == 400


def test_refits_are_those_of_a_refit_around_the_model() -> None:
    by_option = foretop.evaluate(TRACE, "AR(4)", horizon=3, n_fit=600, refit_every=50)
    by_text = foretop.evaluate(TRACE, "REFIT(AR(4),every=50,window=600)", horizon=3, n_fit=600)
    without = foretop.evaluate(TRACE, "AR(4)", horizon=3, n_fit=600)
    assert_array_equal(by_option["mean_squared"], by_text["mean_squared"])
    assert (by_option["mean_squared"] != without["mean_squared"]).all()


def test_a_gap_is_counted_and_not_scored() -> None:
    gappy = TRACE.copy()
    gappy[700:710] = np.nan
    table = foretop.evaluate(gappy, "AR(4)", horizon=2, n_fit=600)
    assert_array_equal(table["n_unscored"], [10, 10])
    assert_array_equal(table["n"], [190, 189])


def test_what_nothing_was_scored_for_is_nan() -> None:
    table = foretop.evaluate(TRACE, "LAST", horizon=3, n_fit=798)
    assert_array_equal(table["n"], [2, 1, 0])
    assert np.isnan([table["mean_squared"][2], table["coverage_95"][2]]).all()


def test_a_comparison_weighs_the_difference_of_the_scores() -> None:
    table = foretop.compare(TRACE, "AR(16)", "LAST", horizon=10, n_fit=600)
    scores = [foretop.evaluate(TRACE, spec, horizon=10, n_fit=600) for spec in ("AR(16)", "LAST")]
    assert_allclose(table["difference"], scores[0]["mean_squared"] - scores[1]["mean_squared"], rtol=1e-9)
    assert_array_equal(table["n"], scores[0]["n"])
    assert table["p_value"][0] < 0.01
    turned = foretop.compare(TRACE, "LAST", "AR(16)", horizon=10, n_fit=600, loss="squared")
    assert_allclose(turned["statistic"], -table["statistic"], rtol=1e-9)
    absolute = foretop.compare(TRACE, "AR(16)", "LAST", horizon=1, n_fit=600, loss="absolute")
    assert_allclose(absolute["difference"], scores[0]["mean_absolute"][0] - scores[1]["mean_absolute"][0], rtol=1e-9)


def test_the_statistic_is_that_of_diebold_and_mariano() -> None:
    table = foretop.compare(TRACE, "MEAN", "LAST", horizon=1, n_fit=600)
    mean, last = (foretop.fit(TRACE[:600], spec).predictor() for spec in ("MEAN", "LAST"))
    differences = []
    for sample in TRACE[600:]:
        differences.append((sample - mean.forecast(1).mean[0]) ** 2 - (sample - last.forecast(1).mean[0]) ** 2)
        mean.step(sample)
        last.step(sample)
    # At lead 1 the variance is the plain one, and the correction is that of dividing by n - 1.
    expected = np.mean(differences) / np.sqrt(np.var(differences, ddof=1) / 200)
    assert_allclose(table["statistic"][0], expected, rtol=1e-9)


def test_the_table_becomes_a_frame_and_prints_in_columns() -> None:
    table = foretop.evaluate(pd.Series(TRACE), "LAST", horizon=2, n_fit=600)
    frame = table.to_frame()
    assert frame.index.to_list() == [1, 2]
    assert_array_equal(frame["mean_squared"], table["mean_squared"])
    head, first, _ = repr(table).splitlines()
    assert head.split()[:2] == ["lead", "n"]
    assert first.split()[:2] == ["1", "200"]


def test_models_are_ranked_by_their_criterion() -> None:
    y = read_named("lake_huron")
    ranked = foretop.select(y, "AR(1..4,method=ml)", "LAST")
    for spec, value in list(ranked.items())[:4]:
        inference = foretop.fit(y, spec).inference(y)
        assert inference is not None and inference.aicc is not None
        assert_allclose(value, inference.aicc, rtol=1e-12)
    assert list(ranked.values())[:4] == sorted(list(ranked.values())[:4])
    assert next(iter(ranked)) == "AR(2,method=ml)"
    assert list(ranked)[4] == "LAST" and np.isnan(ranked["LAST"])


def test_errors_out_of_sample_rank_models_of_all_kinds() -> None:
    ranked = foretop.select(TRACE, "LAST", "MEAN", "AR(16)", criterion="out_of_sample", n_fit=600, lead=2)
    for spec, value in ranked.items():
        table = foretop.evaluate(TRACE, spec, horizon=2, n_fit=600)
        assert_allclose(value, table["mean_squared"][1], rtol=1e-9)
    assert next(iter(ranked)) == "AR(16)"


def test_residuals_are_those_of_statsmodels_tests() -> None:
    found = foretop.residuals(TRACE, "AR(4)", n_fit=600)
    predictor = foretop.fit(TRACE[:600], "AR(4)").predictor()
    errors = []
    for sample in TRACE[600:]:
        errors.append(sample - predictor.forecast(1).mean[0])
        predictor.step(sample)
    assert (found.n, found.n_lags) == (200, 23)
    by_hand = acorr_ljungbox(errors, lags=[23])["lb_pvalue"].iloc[0]
    assert_allclose(found.ljung_box_p, by_hand, rtol=1e-6)
    (quantiles, values), (_, _, r) = probplot(errors, fit=True)
    assert len(quantiles) == len(values) == 200
    # Plotting positions that differ in the third decimal.
    assert_allclose(found.r_squared, r**2, atol=5e-3)
    assert 0 <= found.significant_share <= 1 and 0 <= found.normality_p < 0.05
    assert foretop.residuals(TRACE, "AR(4)", n_fit=600, refit_every=50).n == 200


def test_residuals_of_a_constant_cannot_be_tested() -> None:
    with pytest.raises(foretop.StatisticError):
        foretop.residuals([5.0] * 50, "LAST")
