"""Statistics against R's digits (``testdata/series/statistics/reference.R``), numpy, and series of known memory."""

from typing import Literal

import foretop
import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import read_named

NILE = read_named("nile")


def test_correlations_are_those_of_r() -> None:
    acf = [1, 0.498408184133029, 0.384576903904873, 0.327860437522546, 0.239191169941486, 0.22842198672084]
    pacf = [1, 0.49840818413303, 0.181171005437572, 0.11089699311649, 0.00617563607921592, 0.0650249278381343]
    assert_allclose(foretop.acf(NILE, 5), acf, rtol=1e-12)
    assert_allclose(foretop.pacf(NILE, 5), pacf, rtol=1e-12)


def test_a_series_that_does_not_vary_has_no_correlations() -> None:
    assert np.isnan(foretop.acf([3.0] * 10, 2)).all()


def test_the_periodogram_is_that_of_numpy() -> None:
    spectrum = foretop.periodogram(NILE)
    assert_allclose(spectrum.frequency, 2 * np.pi * np.fft.rfftfreq(100)[1:], rtol=1e-12)
    expected = np.abs(np.fft.rfft(NILE)[1:]) ** 2 / (2 * np.pi * 100)
    # The least power is 1e-3 of the greatest, and rounding is shared by all.
    assert_allclose(spectrum.power, expected, rtol=1e-9)


def test_the_level_test_is_that_of_tseries() -> None:
    test = foretop.kpss(NILE)
    assert test.p_value == 0.01
    assert test.n_lags == 4


def test_log_periodogram_regression_is_that_of_fracdiff() -> None:
    assert_allclose(foretop.hurst(NILE, method="gph"), (0.5 + 0.389624745485815, 0.293559200483572), rtol=1e-12)


@pytest.mark.parametrize("method", ["rescaled_range", "aggregated_variance", "whittle", "gph"])
def test_noise_has_no_memory_and_its_sum_has_all(
    method: Literal["rescaled_range", "aggregated_variance", "whittle", "gph"],
) -> None:
    noise = np.random.default_rng(7).normal(size=2**14)
    # Rescaled ranges of short stretches are biased upward; the others are within three standard errors of 0.5.
    assert abs(foretop.hurst(noise, method=method).exponent - 0.5) < 0.12
    assert foretop.hurst(noise.cumsum(), method=method).exponent > 0.9


def test_the_slope_of_the_pox_plot_is_the_exponent() -> None:
    y = read_named("sunspots")
    points = foretop.pox_plot(y)
    assert points.length.dtype == np.int64
    slope = np.polyfit(np.log(points.length), np.log(points.rescaled_range), 1)[0]
    assert_allclose(foretop.hurst(y, method="rescaled_range").exponent, slope, rtol=1e-9)
