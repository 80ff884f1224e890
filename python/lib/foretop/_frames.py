"""Many series as people have them: wide and long frames, samples by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from foretop._axis import Axis, axis_of
from foretop._errors import InputError
from foretop._samples import Row, is_pandas, row

if TYPE_CHECKING:
    import pandas as pd

# The columns of a long frame, as statsforecast and its relatives call them.
ID, TIME, VALUE = "unique_id", "ds", "y"


def is_long(table: Any) -> bool:
    """Say whether this is a DataFrame with a row for each sample of each series."""
    return is_pandas(table, "DataFrame") and {ID, TIME, VALUE} <= {*table.columns, *table.index.names}


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a long frame with a column for each series, in the order in which they come first, and all moments as its index.

    Raises
    ------
    InputError
        If a series has two samples of one moment.
    """
    if ID in frame.index.names:
        frame = frame.reset_index()
    twice = frame[frame.duplicated([ID, TIME])]
    if len(twice) > 0:
        name, moment = twice[ID].iloc[0], twice[TIME].iloc[0]
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
        return axis_of(table.index)
    except InputError as error:
        message = (
            f"the moments in `{TIME}`, of all series together, from {table.index[0]} to {table.index[-1]}, are not evenly spaced; "
            f"make missing rows gaps, as in frame.pivot(index='{TIME}', columns='{ID}', values='{VALUE}').asfreq('5min')"
        )
        raise InputError(message, kind="Index") from error


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


def by_name(samples: Any, names: list[Any], is_named: bool) -> Any:
    """Return a sample for each series, NaN for those left out; called by :meth:`Fleet.step`.

    Raises
    ------
    InputError
        If there is a sample of a series that there is not.
    """
    if not isinstance(samples, Mapping) and not (is_named and is_pandas(samples, "Series")):
        return samples
    found, known = dict(samples.items()), set(names)
    strangers = [name for name in found if name not in known]
    if strangers:
        message = (
            f"there is no series {strangers[0]!r} among {len(names)}; the names are {_some(names)} "
            "(an array has samples in their order)"
        )
        raise InputError(message, kind="Name", given=strangers[0])
    return row([found.get(name, np.nan) for name in names])


def _some(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:4]))
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
