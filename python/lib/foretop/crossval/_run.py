"""Campaigns from the first case to the result file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretop import _native
from foretop._errors import InputError
from foretop.crossval._inputs import Template, template_text, trace_rows
from foretop.crossval._progress import Progress, Watch, shower
from foretop.crossval._results import read

if TYPE_CHECKING:
    import pandas as pd

    from foretop.crossval._inputs import Traces
    from foretop.crossval.peers import Peer
    from foretop.sched.dask import PlaceByForecast


@dataclass(frozen=True)
class Outcome:
    """What a run has left.

    Attributes
    ----------
    path : pathlib.Path
        The results, a row for each case and lead.
    timings : pathlib.Path
        How long each case took, and where.
    n_cases : int
        Cases in the results.
    n_evaluated, n_failed : int
        Cases evaluated in this sitting, and those of them in which no model could be fitted.
    left_out : dict of str to int
        Traces that are too short for any case, and how many samples they have.
    repaired : list of pathlib.Path
        Files of an earlier, unfinished run that were damaged, and whose cases were evaluated again.
    """

    path: Path
    timings: Path
    n_cases: int
    n_evaluated: int
    n_failed: int
    left_out: dict[str, int] = field(default_factory=dict)
    repaired: list[Path] = field(default_factory=list)

    def to_frame(self) -> pd.DataFrame:
        """Return the results as a pandas object, as :func:`read` does.

        Returns
        -------
        pandas.DataFrame
            A row for each case and lead.
        """
        return read(self.path)


def run(
    template: Template,
    traces: Traces,
    *,
    out: str | PathLike[str],
    cases: int = 10_000,
    seed: int = 1,
    column: str | None = None,
    peers: Sequence[Peer] = (),
    client: Any = None,
    workers: int | None = None,
    placement: PlaceByForecast | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Outcome:
    """Evaluate random test cases, and write what they come to.

    The same template, traces and seed give the same file to the byte: by any number of threads, on any number of Dask workers with
    the same version of foretop, and after any interruption. What is done is kept in a folder beside the file until all is; Ctrl-C
    stops at any moment, and the same call takes the run up again, here or on a cluster.

    Parameters
    ----------
    template : str, os.PathLike or dict
        The path of a template (``docs/formats/crossval.md``), or what would be in it.
    traces : dict, pandas.Series, pandas.DataFrame, str, os.PathLike, or iterable of paths
        Samples by name, one Series with its name (``y`` if it has none), a column for each trace, a long frame with columns ``unique_id``, ``ds`` and ``y``, or CSV and Parquet files and
        folders of them. NaN is a gap.
    out : str or os.PathLike
        The Parquet file to write; timings go to another one beside it.
    cases : int
        How many cases.
    seed : int
        What cases are drawn from.
    column : str, optional
        The column of the samples, where a file has several.
    peers : sequence of Peer
        Forecasters of other libraries (:mod:`foretop.crossval.peers`), each of which is judged on every window after the models.
        Their cases count among `cases`.
    client : dask.distributed.Client, a cluster, str, optional
        Who evaluates: threads of this process unless given; the workers of a Dask cluster by its client, itself, or the address of
        its scheduler; ``"local"`` for a ``LocalCluster`` of processes that lives as long as the run. A worker that is lost costs what it
        was at.
    workers : int, optional
        How many threads, or processes of ``"local"``; one for each processor unless given.
    placement : foretop.sched.dask.PlaceByForecast, optional
        What places the work among the workers of `client`; Dask itself unless given. It is taken off the scheduler at the end. The file is the same.
    progress : bool or callable, optional
        Whether to write to standard error how far the run is, or what to call with a :class:`Progress` now and then. Unless
        given, a line is written where standard error is a terminal.

    Returns
    -------
    Outcome
        Where the results are, and what was met on the way.

    Raises
    ------
    TemplateError, TraceError, CampaignError
        If there is nothing that could be run.
    RunError
        If the file is there already or cannot be written, or another run is at it. What was evaluated stays.
    InputError
        If an option is out of range, or a trace is no row of numbers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from foretop import crossval
    >>> y = np.random.default_rng(1).normal(size=4000).cumsum()
    >>> template = {"models": ["LAST", "AR(1..4)"], "fit": 100, "test": 50, "leads": [1, 5]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = crossval.run(template, {"walk": y}, cases=40, out=f"{folder}/cases.parquet")
    ...     frame = crossval.read(done.path)
    >>> done.n_evaluated, done.n_failed, len(frame)
    (40, 0, 80)
    >>> sorted(frame["family"].unique())
    ['AR(1..4)', 'LAST']
    """
    for name, given, least in (("cases", cases, 1), ("seed", seed, 0), ("workers", workers, 1)):
        _check_number(name, given, least)
    if placement is not None and client is None:
        raise InputError(
            "placement is among the workers of a client, and none is given", kind="Placement", given=placement
        )
    campaign = _native.Campaign(template_text(template), trace_rows(traces, column), seed, list(peers))
    opened = _native.Run(campaign, cases, fspath(out))
    try:
        repaired, missing = [Path(path) for path in opened.broken], opened.missing
        watch = Watch(opened, cases - opened.n_cases_found, shower(progress))
        if client is None:
            opened.evaluate(workers or 0, watch.look)
        else:
            # Dask is imported only where it is used: it may not be there.
            from foretop.crossval import _dask

            with _dask.connected(client, workers) as connected:
                _dask.evaluate(connected, campaign, peers, opened, missing, watch.look, placement)
            opened.finish()
    finally:
        opened.close()
    last = watch.finish()
    path = Path(out)
    left_out = {name: n_samples for name, n_samples, _ in campaign.left_out}
    timings = path.with_suffix(".timings.parquet")
    return Outcome(path, timings, cases, last.n_done, last.n_failed, left_out, repaired)


def _check_number(name: str, given: int | None, least: int) -> None:
    if given is not None and not (isinstance(given, int) and least <= given < 2**63):
        raise InputError(f"{name} is {given!r}; it must be a whole number from {least} on", kind="Number", given=given)
