"""Fitting and judging models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from foretop import _native
from foretop._axis import step_seconds
from foretop._errors import InputError
from foretop._samples import read_series
from foretop._tables import Table

if TYPE_CHECKING:
    from foretop._samples import Samples


def fit(
    y: Samples,
    spec: str = "AUTO",
    *,
    intervals: Literal["adaptive", "empirical", "normal"] | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    non_negative: bool = False,
) -> _native.Model:
    """Fit a model to a series.

    Parameters
    ----------
    y : array_like, pandas or polars Series, or DataFrame of one column
        Evenly spaced samples, oldest first, with NaN or None for a gap. The index of a pandas object is continued by forecasts if it is
        of moments, of periods or of evenly spaced whole numbers.
    spec : str
        The model, as in ``"AR(16)"`` or ``"REFIT(ARMA(4,4),every=100,window=600)"``; :func:`models` lists them. ``AUTO`` combines several; if the index is of moments or
        periods, with seasons of a day and a week, or of a year, as far as `y` is long enough: ``AUTO(24,168)``.
    intervals : {"adaptive", "empirical", "normal"}, optional
        Where the ends of intervals come from: from ends that move with every error, from quantiles of past errors, or from the standard error.
        Unless given they are adaptive for ``AUTO`` and normal for other models. Those that are learned are learned from the second half of
        `y`, by a model that is fitted to the first; at the end it is fitted anew to all of `y`, by a ``REFIT`` around `spec`
        that does so again whenever as many samples as there are in that half have come.
    bounds : tuple of float or None, optional
        The least and the greatest value that the quantity can have, as in ``(0, 100)``; None where there is none. Means and the ends of intervals
        stay inside.
    non_negative : bool
        The same as a lower bound of 0.

    Returns
    -------
    Model
        What was found. It can be stepped and asked for forecasts, from the end of `y`.

    Raises
    ------
    SpecError
        If `spec` is no specification.
    FitError
        If the samples do not yield the model.
    InputError
        If `y` is no row of numbers, its moments are not evenly spaced, or an option is not one of those above.

    Examples
    --------
    >>> import numpy as np
    >>> import foretop
    >>> y = np.sin(np.arange(200) * 0.3) + np.arange(200) * 7919 % 13 / 50
    >>> model = foretop.fit(y, "AR(4)")
    >>> model.step(0.5)
    >>> forecast = model.forecast(30)
    >>> lower, upper = forecast.interval(0.95)
    >>> bool((lower < forecast.mean).all())
    True
    >>> lower, upper = forecast.interval([0.5, 0.8, 0.95])
    >>> lower.shape
    (3, 30)
    """
    samples, axis = read_series(y)
    step = step_seconds(axis) if spec == "AUTO" else None
    if step is not None:
        spec = _native.auto_with_seasons(step, len(samples))
    return _native.fit(samples, spec, axis, intervals, bounds, non_negative)


def evaluate(
    y: Samples,
    spec: str = "AUTO",
    *,
    horizon: int = 30,
    n_fit: int | None = None,
    refit_every: int | None = None,
    refit_window: int | None = None,
) -> Table:
    """Score a model's forecasts on the part of a series that it was not fitted to.

    The model is fitted to the first samples, then takes the others one at a time and makes a forecast after each; what a forecast
    said of lead ``h`` is scored when the ``h``-th following sample is in. An error is sample minus forecast.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, oldest first, with NaN for a gap. Nothing is scored against a gap.
    spec : str
        The model, as in ``"AR(16)"``; :func:`models` lists them.
    horizon : int
        How many steps ahead the forecasts look.
    n_fit : int, optional
        How many samples the fit uses; half of them unless given.
    refit_every : int, optional
        Fit anew whenever so many samples have come; never unless given. The same as a ``REFIT`` around `spec`.
    refit_window : int, optional
        How many of the latest samples such a fit uses; `n_fit` unless given.

    Returns
    -------
    Table
        A row for each lead, with columns ``lead``, ``n`` (errors scored), ``n_unscored`` (forecasts that came due in a gap),
        ``mean_squared``, ``mean_absolute``, ``mean``, ``min``, ``median`` and ``max`` of the errors, ``mean_absolute_scaled`` (by
        the error of LAST at one step on the samples of the fit), ``crps`` (the continuous ranked probability score of the normal
        distribution that the forecast stands for), and for intervals of 50, 80 and 95 % ``coverage_50`` and so on, the share of
        samples inside, and ``interval_score_50`` and so on, their width and what misses cost. What nothing was scored for is NaN.

    Raises
    ------
    SpecError
        If `spec` is no specification.
    FitError
        If the first samples do not yield the model.
    InputError
        If `y` is no row of numbers, or an option is out of range.
    """
    samples, _ = read_series(y)
    n_fit = _fit_length(n_fit, len(samples))
    return Table(_native.evaluate(samples, _refitting(spec, refit_every, refit_window, n_fit), n_fit, horizon))


class Residuals(NamedTuple):
    """Whether errors one step ahead are noise, and whether it is normal.

    A p-value is the probability of noise looking like this or less like noise. Below 0.05 there is something left to be predicted, or
    normal intervals do not fit.

    Attributes
    ----------
    n : int
        Errors tested.
    n_lags : int
        Lags that correlations were looked at.
    significant_share : float
        The share of correlations beyond ``1.96 / sqrt(n)``, which 5 % of those of noise are.
    ljung_box_p : float
        Whether errors are correlated, by the test of Ljung and Box.
    turning_points_p : float
        Whether they turn around as often as noise.
    rises_p : float
        Whether they rise as often as noise.
    r_squared : float
        The share of their variance on the line of their normal quantile-quantile plot; 1 for normal ones.
    normality_p : float
        Whether they are normal, by the test of Shapiro and Francia; NaN beyond 5,000 errors.
    """

    n: int
    n_lags: int
    significant_share: float
    ljung_box_p: float
    turning_points_p: float
    rises_p: float
    r_squared: float
    normality_p: float


def residuals(
    y: Samples,
    spec: str = "AUTO",
    *,
    n_fit: int | None = None,
    refit_every: int | None = None,
    refit_window: int | None = None,
) -> Residuals:
    """Test a model's errors one step ahead for noise, on the part of a series that it was not fitted to.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, oldest first, with NaN for a gap. No test looks across a gap.
    spec : str
        The model, as in ``"AR(16)"``; :func:`models` lists them.
    n_fit : int, optional
        How many samples the fit uses; half of them unless given.
    refit_every : int, optional
        As in :func:`evaluate`.
    refit_window : int, optional
        As in :func:`evaluate`.

    Returns
    -------
    Residuals
        The tests.

    Raises
    ------
    SpecError
        If `spec` is no specification.
    FitError
        If the first samples do not yield the model.
    InputError
        If `y` is no row of numbers, or an option is out of range.
    StatisticError
        If there are too few errors to test, or they do not vary.
    """
    samples, _ = read_series(y)
    n_fit = _fit_length(n_fit, len(samples))
    spec = _refitting(spec, refit_every, refit_window, n_fit)
    n, n_lags, figures = _native.residuals(samples, spec, n_fit)
    return Residuals(n, n_lags, *figures)


def compare(
    y: Samples,
    first: str,
    second: str,
    *,
    horizon: int = 30,
    n_fit: int | None = None,
    loss: Literal["squared", "absolute"] = "squared",
    refit_every: int | None = None,
    refit_window: int | None = None,
) -> Table:
    """Say whether one model is better than another on a series, or was only luckier.

    Both are fitted and stepped as by :func:`evaluate`; the test of Diebold and Mariano (1995) then weighs the difference of their
    losses at each lead, with the small-sample correction of Harvey, Leybourne and Newbold (1997).

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, oldest first, with NaN for a gap.
    first, second : str
        The two models, as in ``"AR(16)"``; :func:`models` lists them.
    horizon : int
        How many steps ahead the forecasts look.
    n_fit : int, optional
        How many samples the fits use; half of them unless given.
    loss : {"squared", "absolute"}
        What an error costs: its square, or its magnitude.
    refit_every, refit_window : int, optional
        As in :func:`evaluate`, for both.

    Returns
    -------
    Table
        A row for each lead, with columns ``lead``, ``n`` (moments at which both have an error), ``difference`` (mean loss of the
        first less that of the second: negative when the first is better), ``statistic`` (the difference over its standard
        error) and ``p_value`` (the probability of a statistic this far from 0 if both were equally good).

    Raises
    ------
    CompareError
        If there are too few samples for the horizon, or the losses never differ.
    SpecError
        If `first` or `second` is no specification.
    FitError
        If the first samples do not yield a model.
    InputError
        If `y` is no row of numbers, or an option is out of range.
    """
    samples, _ = read_series(y)
    n_fit = _fit_length(n_fit, len(samples))
    specs = (_refitting(first, refit_every, refit_window, n_fit), _refitting(second, refit_every, refit_window, n_fit))
    return Table(_native.compare(samples, specs, n_fit, horizon, loss))


def select(
    y: Samples,
    *candidates: str,
    criterion: Literal["aic", "aicc", "bic", "out_of_sample"] = "aicc",
    n_fit: int | None = None,
    lead: int = 1,
) -> dict[str, float]:
    """Rank models for a series.

    Parameters
    ----------
    y : array_like or pandas.Series
        Evenly spaced samples, oldest first, with NaN for a gap.
    candidates : str
        The models, as in ``"AR(16)"``; ranges stand for all in them, as in ``"ARMA(0..2,0..2)"``.
    criterion : {"aic", "aicc", "bic", "out_of_sample"}
        By what they are ranked: Akaike's criterion, the same corrected for few samples, Schwarz's, or the mean squared error of
        forecasts of what was not fitted to, which also ranks models without a likelihood.
    n_fit : int, optional
        How many samples the fits use out of sample; half of them unless given.
    lead : int
        How many steps ahead the forecasts out of sample are for.

    Returns
    -------
    dict of str to float
        The criterion by specification, the best first. NaN for models that cannot be fitted or have no likelihood, and for those
        that difference another number of times than the first that has one, since their likelihoods are of other samples.

    Raises
    ------
    SpecError
        If a candidate is no specification.
    InputError
        If `y` is no row of numbers, or an option is out of range.
    """
    samples, _ = read_series(y)
    if lead < 1:
        raise InputError(f"lead is {lead}; it must be at least 1", kind="Lead", given=lead)
    n_fit = _fit_length(n_fit, len(samples))
    return dict(_native.select(samples, list(candidates), criterion, n_fit, lead))


def models() -> dict[str, str]:
    """List every model there is.

    Returns
    -------
    dict of str to str
        How each is written, and a sentence about it, simplest first.
    """
    return dict(_native.models())


def _fit_length(n_fit: int | None, n_samples: int) -> int:
    if n_fit is None:
        return n_samples // 2
    if not 0 <= n_fit <= n_samples:
        message = f"n_fit is {n_fit}; it must be from 0 to the number of samples, {n_samples}"
        raise InputError(message, kind="FitLength", given=n_fit)
    return n_fit


def _refitting(spec: str, every: int | None, window: int | None, n_fit: int) -> str:
    if every is None:
        if window is not None:
            raise InputError("refit_window is given without refit_every", kind="RefitWindow", given=window)
        return spec
    return f"REFIT({spec},every={every},window={n_fit if window is None else window})"
