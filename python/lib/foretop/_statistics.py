"""What can be said of samples without a model: correlation over time, spectrum, long memory, stationarity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretop import _native
from foretop._errors import InputError
from foretop._samples import row

if TYPE_CHECKING:
    from foretop._samples import Samples


class Hurst(NamedTuple):
    """An estimate of the Hurst exponent.

    Attributes
    ----------
    exponent : float
        0.5 for short memory, towards 1 for long memory. Not cut to (0, 1): an estimate outside says that the method does not fit
        the series.
    standard_error : float
        As the method sees it; NaN when it gives none.
    """

    exponent: float
    standard_error: float


class Periodogram(NamedTuple):
    """The power of a series by frequency.

    Attributes
    ----------
    frequency : numpy.ndarray
        Angular frequencies 2 pi j / n, j = 1, ..., n/2, in radians a step.
    power : numpy.ndarray
        Power at each, in squared units of the series.
    """

    frequency: NDArray[np.float64]
    power: NDArray[np.float64]


class PoxPlot(NamedTuple):
    """Rescaled ranges of stretches of a series.

    Attributes
    ----------
    length : numpy.ndarray
        Samples in each stretch.
    rescaled_range : numpy.ndarray
        Range of its summed deviations over its standard deviation.
    """

    length: NDArray[np.int64]
    rescaled_range: NDArray[np.float64]


class Kpss(NamedTuple):
    """The test of Kwiatkowski, Phillips, Schmidt and Shin for stationarity about a level.

    Attributes
    ----------
    statistic : float
        Large when the partial sums wander.
    n_lags : int
        Lags of the long-run variance.
    p_value : float
        Interpolated in the published table, and cut to its ends, 0.01 and 0.1.
    """

    statistic: float
    n_lags: int
    p_value: float


def acf(y: Samples, n_lags: int = 40) -> NDArray[np.float64]:
    """Return the autocorrelations of a series.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, with NaN for a gap.
    n_lags : int
        The longest lag.

    Returns
    -------
    numpy.ndarray
        Element ``k`` is the correlation at lag ``k``, from 1 at lag 0; NaN throughout for a series that does not vary.
    """
    return _native.acf(row(y), _lags(n_lags))


def pacf(y: Samples, n_lags: int = 40) -> NDArray[np.float64]:
    """Return the partial autocorrelations of a series: the last coefficient of the AR of each order, by Yule-Walker.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, with NaN for a gap.
    n_lags : int
        The longest lag.

    Returns
    -------
    numpy.ndarray
        Element ``k`` is the partial correlation at lag ``k``, from 1 at lag 0.
    """
    return _native.pacf(row(y), _lags(n_lags))


def periodogram(y: Samples) -> Periodogram:
    """Return the periodogram of a series without gaps, its mean taken off.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples.

    Returns
    -------
    Periodogram
        Frequencies and the power at each.

    Raises
    ------
    StatisticError
        If there are gaps, too few samples, or samples that do not vary.
    """
    return Periodogram(*_native.periodogram(row(y)))


def hurst(
    y: Samples, *, method: Literal["rescaled_range", "aggregated_variance", "whittle", "gph"] = "whittle"
) -> Hurst:
    """Estimate the Hurst exponent of a series without gaps.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples.
    method : {"rescaled_range", "aggregated_variance", "whittle", "gph"}
        By the slope of the pox plot; by how the variance of means falls with their length; by the local Whittle likelihood of the
        low frequencies; by the log-periodogram regression of Geweke and Porter-Hudak.

    Returns
    -------
    Hurst
        The exponent, and its standard error where the method gives one.

    Raises
    ------
    StatisticError
        If there are gaps, too few samples, or samples that do not vary.
    InputError
        If there is no such method.
    """
    return Hurst(*_native.hurst(row(y), method))


def pox_plot(y: Samples) -> PoxPlot:
    """Return the points of the pox plot, whose slope in logarithms is the Hurst exponent by rescaled range.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples without gaps.

    Returns
    -------
    PoxPlot
        Lengths of stretches, and the rescaled range of each.

    Raises
    ------
    StatisticError
        If there are gaps, too few samples, or samples that do not vary.
    """
    return PoxPlot(*_native.pox_plot(row(y)))


def kpss(y: Samples) -> Kpss:
    """Test whether a series is stationary about a level.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples without gaps.

    Returns
    -------
    Kpss
        The statistic and its p-value; a small one speaks against stationarity.

    Raises
    ------
    StatisticError
        If there are gaps, too few samples, or samples that do not vary.
    """
    return Kpss(*_native.kpss(row(y)))


def _lags(n_lags: int) -> int:
    if not 0 <= n_lags <= 1_000_000:
        raise InputError(f"n_lags is {n_lags}; it must be from 0 to 1000000", kind="Lags", given=n_lags)
    return n_lags
