"""What a node forecasts of its host, and how many equal tasks each worker gets if all are to end at one time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from urllib.parse import urlencode
from urllib.request import Request, urlopen

# Seconds of processor time for each thread that a node is asked about: times between them lie on straight lines.
DEMANDS = (1.0, 10.0, 60.0, 300.0)

# A node answers in milliseconds; one that does not is as good as none.
_ANSWER_WITHIN_SECONDS = 2.0


@dataclass(frozen=True)
class Outlook:
    """How long processor time takes on a host, if so many threads compute there from now on.

    Parameters
    ----------
    points : tuple of (float, float)
        Seconds of processor time for each thread, ascending, and the median of the time in seconds that they take.
    """

    points: tuple[tuple[float, float], ...]

    def seconds(self, cpu_seconds: float) -> float:
        """Return how long so much processor time takes; beyond the last point on as in the last stretch."""
        before = (0.0, 0.0)
        for point in self.points:
            if cpu_seconds <= point[0] or point is self.points[-1]:
                return before[1] + (cpu_seconds - before[0]) * (point[1] - before[1]) / (point[0] - before[0])
            before = point
        return cpu_seconds


@dataclass(frozen=True)
class Seat:
    """A worker that may get tasks.

    Parameters
    ----------
    n_threads : int
        Tasks at a time.
    free_after : float
        Seconds until it is done with what it has.
    outlook : Outlook
        Of its host.
    """

    n_threads: int
    free_after: float
    outlook: Outlook


def ask(url: str, n_threads: int, token: str | None = None) -> Outlook | None:
    """Ask a node how long processor time takes with so many threads; nothing where it cannot tell."""
    points: list[tuple[float, float]] = []
    for demand in DEMANDS:
        seconds = _runtime(url, demand * n_threads, n_threads, token)
        if seconds is None:
            break
        # More work never takes less time, nor any work less than itself.
        least = demand if not points else points[-1][1] + demand - points[-1][0]
        points.append((demand, max(seconds, least)))
    return Outlook(tuple(points)) if points else None


def _runtime(url: str, cpu_seconds: float, n_threads: int, token: str | None) -> float | None:
    query = urlencode({"cpu_seconds": cpu_seconds, "threads": n_threads, "confidence": 0.8})
    request = Request(f"{url.rstrip('/')}/api/v1/runtime?{query}")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=_ANSWER_WITHIN_SECONDS) as answer:
            told = json.load(answer)
        median = told["median_seconds"]
        # What takes longer than the node looks ahead takes that long at least.
        return float(told["horizon_seconds"] if median is None else median)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def counts(n_tasks: int, cpu_seconds: float, seats: Sequence[Seat]) -> list[int]:
    """Return how many of so many equal tasks each worker gets: each next one goes where it is forecast to end first.

    Parameters
    ----------
    n_tasks : int
        How many.
    cpu_seconds : float
        What each takes.
    seats : sequence of Seat
        At least one.
    """

    def ends(at: int, n: int) -> float:
        seat = seats[at]
        return seat.free_after + seat.outlook.seconds(cpu_seconds * n / seat.n_threads)

    given = [0] * len(seats)
    heap = [(ends(at, 1), at) for at in range(len(seats))]
    heapify(heap)
    for _ in range(n_tasks):
        at = heap[0][1]
        given[at] += 1
        heapreplace(heap, (ends(at, given[at] + 1), at))
    return given


def known_or_worst(outlooks: Mapping[str, Outlook | None]) -> dict[str, Outlook] | None:
    """Take a worker of which nothing is known for as slow as the slowest other; nothing where nothing is known of any."""
    known = [outlook for outlook in outlooks.values() if outlook is not None]
    if not known:
        return None
    worst = max(known, key=lambda outlook: outlook.seconds(DEMANDS[1]))
    return {name: outlook or worst for name, outlook in outlooks.items()}
