"""A forecaster that stands among the models of statsforecast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from statsforecast.models import _TS

from foretop._models import fit

if TYPE_CHECKING:
    from foretop._native import Forecast, Model

    Row = NDArray[np.floating[Any]]
    Columns = dict[str, NDArray[np.float64]]

__all__ = ["Forecaster"]


class Forecaster(_TS):
    """A model of foretop for ``StatsForecast(models=[...])``: its ``fit``, ``forecast``, ``predict``, ``forward`` and ``cross_validation``.

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
    alias : str, optional
        The name of its columns; `spec` unless given.
    prediction_intervals : statsforecast.utils.ConformalIntervals, optional
        Makes statsforecast compute the intervals, in place of the model.
    """

    def __init__(
        self,
        spec: str = "AUTO",
        *,
        intervals: Literal["adaptive", "empirical", "normal"] | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        non_negative: bool = False,
        alias: str | None = None,
        prediction_intervals: Any = None,
    ) -> None:
        self.spec = spec
        self.intervals = intervals
        self.bounds = bounds
        self.non_negative = non_negative
        self.alias = spec if alias is None else alias
        self.prediction_intervals = prediction_intervals

    def fit(self, y: Row, X: Any = None) -> Forecaster:  # noqa: N803
        """Fit the model to `y`; `X` is not looked at."""
        self._samples = np.asarray(y, dtype=np.float64)
        self.model_: Model = fit(
            self._samples, self.spec, intervals=self.intervals, bounds=self.bounds, non_negative=self.non_negative
        )
        self._store_cs(y=y, X=X)
        return self

    def predict(self, h: int, X: Any = None, level: list[float] | None = None) -> Columns:  # noqa: N803
        """Forecast `h` steps from the end of the samples, with intervals of the given percentages."""
        return self._columns(self.model_.forecast(h), level)

    def predict_in_sample(self, level: list[float] | None = None) -> Columns:
        """Return the forecast of each sample made one step before."""
        fitted = self._samples - self.model_.residuals
        # As wide as the errors that the fit left.
        around = _normal(np.sqrt(self.model_.innovation_variance), level)
        return {"fitted": fitted, **{f"fitted-{name}": fitted + distance for name, distance in around.items()}}

    def forecast(
        self,
        y: Row,
        h: int,
        X: Any = None,  # noqa: N803
        X_future: Any = None,  # noqa: N803
        level: list[float] | None = None,
        fitted: bool = False,
    ) -> Columns:
        """Fit a copy of this to `y` and forecast `h` steps."""
        one = self.new()
        # The scores of statsforecast's own intervals come from forecasts, and none is to score itself.
        one.prediction_intervals = None
        one.fit(y)
        columns = one.predict(h, level=level if self.prediction_intervals is None else None)
        columns = self._add_conformal_intervals(fcst=columns, y=y, X=X, level=level)
        return {**columns, **one.predict_in_sample(level)} if fitted else columns

    def forward(
        self,
        y: Row,
        h: int,
        X: Any = None,  # noqa: N803
        X_future: Any = None,  # noqa: N803
        level: list[float] | None = None,
        fitted: bool = False,
    ) -> Columns:
        """Lead the fitted model over `y`, without a new fit of its coefficients, and forecast `h` steps."""
        samples, predictor = np.asarray(y, dtype=np.float64), self.model_.predictor()
        n_fitted = len(self._samples)
        goes_on = np.array_equal(samples[:n_fitted], self._samples, equal_nan=True)
        predictor.step(samples[n_fitted:] if goes_on else samples)
        columns = self._columns(predictor.forecast(h), level)
        return {**columns, "fitted": samples - self.model_.one_step_errors(samples)} if fitted else columns

    def _columns(self, forecast: Forecast, level: list[float] | None) -> Columns:
        columns = {"mean": forecast.mean}
        if level is None or self.prediction_intervals is not None:
            return self._add_predict_conformal_intervals(columns, level)  # type: ignore[no-any-return]
        ends = {percentage: forecast.interval(percentage / 100) for percentage in level}
        columns |= {f"lo-{percentage}": ends[percentage][0] for percentage in sorted(level, reverse=True)}
        return columns | {f"hi-{percentage}": ends[percentage][1] for percentage in sorted(level)}


def _normal(deviation: float, level: list[float] | None) -> dict[str, float]:
    """Return how far the ends of normal intervals are from their middle."""
    from statistics import NormalDist

    reach = {percentage: NormalDist().inv_cdf(0.5 + percentage / 200) * deviation for percentage in level or []}
    lower = {f"lo-{percentage}": -reach[percentage] for percentage in sorted(reach, reverse=True)}
    return lower | {f"hi-{percentage}": reach[percentage] for percentage in sorted(reach)}
