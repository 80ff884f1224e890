"""Samples as people have them: arrays, lists, pandas and polars objects; read into rows of 64-bit floats."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretop._axis import Axis, axis_of, positions, spread
from foretop._errors import InputError
from foretop._index import read_index

if TYPE_CHECKING:
    import pandas as pd

    Samples: TypeAlias = ArrayLike | pd.Series[Any] | pd.Index[Any] | pd.DataFrame
    Table: TypeAlias = ArrayLike | pd.DataFrame | Mapping[Any, Samples]

Row: TypeAlias = NDArray[np.float64]

# Floating point, signed and unsigned whole numbers: what has a value on the real line.
_NUMBER_KINDS = "fiu"


def read_series(samples: Any) -> tuple[Row, Axis | None]:
    """Return the samples as a contiguous row, and what continues their index if they have one."""
    samples = _column(samples)
    return row(samples), axis_of(samples.index) if is_pandas(samples, "Series") else None


def read_table(rows: Any) -> tuple[NDArray[np.float64], Axis | None, list[Any] | None]:
    """Return many series as a contiguous array, a row for each, what continues their index, and their names if they have any.

    Of a DataFrame each column is a series, or each ``unique_id`` of a long one; pandas Series in a dictionary are put beside each other by their index.
    """
    from foretop import _frames

    rows = as_frame(by_column(rows))
    if is_pandas(rows, "DataFrame"):
        is_long = _frames.is_long(rows)
        frame = _frames.wide(rows) if is_long else rows
        axis = _frames.long_axis(frame) if is_long else axis_of(frame.index)
        # Columns that are counted have no names.
        names = None if is_pandas(frame.columns, "RangeIndex") else frame.columns.to_list()
        return _stacked([row(frame[name]) for name in frame]), axis, names
    if isinstance(rows, Mapping):
        return _stacked(_frames.aligned(rows)), None, list(rows)
    return _floats(rows, 2), None, None


def as_frame(rows: Any) -> Any:
    """Return a dictionary of pandas Series as a frame, put beside each other by what their labels mean; anything else as it is."""
    if not isinstance(rows, Mapping) or not rows or not all(is_pandas(samples, "Series") for samples in rows.values()):
        return rows
    columns = {name: samples.set_axis(read_index(samples.index)) for name, samples in rows.items()}
    return sys.modules["pandas"].DataFrame(columns)


def by_column(table: Any) -> Any:
    """Return a polars frame as a dictionary of its columns, and anything else as it is.

    Raises
    ------
    InputError
        If a column has no numbers, such as one of moments: a polars frame has no index, and long ones are read as pandas only.
    """
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(table, polars.DataFrame):
        return table
    for column in table:
        if not column.dtype.is_numeric() and column.dtype != polars.Null:
            cures = [f"leave it out, as in frame.drop({column.name!r})"]
            if {"unique_id", "ds", "y"} <= set(table.columns):
                cures = ["pass a long frame as frame.to_pandas()"]
            elif column.dtype.is_temporal():
                cures.append(f"pass frame.to_pandas().set_index({column.name!r})")
            message = (
                f"the column `{column.name}` of the polars frame is of type {column.dtype}; "
                f"each column must be a series of numbers: {', or '.join(cures)}"
            )
            raise InputError(message, kind="Type", given=str(column.dtype))
    return {column.name: column for column in table}


def _stacked(rows: list[Row]) -> NDArray[np.float64]:
    return np.array(rows).reshape(len(rows), -1)


def row(samples: Any) -> Row:
    """Return the samples as a contiguous row of 64-bit floats.

    Raises
    ------
    InputError
        If they are not a row, or not numbers.
    """
    samples = _column(samples)
    if is_pandas(samples, "Series") or is_pandas(samples, "Index"):
        samples = _of_pandas(samples)
    return _floats(samples, 1)


def read_step(samples: Any, axis: Axis | None, first: int) -> float | Row:
    """Return a single number as a float, and anything else as :func:`row` does, from position `first` on; called by the native half.

    What has an index is placed by it, with gaps for labels that it leaves out.
    """
    if _is_missing(samples):
        return float("nan")
    if isinstance(samples, numbers.Real | Decimal) or (isinstance(samples, np.ndarray) and samples.ndim == 0):
        return float(_floats(samples, 0))
    if isinstance(samples, str | bytes):
        raise _no_numbers(np.asarray(samples).dtype, f" (the sample is {samples!r:.40})")
    samples = _column(samples)
    if axis is None or not is_pandas(samples, "Series"):
        return row(samples)
    return spread(row(samples), positions(samples.index, axis, first))


def is_pandas(samples: object, name: str) -> bool:
    """Say whether this is a pandas object of the class of that name."""
    # Whoever holds a pandas object has imported pandas; nobody else has to pay for it.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(samples, getattr(pandas, name))


def _of_pandas(samples: Any) -> NDArray[Any]:
    """Return the values, with the missing ones of pandas' own number types as NaN."""
    from pandas.api.extensions import ExtensionDtype

    if isinstance(samples.dtype, ExtensionDtype) and samples.dtype.kind in _NUMBER_KINDS:
        return np.asarray(samples.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(samples.to_numpy())


def _column(samples: Any) -> Any:
    """Return the only column of what has one, and anything else as it is."""
    if is_pandas(samples, "DataFrame") and samples.shape[1] == 1:
        return samples.iloc[:, 0]
    if isinstance(samples, np.ndarray) and samples.ndim == 2 and samples.shape[1] == 1:
        return samples[:, 0]
    return samples


def _floats(samples: Any, n_dimensions: int) -> NDArray[np.float64]:
    try:
        array = np.asanyarray(samples) if isinstance(samples, np.ma.MaskedArray) else np.asarray(samples)
    except ValueError as error:
        message = f"the samples are of uneven shape ({error}); they must be {_SHAPES[n_dimensions]}"
        raise InputError(message, kind="Shape") from error
    if array.ndim == 2 and n_dimensions == 1 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != n_dimensions:
        cure = _CURES.get((array.ndim, n_dimensions), "")
        message = f"the samples have the shape {array.shape}; they must be {_SHAPES[n_dimensions]}{cure}"
        raise InputError(message, kind="Shape", given=array.shape)
    if array.dtype == object:
        return _of_objects(array)
    # An empty list is of no type in particular.
    if array.dtype.kind not in _NUMBER_KINDS and array.size > 0:
        raise _no_numbers(array.dtype)
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


_SHAPES = ["a number", "a row of numbers", "a table with a row for each series"]

# By the dimensions that there are and those that there have to be.
_CURES = {
    (2, 1): " (pass one column, as in table['load'] or table[:, 0]; Fleet takes many series)",
    (0, 1): " (one sample is no series)",
    (1, 2): " (fit takes one series)",
}


def _of_objects(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers of any type as floats, and what is missing as NaN."""
    floats = np.empty(array.shape)
    for idx, value in enumerate(array.flat):
        if _is_missing(value):
            floats.flat[idx] = np.nan
        elif isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool):
            floats.flat[idx] = float(value)
        else:
            raise _no_numbers(array.dtype, f" (sample {idx} is {value!r:.40})")
    return floats


def _is_missing(value: object) -> bool:
    # None, and what pandas writes for a missing number of its own types, or a missing time.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _no_numbers(dtype: np.dtype[Any], culprit: str = "") -> InputError:
    cure = "y.astype(float)" if dtype.kind == "b" else "pandas.to_numeric(y, errors='coerce')"
    message = f"the samples are of type {dtype}{culprit}; they must be numbers, with NaN or None for a gap, as {cure} makes them"
    return InputError(message, kind="Type", given=str(dtype))
