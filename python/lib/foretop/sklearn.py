"""A forecaster that looks like a regressor of scikit-learn.

Rows of ``predict`` are the steps that follow on those of ``fit``: what counts is how many there are, and in which order. That is what
``TimeSeriesSplit`` hands out, so that grid searches, pipelines and scores work as they do with a regressor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from foretop._models import fit

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from foretop._native import Forecast

__all__ = ["Forecaster"]


class Forecaster(RegressorMixin, BaseEstimator):
    """A model of foretop with the methods of a scikit-learn regressor.

    Parameters
    ----------
    spec : str
        The model, as in ``"AR(16)"``; :func:`foretop.models` lists them.
    intervals : {"adaptive", "empirical", "normal"}, optional
        As in :func:`foretop.fit`.
    bounds : tuple of float or None, optional
        As in :func:`foretop.fit`.
    non_negative : bool
        As in :func:`foretop.fit`.

    Attributes
    ----------
    model_ : foretop.Model
        What the fit found.
    n_features_in_ : int
        Columns of the `X` that was fitted with.

    Examples
    --------
    >>> import numpy as np
    >>> from foretop.sklearn import Forecaster
    >>> from sklearn.model_selection import TimeSeriesSplit, cross_val_score
    >>> y = np.sin(np.arange(300) * 0.3) + np.arange(300) * 7919 % 13 / 50
    >>> X = np.arange(300).reshape(-1, 1)
    >>> scores = cross_val_score(Forecaster("AR(8)"), X, y, cv=TimeSeriesSplit(4, test_size=10))
    >>> bool(scores.min() > 0.9)
    True
    """

    def __init__(
        self,
        spec: str = "AUTO",
        *,
        intervals: Literal["adaptive", "empirical", "normal"] | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        non_negative: bool = False,
    ) -> None:
        self.spec = spec
        self.intervals = intervals
        self.bounds = bounds
        self.non_negative = non_negative

    def fit(self, X: Any, y: Any) -> Forecaster:  # noqa: N803
        """Fit the model.

        Parameters
        ----------
        X : array_like
            A row for each sample; what is in it is not looked at.
        y : array_like
            Evenly spaced samples, oldest first, with NaN for a gap.

        Returns
        -------
        Forecaster
            This one.
        """
        X = validate_data(self, X, ensure_all_finite="allow-nan", ensure_min_samples=2)  # noqa: N806
        y = column_or_1d(y, warn=True)
        y = check_array(y, ensure_2d=False, ensure_all_finite="allow-nan", dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        self.model_ = fit(y, self.spec, intervals=self.intervals, bounds=self.bounds, non_negative=self.non_negative)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Forecast as many steps as there are rows.

        Parameters
        ----------
        X : array_like
            A row for each step after the samples of the fit.

        Returns
        -------
        numpy.ndarray
            The expected values.
        """
        return self._forecast(X).mean

    def predict_interval(self, X: Any, *, confidence: float = 0.95) -> NDArray[np.float64]:  # noqa: N803
        """Forecast intervals for as many steps as there are rows.

        Parameters
        ----------
        X : array_like
            A row for each step after the samples of the fit.
        confidence : float
            The probability with which each interval holds the value to come.

        Returns
        -------
        numpy.ndarray
            A row for each step with the lower and the upper end.
        """
        return np.column_stack(self._forecast(X).interval(confidence))

    def _forecast(self, X: Any) -> Forecast:  # noqa: N803
        check_is_fitted(self)
        return self.model_.forecast(len(validate_data(self, X, reset=False, ensure_all_finite="allow-nan")))

    def __sklearn_tags__(self) -> Tags:
        """Say that gaps are taken, and that regressions on `X` are not what this is for."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags
