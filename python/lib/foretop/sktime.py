"""A forecaster of sktime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sktime.forecasting.base import BaseForecaster

from foretop._models import fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Forecaster"]


class Forecaster(BaseForecaster):
    """A model of foretop with the methods of a forecaster of sktime: ``fit``, ``predict``, ``predict_interval``, ``update``.

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

    Examples
    --------
    >>> from foretop.sktime import Forecaster
    >>> from sktime.datasets import load_airline
    >>> y = load_airline()
    >>> forecaster = Forecaster("ARIMA(2,1,0)").fit(y)
    >>> interval = forecaster.predict_interval([1, 2, 3], coverage=0.8)
    >>> interval.shape
    (3, 2)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "python_dependencies": "foretop",
        "y_inner_mtype": "pd.Series",
        "capability:exogenous": False,
        "capability:insample": False,
        "capability:missing_values": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:update": True,
        "requires-fh-in-fit": False,
    }

    # The model itself is what remembers.
    _config: ClassVar[dict[str, Any]] = {"remember_data": False}

    def __init__(
        self,
        spec: str = "AUTO",
        intervals: Literal["adaptive", "empirical", "normal"] | None = None,
        bounds: tuple[float | None, float | None] | None = None,
        non_negative: bool = False,
    ) -> None:
        self.spec = spec
        self.intervals = intervals
        self.bounds = bounds
        self.non_negative = non_negative
        super().__init__()

    def _fit(self, y: pd.Series[Any], X: Any, fh: Any) -> Forecaster:  # noqa: N803
        self.model_ = fit(y, self.spec, intervals=self.intervals, bounds=self.bounds, non_negative=self.non_negative)
        self._last_label, self._name = y.index[-1], y.name
        return self

    def _update(self, y: pd.Series[Any], X: Any = None, update_params: bool = True) -> Forecaster:  # noqa: N803
        coming = y[y.index > self._last_label]
        if len(coming) > 0:
            self.model_.step(coming)
            self._last_label = coming.index[-1]
        return self

    def _predict(self, fh: Any, X: Any) -> pd.Series[Any]:  # noqa: N803
        leads = self._leads(fh)
        mean = self.model_.forecast(int(leads.max())).mean[leads - 1]
        return pd.Series(mean, fh.to_absolute_index(self.cutoff), name=self._name)

    def _predict_interval(self, fh: Any, X: Any, coverage: list[float]) -> pd.DataFrame:  # noqa: N803
        leads, name = self._leads(fh), self._name
        lower, upper = self.model_.forecast(int(leads.max())).interval(coverage)
        ends = [end[row, leads - 1] for row in range(len(coverage)) for end in (lower, upper)]
        columns = pd.MultiIndex.from_product([[0 if name is None else name], coverage, ["lower", "upper"]])
        return pd.DataFrame(np.column_stack(ends), fh.to_absolute_index(self.cutoff), columns)

    def _leads(self, fh: Any) -> NDArray[np.int64]:
        return np.asarray(fh.to_relative(self.cutoff).to_numpy(), dtype=np.int64)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return what sktime's own checks make one of."""
        return [{"spec": "AR(1)"}, {"spec": "ETS(A,N,N)", "non_negative": True}]
