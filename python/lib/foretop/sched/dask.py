"""Tasks of a Dask cluster, placed where they are forecast to end first.

:class:`PlaceByForecast` is a plug-in for the scheduler. :func:`split` cuts a sequence once, so that all workers end at one time. Both ask a
node (``foretop up``) on each worker's host how long processor time takes there, or the worker itself, if it has a :class:`WorkerSensor`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from dask.distributed import Client, SchedulerPlugin, WorkerPlugin
from tornado.ioloop import PeriodicCallback

from foretop._errors import InputError
from foretop.sched._outlook import Outlook, Seat, ask, counts, known_or_worst
from foretop.sched._sensor import Sensor

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState, WorkerState
    from distributed.stealing import WorkStealing
    from distributed.worker import Worker

T = TypeVar("T")

# Where nodes listen unless they are told otherwise.
_NODE_PORT = 7311

# Of tasks that nobody has seen: Dask's own `unknown-duration`.
_UNKNOWN_SECONDS = 0.5

# What a worker with a sensor tells is with its other figures under this name.
_FIGURE = "foretop"

# Seconds between two looks at whether work should move, and tasks that move at a time.
_LOOK_SECONDS = 0.2
_N_MOVES_MAX = 100

# Work moves if it then ends earlier by that part of a task's time, and by the time in seconds that moving takes.
_WORTH_PART = 0.25
_WORTH_SECONDS = 0.05

# Ended tasks of a kind that its cost is learned from, and the weight of the latest one in how far a worker is off its forecast.
_N_COSTS = 32
_LATEST_WEIGHT = 0.5

__all__ = ["PlaceByForecast", "WorkerSensor", "report", "split"]


class WorkerSensor(WorkerPlugin):
    """A sensor in each worker, for clusters without nodes: it measures and forecasts what the worker gets of its cores.

    It tells what tasks get whoever takes the rest, other processes or a control group's quota, and goes on while they run. While none do,
    one thread computes for 0.3 s every so often. Tasks that wait for something else than a core look like tasks that get little of it.

    Parameters
    ----------
    probe_every : float, optional
        Seconds between two probes while no task runs.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client.register_plugin(WorkerSensor())  # doctest: +SKIP
    >>> client.register_plugin(PlaceByForecast())  # doctest: +SKIP
    """

    name = "foretop-worker-sensor"

    def __init__(self, *, probe_every: float = 10.0) -> None:
        if not probe_every > 0:
            message = f"probe_every={probe_every} has to be more than 0 seconds"
            raise InputError(message, kind="OutOfRange", given=probe_every)
        self._probe_every = probe_every
        # Workers may be threads of one process.
        self._sensors: dict[str, Sensor] = {}

    def setup(self, worker: Worker) -> None:
        """Begin to measure, and tell it with each heartbeat."""
        sensor = Sensor(lambda: worker.state.executing_count, self._probe_every)
        sensor.start()
        worker.metrics[_FIGURE] = lambda _: sensor.points()
        self._sensors[worker.address] = sensor

    def teardown(self, worker: Worker) -> None:
        """End."""
        worker.metrics.pop(_FIGURE, None)
        self._sensors.pop(worker.address).stop()


class PlaceByForecast(SchedulerPlugin):
    """Places tasks without dependencies where they are forecast to end first.

    A batch of such tasks is cut once, as it comes: each worker gets so many that all end at one time. While they run, the plug-in moves
    those that wait where another worker is forecast to end them earlier, by what forecasts say and ended tasks took; Dask's own stealing,
    which takes all workers for equally fast, leaves them alone. A lost worker's tasks go to others. Tasks with dependencies stay with Dask,
    which puts them where their data are. Without a forecast of any worker, everything does.

    What a worker with a :class:`WorkerSensor` tells counts. Otherwise the node on its host is asked while its workers have nothing to do: a
    node cannot tell their load from others'. A forecast from before they began counts for ``max_age`` seconds.

    Parameters
    ----------
    nodes : mapping of str to str, optional
        For a worker's name, address or host, the address of the node there. Unless given, ``http://HOST:7311``.
    token : str, optional
        What nodes want to be shown.
    every : float, optional
        Seconds between two questions.
    max_age : float, optional
        Seconds after which a node's forecast is none any more.

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
        self._n_moved: dict[str, int] = {}
        # Tasks that this plug-in placed and that have not ended, and the outlooks that were known of all workers then.
        self._own: set[Any] = set()
        self._outlooks: dict[str, Outlook] = {}
        # Processor time in seconds of the tasks of each kind that ended, and when each worker began what it is at.
        self._costs: dict[str, deque[float]] = {}
        self._began: dict[str, float] = {}
        # Of kinds of which none ended, the most processor time that one at work is forecast to have got.
        self._got: dict[str, float] = {}
        # How many times as long as forecast a worker's tasks take.
        self._off: dict[str, float] = {}
        self._scheduler: Scheduler | None = None
        self._periodic: list[PeriodicCallback] = []

    async def start(self, scheduler: Scheduler) -> None:
        """Ask all nodes once, and then every so often."""
        self._scheduler = scheduler
        await self._refresh()
        self._periodic = [
            PeriodicCallback(self._refresh, 1000 * self._every),
            PeriodicCallback(self._correct, 1000 * _LOOK_SECONDS),
        ]
        for periodic in self._periodic:
            periodic.start()

    async def close(self) -> None:
        """Ask no more."""
        for periodic in self._periodic:
            periodic.stop()

    def remove_worker(self, scheduler: Scheduler, worker: str, *, stimulus_id: str, **kwargs: Any) -> None:
        """Forget a worker, and let its tasks go to others."""
        for of in (self._known, self._outlooks, self._began, self._off):
            of.pop(worker, None)
        lost = []
        for key in list(self._own):
            task = scheduler.tasks.get(key)
            if task is None:
                self._own.discard(key)
            elif task.worker_restrictions == {worker}:
                task.worker_restrictions = None
                lost.append(task)
        unplaced = [task for task in lost if task.state == "no-worker"]
        if unplaced and scheduler.running:
            self._place(scheduler, unplaced, {})
            scheduler.transitions({task.key: "processing" for task in unplaced}, stimulus_id=stimulus_id)

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
        # Tasks with keys of their own are a kind each.
        placed: dict[str, float] = {}
        for alike in by_prefix.values():
            self._place(scheduler, alike, placed)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Learn from what has ended."""
        if start != "processing" or self._scheduler is None:
            return
        if kwargs.get("worker") is not None:
            self._began[kwargs["worker"]] = monotonic()
        if key not in self._own or finish == "processing":
            return
        if finish in ("memory", "erred", "forgotten"):
            self._own.discard(key)
        if finish == "memory":
            self._learn(self._scheduler.tasks[key], kwargs.get("worker"), kwargs.get("startstops") or ())

    def _learn(self, task: TaskState, address: str | None, startstops: Iterable[Mapping[str, Any]]) -> None:
        """Compare the time that a task took with its forecast."""
        seconds = sum(part["stop"] - part["start"] for part in startstops if part["action"] == "compute")
        worker = self._workers().get(address or "")
        outlook = None if worker is None else self._outlook(worker)
        if outlook is None or worker is None or not seconds > 0:
            return
        pace = outlook.seconds(1.0)
        off = seconds / outlook.seconds(self._cost(task))
        self._off[worker.address] = off + (1 - _LATEST_WEIGHT) * (self._off.get(worker.address, off) - off)
        self._costs.setdefault(task.prefix.name, deque(maxlen=_N_COSTS)).append(seconds / pace)

    def _workers(self) -> dict[str, WorkerState]:
        assert self._scheduler is not None
        return dict(self._scheduler.workers)

    def _cost(self, task: TaskState) -> float:
        """Return what a task is expected to take of processor time, in seconds."""
        known = self._costs.get(task.prefix.name)
        if known:
            return median(known)
        average: float = task.prefix.duration_average
        if average > 0:
            return average
        # One that takes longer than that is taken to be half through, and so all of its kind to take as much, wherever they run.
        return max(_UNKNOWN_SECONDS, 2 * self._got.get(task.prefix.name, 0.0))

    def _look(self, workers: Iterable[WorkerState], now: float) -> None:
        """See what tasks at work got so far."""
        self._got = {}
        for worker in workers:
            outlook = self._outlook(worker)
            if outlook is not None and worker.processing:
                got = (now - self._began.get(worker.address, now)) / outlook.seconds(1.0)
                for task in _in_order(worker)[: worker.nthreads]:
                    self._got[task.prefix.name] = max(got, self._got.get(task.prefix.name, 0.0))

    def _outlook(self, worker: WorkerState) -> Outlook | None:
        """Return the latest word of a worker's sensor, or what was known of it when tasks were placed; of one that came later, the worst."""
        told = _told(worker) or self._outlooks.get(worker.address)
        return told or (known_or_worst({"": None, **self._outlooks}) or {}).get("")

    def _seconds(self, worker: WorkerState, cpu_seconds: float) -> float:
        """Return how long processor time takes on a worker, by its forecast and by how far off that was."""
        outlook = self._outlook(worker)
        assert outlook is not None
        # A sensor's word is as new as the last task.
        off = 1.0 if _told(worker) is not None else self._off.get(worker.address, 1.0)
        return off * outlook.seconds(cpu_seconds)

    def _place(self, scheduler: Scheduler, tasks: list[TaskState], placed: dict[str, float]) -> None:
        """Place tasks of one kind; `placed` is how many seconds of work each worker has got that it does not know of yet."""
        workers = [worker for worker in scheduler.workers.values() if worker in scheduler.running]
        now = monotonic()
        known = {worker.address: _told(worker) or self._node_told(worker.address, now) for worker in workers}
        outlooks = known_or_worst(known)
        if outlooks is None:
            return
        self._outlooks = outlooks
        seconds = self._cost(tasks[0])
        seats = [
            Seat(worker.nthreads, self._ends(worker, now) + placed.get(worker.address, 0.0), outlooks[worker.address])
            for worker in workers
        ]
        left = iter(tasks)
        for worker, n_tasks in zip(workers, counts(len(tasks), seconds, seats), strict=True):
            if not worker.processing:
                self._began[worker.address] = now
            for _ in range(n_tasks):
                task = next(left)
                task.worker_restrictions = {worker.address}
                self._own.add(task.key)
            self._n_placed[worker.address] = self._n_placed.get(worker.address, 0) + n_tasks
            work = outlooks[worker.address].seconds(seconds * n_tasks / worker.nthreads)
            placed[worker.address] = placed.get(worker.address, 0.0) + work

    def _node_told(self, address: str, now: float) -> Outlook | None:
        at, outlook = self._known.get(address, (0.0, None))
        return outlook if now - at <= self._max_age else None

    def _ends(self, worker: WorkerState, now: float) -> float:
        """Return the seconds until a worker is forecast to be done with what it has."""
        if not worker.processing or self._outlook(worker) is None:
            return 0.0
        costs = [self._cost(task) for task in worker.processing]
        each = self._seconds(worker, sum(costs) / len(costs))
        elapsed = now - self._began.get(worker.address, now)
        n_waiting = max(len(costs) - worker.nthreads, 0)
        # Where a task takes longer than forecast, those that wait are taken to do so as well.
        waiting = self._seconds(worker, sum(costs) / len(costs) * n_waiting / worker.nthreads)
        return max(each - elapsed, 0.0) + waiting * max(elapsed / each, 1.0)

    def _correct(self) -> None:
        """Move tasks that wait to where they are forecast to end earlier."""
        scheduler = self._scheduler
        stealing: WorkStealing | None = None if scheduler is None else scheduler.extensions.get("stealing")
        if scheduler is None or stealing is None or not self._own:
            return
        now = monotonic()
        # A paused worker gets nothing, and what waits there goes elsewhere.
        workers = {worker for worker in scheduler.workers.values() if self._outlook(worker) is not None}
        thieves = workers & scheduler.running
        waiting = {worker: self._waiting(worker, stealing) for worker in workers}
        self._look(workers, now)
        ends = {worker: self._ends(worker, now) for worker in workers}
        for _ in range(_N_MOVES_MAX):
            victims = [worker for worker in workers if waiting[worker]]
            victim = max(victims, key=ends.__getitem__, default=None)
            if victim is None or not thieves - {victim}:
                return
            task = waiting[victim][-1]
            takes = {worker: self._seconds(worker, self._cost(task)) / worker.nthreads for worker in workers}
            thief = min(thieves - {victim}, key=lambda worker: ends[worker] + takes[worker])
            if ends[thief] + (1 + _WORTH_PART) * takes[thief] + _WORTH_SECONDS > ends[victim]:
                return
            waiting[victim].pop()
            task.worker_restrictions = {thief.address}
            stealing.move_task_request(task, victim, thief)
            self._n_moved[thief.address] = self._n_moved.get(thief.address, 0) + 1
            ends[victim] -= takes[victim]
            ends[thief] += takes[thief]

    def _waiting(self, worker: WorkerState, stealing: WorkStealing) -> list[TaskState]:
        """Return the tasks of this plug-in that a worker has not begun, in the order in which it will."""
        have = _in_order(worker)[worker.nthreads :]
        return [task for task in have if task.key in self._own and task not in stealing.in_flight]

    async def _refresh(self) -> None:
        """Ask the nodes of hosts whose workers have nothing to do and no sensor, each once."""
        by_node: dict[str, list[WorkerState]] = {}
        for worker in self._workers().values():
            url = _node_of(worker.name, worker.address, worker.host, self._nodes)
            if url is not None and _told(worker) is None:
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
        known = dict(self._known)
        for worker in self._workers().values():
            outlook = _told(worker)
            if outlook is not None:
                known[worker.address] = (now, outlook)
        told = {
            address: {"age_seconds": now - at, "seconds_for_10": outlook.seconds(10.0)}
            for address, (at, outlook) in known.items()
        }
        for name, of in (("n_placed", self._n_placed), ("n_moved", self._n_moved)):
            for address, n_tasks in of.items():
                told.setdefault(address, {})[name] = n_tasks
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
        take there, ``n_placed`` tasks, and ``n_moved`` that other workers were to have; nothing where nothing is known.
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
    sensed = {address: _points(told["metrics"]) for address, told in workers.items()}
    n_threads: dict[str, int] = {}
    for address, url in urls.items():
        if url is not None and sensed[address] is None:
            n_threads[url] = n_threads.get(url, 0) + workers[address]["nthreads"]
    told = {url: ask(url, n, token) for url, n in n_threads.items()}
    outlooks = known_or_worst({address: sensed[address] or told.get(url or "") for address, url in urls.items()})
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


def _in_order(worker: WorkerState) -> list[TaskState]:
    """Return what a worker has in the order in which it begins that: by priority."""
    return sorted(worker.processing, key=lambda task: task.priority or ())


def _told(worker: WorkerState) -> Outlook | None:
    return _points(worker.metrics)


def _points(figures: Mapping[str, Any]) -> Outlook | None:
    """Return what a worker's sensor tells among its figures, if it has one."""
    told = figures.get(_FIGURE)
    return Outlook(tuple((cpu, seconds) for cpu, seconds in told)) if told else None


def _node_of(name: object, address: str, host: str, nodes: Mapping[str, str] | None) -> str | None:
    if nodes is None:
        return f"http://{f'[{host}]' if ':' in host else host}:{_NODE_PORT}"
    return next((nodes[key] for key in (str(name), address, host) if key in nodes), None)
