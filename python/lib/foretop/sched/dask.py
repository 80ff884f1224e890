"""Tasks of a Dask cluster, placed where they are forecast to end first.

:class:`PlaceByForecast` is a plug-in for the scheduler. :func:`split` cuts a sequence once, so that all workers end at one time. Both ask a
node (``foretop up``) on each worker's host how long processor time takes there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from dask.distributed import Client, SchedulerPlugin
from tornado.ioloop import PeriodicCallback

from foretop._errors import InputError
from foretop.sched._outlook import Outlook, Seat, ask, counts, known_or_worst

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState

T = TypeVar("T")

# Where nodes listen unless they are told otherwise.
_NODE_PORT = 7311

# Of tasks that Dask has not seen: its own `unknown-duration`.
_UNKNOWN_SECONDS = 0.5

__all__ = ["PlaceByForecast", "report", "split"]


class PlaceByForecast(SchedulerPlugin):
    """Places tasks without dependencies where they are forecast to end first.

    A batch of such tasks is cut once, as it comes: each worker gets so many that all end at one time. They keep leave to run elsewhere, so
    that Dask's stealing corrects the split and a lost worker's tasks go to others. Tasks with dependencies stay with Dask, which puts them
    where their data are. Without a forecast of any worker, everything does.

    A host is asked while its workers have nothing to do: a node cannot tell their load from others'. A forecast from before they began
    counts for ``max_age`` seconds.

    Parameters
    ----------
    nodes : mapping of str to str, optional
        For a worker's name, address or host, the address of the node there. Unless given, ``http://HOST:7311``.
    token : str, optional
        What nodes want to be shown.
    every : float, optional
        Seconds between two questions.
    max_age : float, optional
        Seconds after which a forecast is none any more.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client.register_plugin(PlaceByForecast())  # doctest: +SKIP
    """

    name = "foretop-place-by-forecast"

    def __init__(
        self,
        *,
        nodes: Mapping[str, str] | None = None,
        token: str | None = None,
        every: float = 5.0,
        max_age: float = 120.0,
    ) -> None:
        if not (every > 0 and max_age > 0):
            message = f"every={every} and max_age={max_age} have to be more than 0 seconds"
            raise InputError(message, kind="OutOfRange", given=min(every, max_age))
        self._nodes = None if nodes is None else dict(nodes)
        self._token = token
        self._every = every
        self._max_age = max_age
        self._known: dict[str, tuple[float, Outlook]] = {}
        self._n_placed: dict[str, int] = {}
        self._scheduler: Scheduler | None = None
        self._periodic: PeriodicCallback | None = None

    async def start(self, scheduler: Scheduler) -> None:
        """Ask all nodes once, and then every so often."""
        self._scheduler = scheduler
        await self._refresh()
        self._periodic = PeriodicCallback(self._refresh, 1000 * self._every)
        self._periodic.start()

    async def close(self) -> None:
        """Ask no more."""
        if self._periodic is not None:
            self._periodic.stop()

    def remove_worker(self, scheduler: Scheduler, worker: str, **kwargs: Any) -> None:
        """Forget a worker."""
        self._known.pop(worker, None)

    def update_graph(self, scheduler: Scheduler, *, tasks: list[Any], **kwargs: Any) -> None:
        """Place what has just come."""
        fresh = [scheduler.tasks[key] for key in tasks]
        free = [task for task in fresh if _is_free(task)]
        # Of a few tasks, Dask's own choice is as good.
        if len(free) <= len(scheduler.workers):
            return
        by_prefix: dict[str, list[TaskState]] = {}
        for task in sorted(free, key=lambda task: task.priority or ()):
            by_prefix.setdefault(task.prefix.name, []).append(task)
        for alike in by_prefix.values():
            self._place(scheduler, alike)

    def _place(self, scheduler: Scheduler, tasks: list[TaskState]) -> None:
        workers = [worker for worker in scheduler.workers.values() if worker in scheduler.running]
        now = monotonic()
        known = {
            worker.address: outlook
            for worker in workers
            for at, outlook in [self._known.get(worker.address, (0.0, None))]
            if outlook is not None and now - at <= self._max_age
        }
        outlooks = known_or_worst({worker.address: known.get(worker.address) for worker in workers})
        if outlooks is None:
            return
        average = tasks[0].prefix.duration_average
        seconds = average if average > 0 else _UNKNOWN_SECONDS
        seats = [
            Seat(worker.nthreads, worker.occupancy / worker.nthreads, outlooks[worker.address]) for worker in workers
        ]
        left = iter(tasks)
        for worker, n_tasks in zip(workers, counts(len(tasks), seconds, seats), strict=True):
            for _ in range(n_tasks):
                task = next(left)
                task.worker_restrictions = {worker.address}
                task.loose_restrictions = True
            self._n_placed[worker.address] = self._n_placed.get(worker.address, 0) + n_tasks

    async def _refresh(self) -> None:
        """Ask the nodes of hosts whose workers have nothing to do, each once."""
        assert self._scheduler is not None
        by_node: dict[str, list[WorkerState]] = {}
        for worker in self._scheduler.workers.values():
            url = _node_of(worker.name, worker.address, worker.host, self._nodes)
            if url is not None:
                by_node.setdefault(url, []).append(worker)
        idle = {url: workers for url, workers in by_node.items() if not any(worker.processing for worker in workers)}
        questions = [
            asyncio.to_thread(ask, url, sum(worker.nthreads for worker in workers), self._token)
            for url, workers in idle.items()
        ]
        for workers, outlook in zip(idle.values(), await asyncio.gather(*questions), strict=True):
            # A task that has come meanwhile may be in the answer.
            if outlook is not None and not any(worker.processing for worker in workers):
                self._known.update({worker.address: (monotonic(), outlook) for worker in workers})

    def report(self) -> dict[str, dict[str, float]]:
        """Return, for each worker, what is known and done: see :func:`report`."""
        now = monotonic()
        told = {
            address: {"age_seconds": now - at, "seconds_for_10": outlook.seconds(10.0)}
            for address, (at, outlook) in self._known.items()
        }
        for address, n_placed in self._n_placed.items():
            told.setdefault(address, {})["n_placed"] = n_placed
        return told


def report(client: Client) -> dict[str, dict[str, float]]:
    """Say what a cluster's plug-in knows and did.

    Parameters
    ----------
    client : dask.distributed.Client
        Of a cluster with :class:`PlaceByForecast`.

    Returns
    -------
    dict
        For each worker's address: ``age_seconds`` of its forecast, ``seconds_for_10``, the median of the time that 10 s of processor time
        take there, and ``n_placed`` tasks; nothing where nothing is known.
    """

    def told(dask_scheduler: Scheduler) -> dict[str, dict[str, float]]:
        plugin: Any = dask_scheduler.plugins[PlaceByForecast.name]
        return plugin.report()  # type: ignore[no-any-return]

    return client.run_on_scheduler(told)  # type: ignore[no-any-return]


def split(
    items: Sequence[T],
    client: Client,
    *,
    cpu_seconds: float = 1.0,
    nodes: Mapping[str, str] | None = None,
    token: str | None = None,
) -> list[tuple[str, Sequence[T]]]:
    """Cut a sequence once, so that all workers are forecast to end at one time.

    Parameters
    ----------
    items : sequence
        What is to be computed; each takes about as long as the others.
    client : dask.distributed.Client
        Of the cluster.
    cpu_seconds : float, optional
        What each takes of processor time.
    nodes : mapping of str to str, optional
        As of :class:`PlaceByForecast`; this process asks them.
    token : str, optional
        What nodes want to be shown.

    Returns
    -------
    list of (str, sequence)
        Addresses of workers and their parts, in the order of the items, for
        ``client.submit(function, part, workers=[address], allow_other_workers=True)``. Workers that get nothing are left out.

    Raises
    ------
    InputError
        Without workers, or where no node gives a forecast.
    """
    if not cpu_seconds > 0:
        raise InputError(f"cpu_seconds={cpu_seconds} has to be more than 0", kind="OutOfRange", given=cpu_seconds)
    workers: dict[str, dict[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    urls = {address: _node_of(told["name"], address, told["host"], nodes) for address, told in workers.items()}
    n_threads: dict[str, int] = {}
    for address, url in urls.items():
        if url is not None:
            n_threads[url] = n_threads.get(url, 0) + workers[address]["nthreads"]
    told = {url: ask(url, n, token) for url, n in n_threads.items()}
    outlooks = known_or_worst({address: told.get(url or "") for address, url in urls.items()})
    if outlooks is None:
        asked = ", ".join(sorted(told)) or "none was named for these workers"
        raise InputError(f"no node gives a forecast of a worker ({asked})", kind="NoForecast", given=None)
    seats = [Seat(workers[address]["nthreads"], 0.0, outlook) for address, outlook in outlooks.items()]
    parts: list[tuple[str, Sequence[T]]] = []
    start = 0
    for address, n_items in zip(outlooks, counts(len(items), cpu_seconds, seats), strict=True):
        if n_items > 0:
            parts.append((address, items[start : start + n_items]))
        start += n_items
    return parts


def _is_free(task: TaskState) -> bool:
    """Whether nobody has said where a task is to run, and no data are to be near."""
    is_bound = task.worker_restrictions or task.host_restrictions or task.resource_restrictions or task.actor
    return task.state == "released" and not task.dependencies and not is_bound and task.run_spec is not None


def _node_of(name: object, address: str, host: str, nodes: Mapping[str, str] | None) -> str | None:
    if nodes is None:
        return f"http://{f'[{host}]' if ':' in host else host}:{_NODE_PORT}"
    return next((nodes[key] for key in (str(name), address, host) if key in nodes), None)
