"""The index of a pandas object: what its labels are, and whether they are in order. Dates and text in ISO 8601 are read as timestamps."""

from __future__ import annotations

import re
import warnings
from typing import Any, TypeAlias

import numpy as np

from foretop._errors import InputError

# A pandas index. Its classes have too little in common for a checker to follow.
Index: TypeAlias = Any

_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(?P<offset> ?(Z|[+-]\d\d(:?\d\d)?))?)?)?")


def read_index(labels: Index) -> Index:
    """Return the index that labels stand for: timestamps for dates and text in ISO 8601, any other as it is.

    Raises
    ------
    InputError
        If text has dates in another form, which order cannot be told of, or a label is missing.
    """
    import pandas as pd

    if isinstance(labels, pd.MultiIndex):
        return labels
    index = labels.infer_objects() if labels.dtype == object else labels
    kind = pd.api.types.infer_dtype(index, skipna=True)
    if kind == "string":
        index = _read_text(index)
    elif kind in ("date", "datetime", "datetime64") and not isinstance(index, pd.DatetimeIndex):
        index = _to_datetime(index)
    if has_order(index) and index.hasnans:
        idx = int(np.flatnonzero(index.isna())[0])
        message = f"label {idx} of the index is missing ({index[idx]}); leave such rows out, as in y[y.index.notna()]"
        raise InputError(message, kind="Index", given=idx)
    return index


def _read_text(index: Index) -> Index:
    import pandas as pd

    matches = [_ISO.fullmatch(str(label)) for label in index]
    offsets = {match["offset"] is not None for match in matches if match is not None}
    if None not in matches and len(offsets) == 1:
        return _to_datetime(index, format="ISO8601", utc=offsets.pop())
    odd = next((idx for idx, match in enumerate(matches) if match is None), 0)
    with warnings.catch_warnings():
        # pandas warns that each text is read by itself; only whether it is a date is asked here.
        warnings.simplefilter("ignore")
        is_date = any(letter.isdigit() for letter in str(index[odd])) and pd.notna(
            pd.to_datetime(str(index[odd]), errors="coerce")
        )
    if is_date or len(offsets) > 0:
        raise _unread(index, odd)
    return index


def _unread(index: Index, idx: int) -> InputError:
    message = (
        f"label {idx} of the index is {index[idx]!r}, text in another form than ISO 8601 (2026-01-31 14:30); "
        "make them timestamps by pd.to_datetime, as in y.set_axis(pd.to_datetime(y.index, format='%m/%d/%Y'))"
    )
    return InputError(message, kind="Index", given=index[idx])


def _to_datetime(index: Index, **options: Any) -> Index:
    import pandas as pd

    try:
        return pd.to_datetime(index, **options)
    except (ValueError, OverflowError, TypeError) as error:
        message = f"the labels of the index from {index[0]!r} to {index[-1]!r} cannot be read as timestamps of one kind ({error})"
        raise InputError(message, kind="Index") from error


def has_order(index: Index) -> bool:
    """Say whether the labels of an index have an order: numbers, timestamps, spans of time or periods."""
    import pandas as pd

    return is_counted(index) or isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex)


def is_counted(index: Index) -> bool:
    """Say whether the labels of an index are numbers."""
    return index.dtype.kind in "iuf"


def check_order(index: Index, series: str) -> None:
    """Check that labels are in order and none comes twice; `series` is the expression that messages have for the pandas object.

    Raises
    ------
    InputError
        If they are not.
    """
    twice = np.flatnonzero(index.duplicated())
    if len(twice) > 0:
        label = index[twice[0]]
        if is_clock_change(index):
            message = (
                f"{label} comes twice (the second time at position {twice[0]}), as at the end of summer time; "
                f"say which time zone it is, as in {series}.tz_localize('Europe/Berlin', ambiguous='infer')"
            )
        else:
            message = (
                f"the index has {label} more than once (again at position {twice[0]}); "
                f"keep one, as in {series}[~{series}.index.duplicated()]"
            )
        raise InputError(message, kind="Index", given=label)
    if not index.is_monotonic_increasing:
        idx = int(np.flatnonzero(index[1:] < index[:-1])[0]) + 1
        message = (
            f"the index is not in order, earliest first: {index[idx]} comes after {index[idx - 1]} at position {idx}; "
            f"sort it, as in {series}.sort_index()"
        )
        raise InputError(message, kind="Index", given=index[idx])


def is_clock_change(index: Index) -> bool:
    """Say whether an hour comes twice, in the night to a Sunday, of times that have no time zone."""
    import pandas as pd

    if not isinstance(index, pd.DatetimeIndex) or index.tz is not None or len(index) < 3:
        return False
    distances = index[1:] - index[:-1]
    usual = distances.to_series().mode().iloc[0]
    twice = index[index.duplicated()]
    is_night = ((twice.day_of_week == 6) & (twice.hour < 4)).all() and twice.is_unique
    return bool(is_night and (distances[distances <= pd.Timedelta(0)] == usual - pd.Timedelta("1h")).all())


def kind_of(index: Index) -> str:
    """Return the kind of the labels in words, for messages."""
    import pandas as pd

    match index:
        case pd.DatetimeIndex():
            return "timestamps without a time zone" if index.tz is None else "timestamps in a time zone"
        case pd.PeriodIndex():
            return f"periods of {index.freqstr}"
        case pd.TimedeltaIndex():
            return "spans of time"
    return "numbers" if is_counted(index) else f"of the type {index.dtype}"
