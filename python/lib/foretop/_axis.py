"""The index of a series, continued past its end."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from foretop._errors import InputError

# A pandas index. Its classes have too little in common for a checker to follow.
Index: TypeAlias = Any


class Axis(Protocol):
    """Says which labels samples have by their position; position 0 is the first sample that was fitted to."""

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        ...


@dataclass(frozen=True)
class Counted:
    """An index of whole numbers, or of other positions along a line, at even distances."""

    start: int
    step: int
    name: object

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        import pandas as pd

        start = self.start + first * self.step
        return pd.RangeIndex(start, start + n * self.step, self.step, name=self.name)


@dataclass(frozen=True)
class Timed:
    """An index of moments or periods: the last label known, its position, and the distance to the next."""

    last: Any
    position: int
    step: Any
    name: object
    unit: str | None

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        import pandas as pd

        start = self.last + (first - self.position) * self.step
        if isinstance(self.last, pd.Period):
            return pd.period_range(start, periods=n, freq=self.last.freq, name=self.name)
        if isinstance(self.last, pd.Timedelta):
            labels: Any = pd.timedelta_range(start, periods=n, freq=self.step, name=self.name)
        else:
            labels = pd.date_range(start, periods=n, freq=self.step, name=self.name)
        return labels.as_unit(self.unit)


def axis_of(index: Index) -> Axis | None:
    """Return what continues `index`; None if it has no order to continue, and positions have to do.

    Raises
    ------
    InputError
        If it is of moments that are not evenly spaced: the samples are then no series.
    """
    import pandas as pd

    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex):
        return _timed(index) if len(index) > 1 else None
    if isinstance(index, pd.RangeIndex):
        return Counted(index.start, index.step, index.name)
    if pd.api.types.is_integer_dtype(index.dtype) and len(index) > 1:
        start, step = int(index[0]), int(index[1]) - int(index[0])
        if step != 0 and index.equals(pd.RangeIndex(start, start + len(index) * step, step)):
            return Counted(start, step, index.name)
    return None


def _timed(index: Index) -> Timed:
    import pandas as pd

    unit = getattr(index, "unit", None)
    last, position = index[-1], len(index) - 1
    if isinstance(index, pd.PeriodIndex):
        step: Any = 1
        even = index.equals(pd.period_range(index[0], periods=len(index), freq=index.freq))
    else:
        step = index.freq if index.freq is not None else index[1] - index[0]
        even = index.freq is not None or bool(((index[1:] - index[:-1]) == step).all())
        if not even and isinstance(index, pd.DatetimeIndex) and (offset := _calendar_step(index)) is not None:
            step, even = offset, True
    if not even or not last + step > last:
        raise _uneven(index)
    return Timed(last, position, step, index.name, unit)


def _calendar_step(index: Index) -> Any:
    """Return the step of an index that is even on the calendar only, like that of months; None if there is none."""
    import pandas as pd

    if len(index) < 3:
        return None
    with warnings.catch_warnings():
        # pandas warns that one day this will be an offset and no text; either is fine here.
        warnings.simplefilter("ignore")
        return pd.tseries.frequencies.to_offset(pd.infer_freq(index))


def _uneven(index: Index) -> InputError:
    message = (
        f"the index from {index[0]} to {index[-1]} is not evenly spaced, earliest first; "
        "sort it, and make missing rows gaps, as in y.sort_index().asfreq('5min')"
    )
    return InputError(message, kind="Index")
