"""Playback that slows down instead of stopping: the laws that choose the rate, on traces of arrival and by a virtual clock.

``foretop play`` plays sound by the same laws, and ``foretop play simulate`` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretop._native import made_trace, simulate_playback

__all__ = ["Outcome", "made", "simulate"]


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
    least_mean_deviation : float
        The least mean deviation that anybody could have who knows what comes.
    slew_per_second : float
        The greatest change of the rate within a second of unbroken play.
    times, rates, buffer_seconds : numpy.ndarray
        Moments a tenth of a second apart: the rate of play, 0 while it stood still, and what the buffer held.
    """

    start_up_seconds: float
    stalled_seconds: float
    n_stalls: int
    seconds: float
    lost_seconds: float
    mean_deviation: float
    rms_deviation: float
    least_mean_deviation: float
    slew_per_second: float
    times: NDArray[np.float64]
    rates: NDArray[np.float64]
    buffer_seconds: NDArray[np.float64]


def simulate(
    rates: ArrayLike,
    *,
    step: float = 1.0,
    law: str = "restricted",
    speed: float = 1.0,
    max_slow: float = 0.8,
    max_fast: float = 1.1,
    start: float = 5.0,
    capacity: float = 30.0,
    live: bool = False,
    model: str | None = "AUTO",
) -> Outcome:
    """Play a medium that arrives at these rates.

    Parameters
    ----------
    rates : array_like
        The rate of arrival in media seconds per second, at even steps. NaN stands for the rate before it.
    step : float
        From one rate to the next, in seconds.
    law : str
        Who chooses the rate: ``restricted``, ``arrival``, ``shaka``, ``dash.js``, ``hls.js``, ``media3``, ``neteq``, ``us2004``, ``slowest`` or ``off``.
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

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        If an argument is out of its range, or there is no such law or model.

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
        np.ascontiguousarray(rates, dtype=np.float64),
        step,
        law,
        speed,
        (max_slow, max_fast),
        start,
        capacity,
        live,
        model,
    )
    return Outcome(**found)


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
