"""Scores of forecasts against the same sums by hand."""

import foretop
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from reference import read_trace

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
            "coverage_50": np.mean(reach <= 0.6744897501960817),
            "coverage_80": np.mean(reach <= 1.2815515655446004),
            "coverage_95": np.mean(reach <= 1.959963984540054),
        }
        for name, value in by_hand.items():
            assert_allclose(row[name], value, rtol=1e-9, err_msg=f"{name} of lead {lead}")


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


def test_the_table_becomes_a_frame_and_prints_in_columns() -> None:
    table = foretop.evaluate(pd.Series(TRACE), "LAST", horizon=2, n_fit=600)
    frame = table.to_frame()
    assert frame.index.to_list() == [1, 2]
    assert_array_equal(frame["mean_squared"], table["mean_squared"])
    head, first, _ = repr(table).splitlines()
    assert head.split()[:2] == ["lead", "n"]
    assert first.split()[:2] == ["1", "200"]
