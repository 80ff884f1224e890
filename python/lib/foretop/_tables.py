"""Tables of forecasts and scores, as arrays and as pandas objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from foretop._optional import imported

if TYPE_CHECKING:
    import pandas

    from foretop._native import FleetForecast, Forecast


class Table(Mapping[str, "NDArray[Any]"]):
    """Columns of equal length by their names, in an order.

    Reads like a dictionary of arrays, prints like a table, and becomes a pandas object by :meth:`to_frame`, or where pandas takes
    a dictionary.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        cells = [[name, *(_text(value) for value in column)] for name, column in self._columns.items()]
        widths = [max(map(len, column)) for column in cells]
        lines = zip(*cells, strict=True)
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas object, indexed by its first column."""
        pd = imported("pandas", "tables")
        return cast("pandas.DataFrame", pd.DataFrame(self._columns).set_index(next(iter(self._columns))))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def forecast_frame(forecast: Forecast, confidence: float | list[float]) -> pandas.DataFrame:
    """Return a forecast as a table; called by :meth:`Forecast.to_frame`."""
    pd = imported("pandas", "tables")
    columns = {"mean": forecast.mean, "standard_error": forecast.standard_error, **_ends(forecast, confidence)}
    return cast("pandas.DataFrame", pd.DataFrame(columns, index=forecast.index))


def fleet_frame(forecast: FleetForecast, confidence: float | list[float]) -> pandas.DataFrame:
    """Return a forecast of many series as a long table; called by :meth:`FleetForecast.to_frame`."""
    pd = imported("pandas", "tables")
    n_series, n_leads = forecast.mean.shape
    index = pd.Index(forecast.index)
    columns = {
        "unique_id": pd.Index(forecast.names).repeat(n_leads),
        "ds": index.take(np.tile(np.arange(n_leads), n_series)),
        "mean": forecast.mean.ravel(),
        "standard_error": forecast.standard_error.ravel(),
        **{name: end.ravel() for name, end in _ends(forecast, confidence).items()},
    }
    return cast("pandas.DataFrame", pd.DataFrame(columns))


def _ends(forecast: Forecast | FleetForecast, confidence: float | list[float]) -> dict[str, NDArray[np.float64]]:
    """Return columns with the ends of intervals; their names say which only where there are several."""
    if isinstance(confidence, float):
        lower, upper = forecast.interval(confidence)
        return {"lower": lower, "upper": upper}
    ends = {}
    for level in confidence:
        ends[f"lower_{100 * level:g}"], ends[f"upper_{100 * level:g}"] = forecast.interval(level)
    return ends
