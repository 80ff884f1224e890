"""Ranges of cases, evaluated by the workers of a Dask cluster.

The campaign goes to each worker once, as a plugin: workers that join later, or take the place of lost ones, get it as they
start, and a range that a lost worker was at is given to another one. Only so many ranges are under way that every worker has one to go on
with, so that neither the workers nor this process hold more than a few results.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from dask.distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin, get_worker

from foretop import _native
from foretop._errors import RunError

if TYPE_CHECKING:
    from foretop._native import Campaign, Run
    from foretop.crossval._progress import Tally
    from foretop.crossval.peers import Peer
    from foretop.sched.dask import PlaceByForecast

# Ranges for each thread of a worker: the one it is at, and the one it goes on with.
_N_RANGES_PER_THREAD = 2

# The same where a scheduler's plug-in places them: it places what comes together, if that is more than there are workers. As many again come when
# half of them are done.
_N_PLACED_PER_THREAD = 8

# How long to wait for an answer before looking at the progress and for workers that came.
_PERIOD_SECONDS = 0.5

Cases = tuple[int, int]


@contextmanager
def connected(client: Any, workers: int | None) -> Iterator[Client]:
    """Give a client of the cluster that is meant; what was started here ends with it."""
    if isinstance(client, Client):
        yield client
    elif client == "local":
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster, set_as_default=False) as local,
        ):
            yield local
    else:
        with Client(client, set_as_default=False) as remote:
            yield remote


class _Bearer(WorkerPlugin):
    """Brings a campaign to each worker."""

    def __init__(self, campaign: bytes, peers: list[Peer], version: str) -> None:
        self.name = f"foretop-crossval-{uuid.uuid4()}"
        self._bytes = campaign
        self._peers = peers
        self._version = version
        self._campaign: Campaign | None = None

    def setup(self, worker: Any) -> None:
        """Refuse a worker whose results would not be those of this process."""
        if _native.version() != self._version:
            message = f"worker {worker.address} has foretop {_native.version()}; it has to have {self._version}, as its client"
            raise RunError(message, kind="OtherVersion", given=_native.version())

    def part(self, start: int, stop: int) -> tuple[bytes, bytes, Tally]:
        """Evaluate a range; the first one reads the campaign."""
        if self._campaign is None:
            self._campaign = _native.Campaign.from_bytes(self._bytes, self._peers)
        return self._campaign.part(start, stop)


def _evaluate_range(name: str, cases: Cases) -> tuple[Cases, bytes, bytes, Tally]:
    bearer: Any = get_worker().plugins[name]
    return (cases, *bearer.part(*cases))


def evaluate(
    client: Client,
    campaign: Campaign,
    peers: Sequence[Peer],
    run: Run,
    missing: list[Cases],
    look: Callable[[], None],
    placement: PlaceByForecast | None = None,
) -> None:
    """Have the workers evaluate what is missing, placed by a plug-in if one is given, and hand the parts to the run."""
    if not missing:
        return
    bearer = _Bearer(campaign.to_bytes(), list(peers), _native.version())
    flow = _Flow(client, bearer.name, missing, is_placed=placement is not None)
    try:
        if placement is not None:
            client.register_plugin(placement)
        client.register_plugin(bearer, name=bearer.name)
        for cases, results, timings, tally in flow.parts(look):
            run.add(cases, results, timings, tally)
    finally:
        flow.cancel()
        # The scheduler forgets the plugin before it tells the workers, of which one may be going at this moment, and one that comes in
        # the place of a lost one answers with a KeyError that it has no such plugin yet.
        with suppress(OSError, KeyError):
            client.unregister_worker_plugin(bearer.name)
        if placement is not None:
            with suppress(OSError, KeyError, ValueError):
                client.unregister_scheduler_plugin(placement.name)


class _Flow:
    """Ranges on their way to the workers and back."""

    def __init__(self, client: Client, name: str, missing: list[Cases], *, is_placed: bool) -> None:
        self._is_placed = is_placed
        self._client = client
        self._name = name
        self._waiting = deque(missing)
        self._under_way: dict[Future[Any], Cases] = {}
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()

    def parts(self, look: Callable[[], None]) -> Iterator[tuple[Cases, bytes, bytes, Tally]]:
        """Give parts as they come, in any order."""
        while self._waiting or self._under_way:
            self._send()
            look()
            try:
                done = self._done.get(timeout=_PERIOD_SECONDS)
            except Empty:
                continue
            yield self._take(done)

    def _send(self) -> None:
        n_threads = sum(self._client.nthreads().values())
        n_max = max(1, (_N_PLACED_PER_THREAD if self._is_placed else _N_RANGES_PER_THREAD) * n_threads)
        if self._is_placed and len(self._under_way) > n_max // 2:
            return
        n_more = min(len(self._waiting), n_max - len(self._under_way))
        if n_more <= 0:
            return
        batch = [self._waiting.popleft() for _ in range(n_more)]
        futures = self._client.map(
            partial(_evaluate_range, self._name), batch, pure=False, key="foretop-crossval-range"
        )
        for future, cases in zip(futures, batch, strict=True):
            self._under_way[future] = cases
            future.add_done_callback(self._done.put)

    def _take(self, future: Future[Any]) -> tuple[Cases, bytes, bytes, Tally]:
        cases = self._under_way.pop(future)
        try:
            part: tuple[Cases, bytes, bytes, Tally] = future.result()
        except KilledWorker as error:
            message = f"the cases {cases[0]} to {cases[1] - 1} were at {error.allowed_failures + 1} workers when these were lost"
            raise RunError(message, kind="WorkersLost", given=cases) from error
        finally:
            # The worker keeps a result as long as somebody holds the future.
            future.release()
        return part

    def cancel(self) -> None:
        """Have the workers drop what is still under way."""
        self._client.cancel(list(self._under_way))
        self._under_way.clear()
