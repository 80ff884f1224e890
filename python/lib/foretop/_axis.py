"""The index of a series: what its labels mean, how it continues, and where samples with labels belong.

A series has timestamps, periods, spans of time or numbers at even distances; dates and text in ISO 8601 are read as timestamps. Even on the calendar is
even as well: days in a time zone, working days, one day of every so many months. Any other index has no order, and positions count.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foretop._errors import InputError
from foretop._index import Index, check_order, has_order, is_counted, kind_of, read_index

# A step may leave out so many samples: three decades of minutes would be a mistake in a label.
_N_GAPS_MAX = 1_000_000

# Numbers this share of a step from where they are due are there: decimals such as 0.1 are not exact in binary.
_ROUNDING = 1e-6

# The weekdays that a day of the month is counted by, as numpy writes them.
_ALL_DAYS, _WORKING_DAYS = "1111111", "1111100"

_DAY = np.timedelta64(1, "D")


class Axis(Protocol):
    """Says which labels samples have by their position; position 0 is the first sample that was fitted to."""

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        ...


@dataclass(frozen=True)
class Counted:
    """An index of numbers at even distances."""

    start: float
    step: float
    name: object

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        import pandas as pd

        if isinstance(self.step, float):
            return pd.Index(self.start + self.step * np.arange(first, first + n), name=self.name)
        start = self.start + first * self.step
        return pd.RangeIndex(start, start + n * self.step, self.step, name=self.name)


@dataclass(frozen=True)
class Timed:
    """An index of moments or periods: one label, its position, and the distance to the next.

    With a `zone`, `last` is a time on a clock there, and `step` is counted in days.
    """

    last: Any
    position: int
    step: Any
    name: object
    unit: Any
    zone: Any = None

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        import pandas as pd

        try:
            start = self.last + (first - self.position) * self.step
            if isinstance(self.last, pd.Period):
                return pd.period_range(start, periods=n, freq=self.last.freq, name=self.name)
            if isinstance(self.last, pd.Timedelta):
                return pd.timedelta_range(start, periods=n, freq=self.step, name=self.name).as_unit(self.unit)
            labels = pd.date_range(start, periods=n, freq=self.step, name=self.name, unit=self.unit)
        except (pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta, OverflowError) as error:
            raise _out_of_range(self.unit) from error
        moments = _on_the_clock(labels, self.zone)
        is_named = self.zone is not None and not isinstance(self.step, pd.Timedelta)
        return pd.DatetimeIndex(moments, freq=self.step) if is_named else moments


@dataclass(frozen=True)
class Monthly:
    """An index of one day of every so many months: the 15th, the last, the second working day, the third Friday.

    Days are those of `weekdays`, counted from the first of the month, or backwards from the last if `day` is negative. The 31st is the last day of shorter
    months.
    """

    month: int
    step: int
    day: int
    weekdays: str
    time: Any
    name: object
    unit: Any
    zone: Any

    def labels(self, first: int, n: int) -> Index:
        """Return the labels of `n` samples from position `first`."""
        import pandas as pd

        months = (self.month + self.step * np.arange(first, first + n)).astype("M8[M]")
        days = _days_of_months(months, self.day, self.weekdays).astype("M8[s]")
        try:
            labels = pd.DatetimeIndex(days, name=self.name).as_unit(self.unit) + self.time
        except (pd.errors.OutOfBoundsDatetime, OverflowError) as error:
            raise _out_of_range(self.unit) from error
        return _on_the_clock(labels, self.zone)


def _days_of_months(months: NDArray[Any], day: int, weekdays: str) -> NDArray[Any]:
    first, end = months.astype("M8[D]"), (months + 1).astype("M8[D]")
    if weekdays == _ALL_DAYS:
        return np.asarray(first + np.minimum(day * _DAY, end - first) - _DAY)
    if day > 0:
        return np.busday_offset(first, day - 1, roll="forward", weekmask=weekdays)
    return np.busday_offset(end, day, roll="forward", weekmask=weekdays)


def _on_the_clock(labels: Index, zone: Any) -> Index:
    """Return times on a clock as moments in its time zone: the first of two, and the next if there is none."""
    if zone is None:
        return labels
    return labels.tz_localize(zone, ambiguous=np.ones(len(labels), dtype=bool), nonexistent="shift_forward")


def _out_of_range(unit: str | None) -> InputError:
    held = "1677-09-21 to 2262-04-11" if unit == "ns" else "the years -32767 to 9999"
    message = (
        f"forecasts have no labels beyond what datetime64[{unit}] holds, {held}; "
        "whole seconds reach further, as in y.set_axis(y.index.as_unit('s'))"
    )
    return InputError(message, kind="Range")


def axis_of(labels: Index, series: str = "y") -> Axis | None:
    """Return what continues an index; None if it has no order to continue, and positions have to do.

    Parameters
    ----------
    labels : pandas.Index
        The index.
    series : str
        The expression that messages have for the pandas object.

    Raises
    ------
    InputError
        If labels are missing, come twice, are out of order or unevenly spaced: the samples are then no series.
    """
    import pandas as pd

    index = read_index(labels)
    if isinstance(index, pd.RangeIndex):
        return Counted(index.start, index.step, index.name)
    if not has_order(index) or (len(index) < 2 and getattr(index, "freq", None) is None):
        return None
    if not is_counted(index) or not index.is_monotonic_decreasing:
        check_order(index, series)
    likely = None
    for axis in _counted(index) if is_counted(index) else _timed(index):
        if _are_at(index, axis.labels(0, len(index)), axis).all():
            return axis
        likely = likely or axis
    raise _uneven(index, likely, series)


def step_seconds(axis: Axis | None) -> float | None:
    """Return the mean step of an index of moments or periods; None of any other."""
    import pandas as pd

    if axis is None or isinstance(axis, Counted):
        return None
    # A year of months, and whole weeks of working days.
    n = 60
    labels = axis.labels(-n, n + 1)
    if isinstance(labels, pd.PeriodIndex):
        labels = labels.to_timestamp()
    return float((labels[-1] - labels[0]).total_seconds()) / n


def _are_at(index: Index, due: Index, axis: Axis) -> NDArray[np.bool_]:
    """Say which labels are those that are due."""
    if not is_counted(index):
        return np.asarray(index == due)
    return np.asarray(np.abs(index.to_numpy(dtype=float) - due.to_numpy(dtype=float)) <= _tolerance(index, axis))


def _tolerance(index: Index, axis: Axis) -> float:
    step = getattr(axis, "step", 0)
    if not isinstance(step, float):
        return 0.0
    # Seconds since 1970 have few digits behind the point.
    return max(abs(step) * _ROUNDING, 4 * float(np.spacing(np.abs(index.to_numpy(dtype=float)).max())))


def _counted(index: Index) -> Iterator[Axis]:
    if index.dtype.kind == "f":
        values = index.to_numpy(dtype=float)
        usual = float(np.median(np.diff(values)))
        n_steps = round((values[-1] - values[0]) / usual) if usual != 0 and np.isfinite(values).all() else 0
        if n_steps != 0:
            # The whole length has more digits than one step.
            yield Counted(float(values[0]), float((values[-1] - values[0]) / n_steps), index.name)
        return
    values = index.to_numpy(dtype=np.int64)
    yield Counted(int(values[0]), int(_usual(np.diff(values))), index.name)


def _usual(distances: NDArray[Any]) -> Any:
    """Return the distance that all others are multiples of, and the most frequent one if there is none."""
    different, counts = np.unique(distances, return_counts=True)
    shortest = different[np.argmin(np.abs(different))]
    if shortest and not (different % shortest).astype(bool).any():
        return shortest
    return different[np.argmax(counts)]


def _timed(index: Index) -> Iterator[Axis]:
    """Yield what may continue the index, the likeliest first."""
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        yield Timed(index[0], 0, 1, index.name, None)
        return
    is_moments = isinstance(index, pd.DatetimeIndex)
    zone = index.tz if is_moments else None
    if zone is not None and isinstance(index.freq, pd.offsets.Day):
        # A day in a time zone is not always of 24 hours.
        yield Timed(index.tz_localize(None)[0], 0, index.freq, index.name, index.unit, zone)
    elif index.freq is not None:
        yield Timed(index[0], 0, index.freq, index.name, index.unit)
    if is_moments and len(index) > 1:
        yield from _on_days(index.tz_localize(None), zone)
    if len(index) > 1:
        step = pd.Timedelta(_usual((index[1:] - index[:-1]).to_numpy()))
        yield Timed(index[0], 0, step, index.name, index.unit)
    if is_moments and len(index) > 2 and (freq := pd.infer_freq(index)) is not None:
        yield Timed(index[0], 0, pd.tseries.frequencies.to_offset(freq), index.name, index.unit)


def _on_days(clock: Index, zone: Any) -> Iterator[Axis]:
    """Yield what may continue times on a clock that come at one time of day: working days, days of the month, days."""
    import pandas as pd

    time = clock[0] - clock[0].normalize()
    if ((clock - clock.normalize()) != time).any():
        return
    days = clock.to_numpy().astype("M8[D]")
    months = days.astype("M8[M]")
    distances = np.diff(days)
    shortest, is_fixed = distances.min(), (distances == distances[0]).all()
    if shortest == _DAY and not is_fixed and _goes_past_weekends(days):
        yield Timed(clock[0], 0, pd.offsets.BDay(), clock.name, clock.unit, zone)
    if shortest > 19 * _DAY:
        step = int(_usual(np.diff(months)).astype(int))
        for day, weekdays in _ways_to_count(days, months):
            # Which weekday it is only shows where its distances differ.
            is_meant = weekdays == _ALL_DAYS or (len(days) > 2 and not is_fixed)
            if is_meant and step > 0 and (_days_of_months(months, day, weekdays) == days).all():
                month = int(months[0].astype(int))
                yield Monthly(month, step, day, weekdays, time, clock.name, clock.unit, zone)
    yield Timed(clock[0], 0, pd.Timedelta(_usual(distances)), clock.name, clock.unit, zone)


def _goes_past_weekends(days: NDArray[Any]) -> bool:
    # 1970-01-01 was a Thursday.
    weekday = (days.astype(int) + 3) % 7
    return bool((weekday < 5).all() and (np.diff(weekday) < 0).any())


def _ways_to_count(days: NDArray[Any], months: NDArray[Any]) -> Iterator[tuple[int, str]]:
    """Yield what the first day may be in its month: its number, and the weekdays that are counted."""
    day_of_month = (days - months.astype("M8[D]")).astype(int) + 1
    is_last = days + _DAY == (months + 1).astype("M8[D]")
    yield 31 if is_last.all() else int(day_of_month.max()), _ALL_DAYS
    weekday = (int(days[0].astype(int)) + 3) % 7
    for weekdays in (_WORKING_DAYS, "".join("1" if day == weekday else "0" for day in range(7))):
        first, end = months[0].astype("M8[D]"), (months[0] + 1).astype("M8[D]")
        yield int(np.busday_count(first, days[0], weekdays)) + 1, weekdays
        yield -int(np.busday_count(days[0], end, weekdays)), weekdays


def _uneven(index: Index, axis: Axis | None, series: str) -> InputError:
    """Return the refusal of an index in order that `axis` comes nearest to."""
    if axis is None:
        return InputError(f"the index from {index[0]} to {index[-1]} is not evenly spaced", kind="Index")
    due = axis.labels(0, len(index))
    idx = int(np.flatnonzero(~_are_at(index, due, axis))[0])
    place = f"at position {idx}, {index[idx]} follows {index[idx - 1]}, where {due[idx]} is due"
    if (_find(index, axis, 0) >= 0).all():
        cure = f"make missing rows gaps, as in {series}{_filling(index, axis)}"
    elif isinstance(axis, Counted):
        cure = f"leave the index out if the samples are evenly spaced, as in {series}.reset_index(drop=True)"
    else:
        cure = f"make it even, as in {series}.resample('{_freq(axis)}').mean()"
    message = f"the index is not evenly spaced: {place}; {cure}"
    return InputError(message, kind="Index", given=index[idx])


def _filling(index: Index, axis: Any) -> str:
    """Return the method that adds the rows that are missing."""
    import pandas as pd

    ends = f"{str(index[0])!r}, {str(index[-1])!r}, freq='{_freq(axis)}'"
    match index:
        case pd.PeriodIndex():
            return f".reindex(pd.period_range({ends}))"
        case pd.TimedeltaIndex():
            return f".reindex(pd.timedelta_range({ends}))"
        case pd.DatetimeIndex() if _freq(axis) is not None:
            return f".asfreq('{_freq(axis)}')"
        case pd.DatetimeIndex() if axis.weekdays == _ALL_DAYS:
            return f".asfreq(pd.DateOffset(months={axis.step}))"
        case _ if isinstance(axis, Counted) and isinstance(axis.step, int):
            return f".reindex(range({index[0]}, {index[-1] + axis.step}, {axis.step}))"
    return ".reindex(...) with a label for each step"


def _freq(axis: Any) -> str | None:
    """Return the frequency of an axis as pandas writes it; None if it has no name there."""
    import pandas as pd

    offsets = pd.offsets
    if isinstance(axis, Timed):
        if isinstance(axis.last, pd.Period):
            return str(axis.last.freqstr)
        n_days, rest = divmod(axis.step, pd.Timedelta("1D")) if isinstance(axis.step, pd.Timedelta) else (0, None)
        if n_days > 0 and not rest:
            return "D" if n_days == 1 else f"{n_days}D"
        return str(pd.tseries.frequencies.to_offset(axis.step).freqstr)
    named = {
        (1, _ALL_DAYS): offsets.MonthBegin,
        (31, _ALL_DAYS): offsets.MonthEnd,
        (1, _WORKING_DAYS): offsets.BusinessMonthBegin,
        (-1, _WORKING_DAYS): offsets.BusinessMonthEnd,
    }
    offset = named.get((axis.day, axis.weekdays)) if isinstance(axis, Monthly) else None
    return None if offset is None else str(offset(axis.step).freqstr)


def _find(index: Index, axis: Axis, first: int) -> NDArray[np.intp]:
    """Return the position of each label of an index in order, counted from position `first`; -1 for one that is not on the axis.

    Raises
    ------
    InputError
        If more samples are left out than a series may lack.
    """
    n = len(index) + 1
    labels = axis.labels(first, n)
    is_before = operator.lt if labels[0] <= labels[-1] else operator.gt
    while is_before(labels[-1], index[-1]):
        if n > _N_GAPS_MAX:
            message = (
                f"up to {index[-1]} the index leaves out more than {_N_GAPS_MAX:,} samples; "
                f"the next one is that of {labels[0]}"
            )
            raise InputError(message, kind="Index", given=index[-1])
        n *= 2
        labels = axis.labels(first, n)
    if index.dtype.kind == "f" or labels.dtype.kind == "f":
        found = labels.astype(float).get_indexer(
            index.astype(float), method="nearest", tolerance=_tolerance(index, axis)
        )
    else:
        found = labels.get_indexer(index)
    return np.asarray(found)


def positions(labels: Index, axis: Axis | None, first: int) -> NDArray[np.intp]:
    """Return where samples with labels belong, counted from the next sample, which is at position `first`.

    Labels without an order, those that count from 0, and those of a series that has no axis, are of the next samples.

    Raises
    ------
    InputError
        If the labels do not continue the axis: they are of another kind, out of order, already seen, or between two steps.
    """
    import pandas as pd

    following = np.arange(len(labels))
    if axis is None or len(labels) == 0 or (is_counted(labels) and labels.equals(pd.RangeIndex(len(labels)))):
        return following
    index, due = read_index(labels), axis.labels(first, len(labels))
    if isinstance(index, pd.DatetimeIndex) and isinstance(due, pd.DatetimeIndex) and None not in (index.tz, due.tz):
        index = index.tz_convert(due.tz)
    start = axis.labels(0, 2)
    if kind_of(index) != kind_of(due):
        if start.equals(pd.RangeIndex(2)):
            # The series that was fitted had no labels of its own.
            return following
        message = (
            f"the labels from {index[0]} to {index[-1]} are {kind_of(index)}, and those of the series {kind_of(due)}; "
            f"the next one is {due[0]} (an array has the next samples in their order)"
        )
        raise InputError(message, kind="Index", given=index[0])
    is_backwards = start[0] > start[1]
    if not is_backwards or not index.is_monotonic_decreasing:
        check_order(index, "y")
    if (index[0] > due[0]) if is_backwards else (index[0] < due[0]):
        last = axis.labels(first - 1, 1)[0]
        message = (
            f"{index[0]} has been seen: the series has samples up to {last}, and the next one is that of {due[0]}; "
            f"leave out the others, as in y[y.index {'<' if is_backwards else '>'} {str(last)!r}]"
        )
        raise InputError(message, kind="Seen", given=index[0])
    found = _find(index, axis, first)
    off, distances = np.flatnonzero(found < 0), np.diff(found)
    if len(off) > 0:
        message = (
            f"{index[off[0]]} (at position {off[0]}) is none of the labels of the series, whose step is another; "
            f"it continues {', '.join(map(str, axis.labels(first, 3)))}"
        )
        raise InputError(message, kind="Index", given=index[off[0]])
    # Three rows with the same distance are of another step; two may have missing rows between them.
    if len(distances) > 1 and distances[0] > 1 and (distances == distances[0]).all():
        message = (
            f"the labels from {index[0]} to {index[-1]} are {distances[0]} steps of the series apart, "
            f"which continues {', '.join(map(str, axis.labels(first, 3)))}; "
            f"if the others are missing, make them gaps, as in y{_filling(index, axis)}"
        )
        raise InputError(message, kind="Index", given=index[0])
    return found


def spread(samples: NDArray[np.float64], places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the samples at their places, the first axis being that of time, with gaps between them."""
    if len(places) == 0 or places[-1] == len(places) - 1:
        return samples
    rows = np.full((places[-1] + 1, *samples.shape[1:]), np.nan)
    rows[places] = samples
    return rows
