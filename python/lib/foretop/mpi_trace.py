"""Traces of MPI programs: what each rank called, when, and who waited for whom.

``foretop mpi trace -n 4 -- PROGRAM`` writes them; :func:`read` reads them, also while the program runs. :func:`follow` takes the
records of a job on this host as they are written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from foretop._errors import MpiTraceError
from foretop._native import MpiFollower, read_mpi_trace
from foretop._tables import Table

__all__ = ["Follower", "MpiTraceError", "Pulled", "Trace", "follow", "read"]


@dataclass(frozen=True)
class Trace:
    """The calls of all ranks on one axis of time: nanoseconds of the monotonic clock of rank 0's host.

    All tables have numpy arrays as columns, and become pandas objects by ``to_frame``.

    Attributes
    ----------
    ranks : foretop.Table
        A row for each rank: ``rank``, ``host``, ``pid``, ``program``, ``library``, ``n_lost`` (records that were overwritten) and
        ``is_whole`` (false if its file is cut off or damaged).
    calls : foretop.Table
        A row for each call and each part of one, by rank and start: ``rank``, ``thread``, ``start_ns``, ``end_ns``, ``call``, ``communicator`` (as its rank
        counts them; 0 is ``MPI_COMM_WORLD``), ``peer`` (in ``MPI_COMM_WORLD``; -1 for none and for any), ``tag`` (-1 for none and for any),
        ``size_bytes``, ``is_failed`` and ``is_part`` (what the call before it did besides or instead, as the receive of ``MPI_Sendrecv``).
    stages : foretop.Table
        A row for each stage of a collective operation over a tree: ``rank``, ``start_ns``, ``end_ns``, ``call``, ``collector``, ``sequence``
        and ``size_bytes``.
    waits : foretop.Table
        How long each rank waited for each other: ``rank``, ``waited_for`` and ``span_ns``.
    error_ns : int
        By how much a time of one host may be wrong beside one of another.
    """

    ranks: Table = field(repr=False)
    calls: Table = field(repr=False)
    stages: Table = field(repr=False)
    waits: Table = field(repr=False)
    error_ns: int


def read(path: str | PathLike[str]) -> Trace:
    """Read a trace.

    Parameters
    ----------
    path : path
        A folder of trace files, a trace file, or the folder of a job that runs.

    Returns
    -------
    Trace
        What was recorded.

    Raises
    ------
    MpiTraceError
        If there is no trace. One that is cut off is read up to there.

    Examples
    --------
    >>> trace = foretop.mpi_trace.read("foretop-trace")  # doctest: +SKIP
    >>> calls = trace.calls.to_frame()  # doctest: +SKIP
    >>> (calls.end_ns - calls.start_ns).groupby(calls.call).sum()  # doctest: +SKIP
    """
    tables, error_ns, names = read_mpi_trace(Path(path))
    by_code = np.array(names, dtype=object)
    ranks, calls, stages, waits = ({name: np.asarray(column) for name, column in table.items()} for table in tables)
    for table in (calls, stages):
        table["call"] = by_code[table["call"]]
    return Trace(Table(ranks), Table(calls), Table(stages), Table(waits), error_ns)


@dataclass(frozen=True)
class Pulled:
    """What the ranks of this host recorded since the last time.

    Attributes
    ----------
    calls : foretop.Table
        A row for each call, by rank and thread: ``rank``, ``thread``, ``start_ns``, ``end_ns``, ``call`` and ``size_bytes``.
    stages : foretop.Table
        A row for each stage of a collective operation over a tree, with ``collector`` and ``sequence`` besides.
    n_lost : int
        Records that were overwritten before they were read.
    """

    calls: Table = field(repr=False)
    stages: Table = field(repr=False)
    n_lost: int


class Follower:
    """A job that runs on this host; made by :func:`follow`."""

    def __init__(self, job: str | PathLike[str]) -> None:
        self._native = MpiFollower(Path(job))
        self._names = np.array(MpiFollower.operations(), dtype=object)

    @property
    def is_alive(self) -> bool:
        """Whether a process of the job runs."""
        return self._native.is_alive()

    def pull(self) -> Pulled:
        """Take what was recorded since the last time, at most 32,768 records of each thread.

        Returns
        -------
        Pulled
            Times are nanoseconds of this host's monotonic clock.

        Raises
        ------
        MpiTraceError
            If the job's folder cannot be read.
        """
        calls, stages, n_lost = self._native.pull()
        for table in (calls, stages):
            table["call"] = self._names[table["call"]]
        return Pulled(Table(calls), Table(stages), n_lost)


def follow(job: str | PathLike[str]) -> Follower:
    """Follow a job that runs on this host.

    Parameters
    ----------
    job : path
        Its name, as ``foretop mpi trace jobs`` lists it, or its folder.

    Returns
    -------
    Follower
        Gives what comes, beginning with what the rings hold.

    Raises
    ------
    MpiTraceError
        If there is no such job.

    Examples
    --------
    >>> job = foretop.mpi_trace.follow("node1-2f0")  # doctest: +SKIP
    >>> while job.is_alive:  # doctest: +SKIP
    ...     calls = job.pull().calls.to_frame()
    """
    return Follower(job)
