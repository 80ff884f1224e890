"""How far a run is, and a line on the terminal that says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from foretop._native import Run

# Cases done, cases failed, and for each model the cases that count, the sum of their logarithms, comparisons and those won.
Tally: TypeAlias = tuple[int, int, list[tuple[int, float, int, float]]]

# A terminal is written to so often; and so often a caller is told.
_PERIOD_SECONDS = 0.5


@dataclass(frozen=True)
class Standing:
    """How a model of the template has done in the cases of this sitting.

    Attributes
    ----------
    model : str
        As the template has it.
    n : int
        Cases that count.
    relative_error : float
        Geometric mean over cases and leads of the mean squared error over that of the mean of the samples fitted to.
    """

    model: str
    n: int
    relative_error: float


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    n_done, n_failed : int
        Cases evaluated in this sitting, and those of them in which no model could be fitted.
    n_cases : int
        Cases that this sitting has to evaluate.
    seconds : float
        Since it began.
    standings : tuple of Standing
        Models that have a case that counts, the best first: by the share of comparisons won, as in the report.
    """

    n_done: int
    n_failed: int
    n_cases: int
    seconds: float
    standings: tuple[Standing, ...]

    @property
    def rate(self) -> float:
        """Cases a second."""
        return self.n_done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At this rate; None before the first case is done."""
        return (self.n_cases - self.n_done) / self.rate if self.rate > 0 else None

    def __str__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        left = "?" if self.seconds_left is None else f"{self.seconds_left:.0f} s"
        leader = f"; {self.standings[0].model} wins most" if self.standings else ""
        return f"{self.n_done} of {self.n_cases} cases{failed}, {60 * self.rate:.0f} a minute, {left} left{leader}"


class Watch:
    """Shows the progress of a run, not too often."""

    def __init__(self, run: Run, n_cases: int, show: Callable[[Progress], object] | None) -> None:
        self._run = run
        self._n_cases = n_cases
        self._show = show
        self._start = self._shown = time.monotonic()

    def progress(self) -> Progress:
        """Return how far the run is."""
        n_done, n_failed, standings = self._run.progress()
        seconds = time.monotonic() - self._start
        return Progress(n_done, n_failed, self._n_cases, seconds, tuple(Standing(*standing) for standing in standings))

    def look(self) -> None:
        """Show the progress if it is time to."""
        if self._show is not None and time.monotonic() - self._shown >= _PERIOD_SECONDS:
            self._shown = time.monotonic()
            self._show(self.progress())

    def finish(self) -> Progress:
        """Show the progress for the last time, and return it."""
        last = self.progress()
        if self._show is not None:
            self._show(last)
        return last


def shower(progress: bool | Callable[[Progress], object] | None) -> Callable[[Progress], object] | None:
    """Return what progress is shown by; by default a line, where a terminal is there to read it."""
    if callable(progress):
        return progress
    wanted = sys.stderr.isatty() if progress is None else progress
    return _write_line if wanted else None


def _write_line(progress: Progress) -> None:
    ending = "\x1b[K\r" if sys.stderr.isatty() and progress.n_done < progress.n_cases else "\n"
    sys.stderr.write(f"{progress}{ending}")
    sys.stderr.flush()
