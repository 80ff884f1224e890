"""Tables of forecasts and scores, as arrays and as pandas objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from foretop._native import Forecast


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

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas object, indexed by its first column."""
        import pandas as pd

        return pd.DataFrame(self._columns).set_index(next(iter(self._columns)))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def forecast_frame(forecast: Forecast, confidence: float) -> pd.DataFrame:
    """Return a forecast as a table; called by :meth:`Forecast.to_frame`."""
    import pandas as pd

    lower, upper = forecast.interval(confidence)
    columns = {"mean": forecast.mean, "standard_error": forecast.standard_error, "lower": lower, "upper": upper}
    return pd.DataFrame(columns, index=forecast.index)
