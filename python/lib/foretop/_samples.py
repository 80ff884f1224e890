"""Samples as people have them: arrays, lists, pandas objects; read into rows of 64-bit floats."""

from __future__ import annotations

import numbers
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretop._axis import Axis, axis_of
from foretop._errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    Samples: TypeAlias = ArrayLike | pd.Series[Any] | pd.Index[Any]
    Table: TypeAlias = ArrayLike | pd.DataFrame

Row: TypeAlias = NDArray[np.float64]

# Floating point, signed and unsigned whole numbers: what has a value on the real line.
_NUMBER_KINDS = "fiu"


def read_series(samples: Any) -> tuple[Row, Axis | None]:
    """Return the samples as a contiguous row, and what continues their index if they have one."""
    return row(samples), axis_of(samples.index) if is_pandas(samples, "Series") else None


def read_table(rows: Any) -> tuple[NDArray[np.float64], Axis | None]:
    """Return many series as a contiguous array, a row for each; of a DataFrame, each column is a series."""
    if is_pandas(rows, "DataFrame"):
        table = [row(rows[name]) for name in rows]
        return np.array(table).reshape(len(table), -1), axis_of(rows.index)
    return _floats(rows, 2), None


def row(samples: Any) -> Row:
    """Return the samples as a contiguous row of 64-bit floats.

    Raises
    ------
    InputError
        If they are not a row, or not numbers.
    """
    if is_pandas(samples, "Series") or is_pandas(samples, "Index"):
        samples = _of_pandas(samples)
    return _floats(samples, 1)


def one_or_row(samples: Any) -> float | Row:
    """Return a single number as a float, and anything else as :func:`row` does; called by the native half."""
    if isinstance(samples, numbers.Real) or (isinstance(samples, np.ndarray) and samples.ndim == 0):
        return float(_floats(samples, 0))
    return row(samples)


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


def _floats(samples: Any, n_dimensions: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(samples)
    except ValueError as error:
        message = f"the samples are of uneven shape ({error}); they have to be {_SHAPES[n_dimensions]}"
        raise InputError(message, kind="Shape") from error
    if array.ndim != n_dimensions:
        message = f"the samples have the shape {array.shape}; they have to be {_SHAPES[n_dimensions]}"
        raise InputError(message, kind="Shape", given=array.shape)
    # An empty list is of no type in particular.
    if array.dtype.kind not in _NUMBER_KINDS and array.size > 0:
        message = f"the samples are of type {array.dtype}{_culprit(array)}; they have to be numbers, with NaN for a gap"
        raise InputError(message, kind="Type", given=str(array.dtype))
    if isinstance(samples, np.ma.MaskedArray):
        array = np.ma.filled(samples.astype(np.float64), np.nan)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


_SHAPES = ["a number", "a row (of a table, pass one column)", "a table with a row for each series"]


def _culprit(array: NDArray[Any]) -> str:
    """Name the first element of an array of objects that is no number."""
    if array.dtype != object:
        return ""
    strangers = (idx for idx, value in enumerate(array.flat) if not isinstance(value, numbers.Real))
    idx = next(strangers, None)
    return "" if idx is None else f" (sample {idx} is {array.flat[idx]!r:.40})"
