"""Many series as people have them: wide and long frames, samples by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foretop._axis import Axis, axis_of, positions, spread
from foretop._errors import InputError
from foretop._index import is_clock_change, read_index
from foretop._samples import Row, as_frame, by_column, is_pandas, row

if TYPE_CHECKING:
    import pandas as pd

# The columns of a long frame, as statsforecast and its relatives call them.
ID, TIME, VALUE = "unique_id", "ds", "y"

# How to make labels timestamps, of a Series and of a long frame.
_OF_SERIES, _OF_COLUMN = "y.set_axis(pd.to_datetime(y.index, ", f"frame.assign({TIME}=pd.to_datetime(frame['{TIME}'], "


def is_long(table: Any) -> bool:
    """Say whether this is a DataFrame with a row for each sample of each series."""
    return is_pandas(table, "DataFrame") and {ID, TIME, VALUE} <= {*table.columns, *table.index.names}


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a long frame with a column for each series, in the order in which they come first, and all moments as its index.

    Raises
    ------
    InputError
        If a series has two samples of one moment, or moments are text of which no order can be told.
    """
    import pandas as pd

    if ID in frame.index.names or TIME in frame.index.names:
        frame = frame.reset_index()
    try:
        moments = read_index(pd.Index(frame[TIME]))
    except InputError as error:
        message = f"in the column `{TIME}` of the frame: {error}".replace(_OF_SERIES, _OF_COLUMN)
        raise InputError(message, kind=error.kind) from error
    if pd.api.types.infer_dtype(moments) in ("string", "mixed"):
        message = (
            f"the column `{TIME}` has text such as {moments[0]!r}, of which no order can be told; "
            f"make it timestamps by pd.to_datetime, or numbers by pd.to_numeric, as in frame.assign({TIME}=pd.to_datetime(frame['{TIME}']))"
        )
        raise InputError(message, kind="Index", given=moments[0])
    frame = frame.assign(**{TIME: moments})
    twice = frame[frame.duplicated([ID, TIME])]
    if len(twice) > 0:
        name, moment = twice[ID].iloc[0], twice[TIME].iloc[0]
        if is_clock_change(pd.Index(frame.loc[frame[ID] == name, TIME])):
            message = (
                f"the series {name!r} has {moment} twice, as at the end of summer time; say which time zone it is, "
                f"as in frame['{TIME}'].dt.tz_localize('Europe/Berlin', ambiguous='infer') for each series"
            )
        else:
            message = (
                f"the series {name!r} has more than one sample at {moment}; "
                f"keep one, as in frame.drop_duplicates(['{ID}', '{TIME}'])"
            )
        raise InputError(message, kind="Twice", given=name)
    table = frame.set_index([TIME, ID])[VALUE].unstack(ID)
    return table[frame[ID].unique()].sort_index()


def long_axis(table: pd.DataFrame) -> Axis | None:
    """Return what continues the moments of :func:`wide`.

    Raises
    ------
    InputError
        If they are not evenly spaced.
    """
    try:
        return axis_of(table.index, f"frame.pivot(index='{TIME}', columns='{ID}', values='{VALUE}')")
    except InputError as error:
        raise InputError(f"the moments in `{TIME}`, of all series together: {error}", kind="Index") from error


def traces(frame: pd.DataFrame) -> list[tuple[str, Row]]:
    """Return each series of a long frame by its name, from its first sample to its last, with gaps where others have samples."""
    table = wide(frame)
    long_axis(table)
    return [(str(name), _trimmed(row(table[name]))) for name in table]


def _trimmed(samples: Row) -> Row:
    known = np.flatnonzero(~np.isnan(samples))
    return samples[known[0] : known[-1] + 1] if len(known) else samples[:0]


def aligned(series: Mapping[Any, Any]) -> list[Row]:
    """Return series that end together, with gaps in front of those that began later."""
    rows = [row(samples) for samples in series.values()]
    length = max(map(len, rows), default=0)
    return [np.concatenate([np.full(length - len(samples), np.nan), samples]) for samples in rows]


def read_steps(samples: Any, names: list[Any], is_named: bool, axis: Axis | None, first: int) -> NDArray[np.float64]:
    """Return a row for each step from position `first` on, with a sample for each series, NaN for those left out; called by :meth:`Fleet.step`.

    Raises
    ------
    InputError
        If there is a sample of a series that there is not, or the index of a frame does not continue that of the series.
    """
    columns = by_column(samples)
    if columns is not samples:
        _check_known(columns, names)
        return np.ascontiguousarray(_steps(columns, names, len(samples)))
    samples = as_frame(samples)
    if _is_row_of_frame(samples):
        samples = samples.to_frame().T
    if is_pandas(samples, "DataFrame"):
        frame = wide(samples) if is_long(samples) else samples
        _check_known(frame.columns, names)
        steps = _steps(frame, names, len(frame))
        return np.ascontiguousarray(spread(steps, positions(frame.index, axis, first)))
    if isinstance(samples, Mapping) or (is_named and is_pandas(samples, "Series")):
        found = dict(samples.items())
        _check_known(found, names)
        samples = [found.get(name, np.nan) for name in names]
    return row(samples).reshape(1, -1)


def _steps(table: Any, names: list[Any], n_steps: int) -> NDArray[np.float64]:
    """Return a row for each step of a table by columns, with gaps for those that it does not have."""
    gap = np.full(n_steps, np.nan)
    columns = [row(table[name]) if name in table else gap for name in names]
    return np.array(columns).reshape(len(names), n_steps).T


def _is_row_of_frame(samples: Any) -> bool:
    """Say whether this is a row of a frame, whose name is the label of that row."""
    return is_pandas(samples, "Series") and (is_pandas(samples.name, "Timestamp") or is_pandas(samples.name, "Period"))


def _check_known(found: Iterable[Any], names: list[Any]) -> None:
    known = set(names)
    strangers = [name for name in found if name not in known]
    if strangers:
        message = (
            f"there is no series {strangers[0]!r} among {len(names)}; the names are {_some(names)} "
            "(an array has samples in their order)"
        )
        raise InputError(message, kind="Name", given=strangers[0])


def _some(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:4]))
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
