"""What a process gets of a core, measured by itself and forecast: a sensor without a node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic, process_time, thread_time

import numpy as np

from foretop._errors import Error
from foretop._models import fit
from foretop.sched._outlook import DEMANDS

# Seconds between two samples, and samples that a forecast goes by.
_STEP_SECONDS = 1.0
_N_SAMPLES = 300

# Seconds between two looks at how many tasks are at work.
_LOOK_SECONDS = 0.1

# Steps that a forecast looks ahead: beyond, time goes on as in the last stretch.
_N_STEPS = 600

# Tasks that were at work for less than that of a step say nothing of what others would have got.
_BUSY_SECONDS_MIN = 0.3

# A probe goes over several periods of a quota, which are 0.1 s unless somebody says otherwise.
_PROBE_SECONDS = 0.3

# A thread that computes and sees no time for so long did not have its core.
_GAP_SECONDS = 0.002

# No process is taken to get less.
_SHARE_MIN = 0.01


class Sensor:
    """Measures on a thread of its own, from :meth:`start` to :meth:`stop`.

    While tasks are at work, what they get is the processor time of the process over the time that they take. The kernel's own count of how
    long threads wait for a core would leave out what a control group's quota takes. While none are, one thread computes now and then.

    Parameters
    ----------
    n_busy : callable
        How many tasks are at work.
    probe_every : float
        Seconds between two probes of an idle process.
    """

    def __init__(self, n_busy: Callable[[], int], probe_every: float) -> None:
        self._n_busy = n_busy
        self._probe_every = probe_every
        self._shares: deque[float] = deque(maxlen=_N_SAMPLES)
        self._points: list[tuple[float, float]] | None = None
        self._ended = Event()
        self._thread = Thread(target=self._measure, name="foretop-sensor", daemon=True)

    def start(self) -> None:
        """Begin, with a probe unless tasks are at work."""
        if self._n_busy() == 0:
            self._add(probe())
        self._thread.start()

    def stop(self) -> None:
        """End, within a look and a probe."""
        self._ended.set()
        self._thread.join()

    def points(self) -> list[tuple[float, float]] | None:
        """Return seconds of processor time and how long they are forecast to take; nothing before the first sample."""
        return self._points

    def _measure(self) -> None:
        probed = monotonic()
        while not self._ended.is_set():
            share = self._busy_share()
            if share is None and self._n_busy() == 0 and monotonic() - probed >= self._probe_every:
                share, probed = probe(), monotonic()
            if share is not None or self._shares:
                self._add(self._shares[-1] if share is None else share)

    def _add(self, share: float) -> None:
        self._shares.append(share)
        self._points = points(list(self._shares))

    def _busy_share(self) -> float | None:
        """Wait for a step, and return what tasks at work got meanwhile, if they were."""
        began, used, busy = monotonic(), process_time(), 0.0
        now = began
        while now - began < _STEP_SECONDS and not self._ended.is_set():
            n_busy = self._n_busy()
            self._ended.wait(_LOOK_SECONDS)
            busy += n_busy * (monotonic() - now)
            now = monotonic()
        return min((process_time() - used) / busy, 1.0) if busy >= _BUSY_SECONDS_MIN else None


def points(shares: list[float]) -> list[tuple[float, float]]:
    """Return seconds of processor time, and how long they take if shares go on as NWS forecasts from these."""
    try:
        ahead = fit(np.array(shares), "NWS").forecast(_N_STEPS).mean
    except Error:
        # Too few to fit.
        ahead = np.full(_N_STEPS, np.mean(shares))
    ahead = np.clip(ahead, _SHARE_MIN, 1.0) * _STEP_SECONDS
    got = np.cumsum(ahead)
    when = _STEP_SECONDS * np.arange(_N_STEPS + 1)
    return [(demand, float(np.interp(demand, [0.0, *got], when))) for demand in DEMANDS if demand <= got[-1]]


def probe() -> float:
    """Compute for a moment, and return the share of it in which this thread ran.

    From the end of the first gap to that of the last one, if there are two: what a quota had left at the beginning would look like more than
    there is.
    """
    now = began = monotonic()
    ends = [(began, thread_time())]
    while now - began < _PROBE_SECONDS:
        before, now = now, monotonic()
        if now - before > _GAP_SECONDS:
            ends.append((now, thread_time()))
    if len(ends) < 3:
        ends = [ends[0], (now, thread_time())]
    else:
        del ends[0]
    return min((ends[-1][1] - ends[0][1]) / (ends[-1][0] - ends[0][0]), 1.0)
