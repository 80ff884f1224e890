"""Playback that slows down instead of stopping: the laws that choose the rate, on traces of arrival and by a virtual clock.

``foretop play`` plays sound by the same laws, and ``foretop play simulate`` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foretop._errors import InputError
from foretop._native import made_trace, playback_laws, simulate_playback
from foretop._optional import imported
from foretop._samples import is_pandas, row

if TYPE_CHECKING:
    import pandas as pd

    from foretop._samples import Samples

__all__ = ["LAWS", "Outcome", "compare", "made", "simulate"]

# The names of all laws, in the order of tables.
LAWS: tuple[str, ...] = tuple(playback_laws())


@dataclass(frozen=True)
class Outcome:
    """What became of a run. Times are in seconds; rates are media seconds per second.

    Attributes
    ----------
    start_up_seconds : float
        Until sound began.
    stalled_seconds : float
        Time without sound after that.
    n_stalls : int
        Times that play stopped.
    seconds : float
        Time since sound began.
    lost_seconds : float
        Media that were lost because the buffer was full.
    mean_deviation, rms_deviation : float
        Mean, and root of the mean square, of the distance between the rate and the requested one, as a share of that; a stall is a rate of 0.
    least_stalled_seconds, least_mean_deviation : float
        The least time without sound that anybody could have within the same limits who knows what comes, and with that the least mean deviation.
    slew_per_second : float
        The greatest change of the rate within a second of unbroken play.
    times, rates, buffer_seconds : numpy.ndarray
        Moments a tenth of a second apart: the rate of play, 0 while it stood still, and what the buffer held.
    ahead_seconds : numpy.ndarray
        Media that were decoded ahead of play.
    least_rates, expected_rates : numpy.ndarray
        The forecast of arrival over the next half minute: what it falls below one time in five, and its median; NaN where there was none.
    """

    start_up_seconds: float
    stalled_seconds: float
    n_stalls: int
    seconds: float
    lost_seconds: float
    mean_deviation: float
    rms_deviation: float
    least_stalled_seconds: float
    least_mean_deviation: float
    slew_per_second: float
    times: NDArray[np.float64]
    rates: NDArray[np.float64]
    buffer_seconds: NDArray[np.float64]
    ahead_seconds: NDArray[np.float64]
    least_rates: NDArray[np.float64]
    expected_rates: NDArray[np.float64]

    def figures(self) -> dict[str, float]:
        """Return the figures without the moments, by name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if not isinstance(value, np.ndarray)}

    def to_frame(self) -> pd.DataFrame:
        """Return the moments, a row for each, with their times in seconds as the index."""
        names = ["rates", "buffer_seconds", "ahead_seconds", "least_rates", "expected_rates"]
        pandas = imported("pandas", "tables")
        frame: pd.DataFrame = pandas.DataFrame(
            {name: getattr(self, name) for name in names}, index=pandas.Index(self.times, name="seconds")
        )
        return frame


def simulate(
    rates: Samples,
    *,
    step: float | None = None,
    law: str = "restricted",
    speed: float = 1.0,
    max_slow: float = 0.8,
    max_fast: float = 1.1,
    start: float = 5.0,
    capacity: float = 30.0,
    live: bool = False,
    model: str | None = "AUTO",
    cpu: Samples | None = None,
    cpu_speed: float = 1.5,
) -> Outcome:
    """Play a medium that arrives at these rates.

    Parameters
    ----------
    rates : array_like
        The rate of arrival in media seconds per second, at even steps. NaN stands for the rate before it.
    step : float or None
        From one rate to the next, in seconds. None for that of the index of a pandas Series of moments, and for 1 where there is none.
    law : str
        Who chooses the rate, one of ``playback.LAWS``: ``restricted``, ``arrival``, ``shaka``, ``dash.js``, ``hls.js``, ``media3``, ``neteq``,
        ``us2004``, ``slowest`` or ``off``.
    speed : float
        The rate that the listener asks for.
    max_slow, max_fast : float
        The slowest and the fastest rate that the listener accepts, as shares of that.
    start : float
        Media that play starts with, in seconds.
    capacity : float
        Media that the buffer can hold, in seconds.
    live : bool
        Whether the medium is made while it is played.
    model : str or None
        Who forecasts arrival; None for nobody.
    cpu : array_like or None
        Shares of a core that decoding gets, at the same steps, again and again; None for a processor that is no limit.
    cpu_speed : float
        Media seconds that a whole core decodes in a second.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        If an argument is out of its range, or there is no such law or model.
    InputError
        If the rates are no row of numbers, or their index is not even.

    Examples
    --------
    >>> from foretop import playback
    >>> step, rates = playback.made("steady", seconds=900)
    >>> playback.simulate(rates, step=step).n_stalls
    0
    >>> playback.simulate(rates, step=step, law="off").n_stalls > 0
    True
    """
    found = simulate_playback(
        row(rates),
        _step(rates) if step is None else step,
        law,
        speed,
        (max_slow, max_fast),
        start,
        capacity,
        live,
        model,
        None if cpu is None else (row(cpu), cpu_speed),
    )
    return Outcome(**found)


def compare(rates: Samples, *, laws: Iterable[str] = LAWS, **options: Any) -> pd.DataFrame:
    """Play the same medium by several laws.

    Parameters
    ----------
    rates : array_like
        As :func:`simulate` takes them.
    laws : iterable of str
        Their names; all of them unless given.
    options : dict
        Anything else that :func:`simulate` takes, by name.

    Returns
    -------
    pandas.DataFrame
        The figures of each law, a row for each.

    Examples
    --------
    >>> from foretop import playback
    >>> step, rates = playback.made("step", seconds=900)
    >>> table = playback.compare(rates, step=step, laws=["restricted", "shaka"])
    >>> bool(table.loc["restricted", "stalled_seconds"] < table.loc["shaka", "stalled_seconds"])
    True
    """
    found = {law: simulate(rates, law=law, **options).figures() for law in laws}
    frame: pd.DataFrame = imported("pandas", "tables").DataFrame.from_dict(found, orient="index")
    return frame.rename_axis("law")


def made(kind: str, *, seconds: float = 1200.0, seed: int = 1) -> tuple[float, NDArray[np.float64]]:
    """Return the step in seconds and the rates of a trace that is made from a seed.

    Parameters
    ----------
    kind : str
        ``steady``, ``markov``, ``step``, ``saw``, ``bursts``, ``outage``, ``slow-sender``, ``slow-disk``, ``mobile`` or ``starved``, which here arrives
        at 1.2 and starves nobody.
    seconds : float
        How long it is.
    seed : int
        The seed.

    Returns
    -------
    step : float
    rates : numpy.ndarray

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    return made_trace(kind, seconds, seed)


def _step(rates: Any) -> float:
    """Return the seconds between two rates, by the index of a pandas Series of moments; 1 without one."""
    if not (is_pandas(rates, "Series") and len(rates) > 1):
        return 1.0
    moments = rates.index
    if not (is_pandas(moments, "DatetimeIndex") or is_pandas(moments, "TimedeltaIndex")):
        return 1.0
    steps = np.diff(moments.asi8)
    if (steps != steps[0]).any() or steps[0] <= 0:
        message = "the index is not even, earliest first; make it so, as in rates.sort_index().resample('1s').mean()"
        raise InputError(message, kind="Index")
    return float((moments[1] - moments[0]).total_seconds())
