"""Tasks placed by forecast, on real Dask clusters beside nodes that say what a test wants."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dask
import pytest
from dask.distributed import Client, LocalCluster, as_completed, get_worker
from foretop import InputError
from foretop.sched._outlook import Outlook, Seat, ask, counts, known_or_worst
from foretop.sched._sensor import points, probe
from foretop.sched.dask import PlaceByForecast, WorkerSensor, report, split

# Whoever steals changes where things run.
ALONE = {"distributed.scheduler.work-stealing": False}


@contextmanager
def node(median: Callable[[float, int], float | None], token: str | None = None) -> Iterator[str]:
    """Answer as a node does, with the median that is wanted for the CPU seconds of each thread."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            n_threads = int(asked["threads"][0])
            is_allowed = token is None or self.headers.get("Authorization") == f"Bearer {token}"
            told = {
                "median_seconds": median(float(asked["cpu_seconds"][0]) / n_threads, n_threads),
                "horizon_seconds": 9600.0,
            }
            self.send_response(200 if is_allowed else 401)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def cluster(config: dict[str, bool] = ALONE) -> Iterator[Client]:
    with (
        dask.config.set(config),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def where(_: int) -> str:
    return str(get_worker().name)


# Workers are threads of this process.
RELEASED = Event()
HELD = Event()


def where_unless_held(_: int) -> str:
    name = where(_)
    if name == "1":
        HELD.set()
        RELEASED.wait()
    return name


def test_tasks_go_where_they_are_forecast_to_end_first() -> None:
    with node(lambda cpu, _: cpu) as fast, node(lambda cpu, _: 3 * cpu) as slow, cluster() as client:
        client.register_plugin(PlaceByForecast(nodes={"0": fast, "1": slow}))
        done = Counter(client.gather(client.map(where, range(40), pure=False)))
        assert done == {"0": 30, "1": 10}
        told = list(report(client).values())
        assert sorted(of["n_placed"] for of in told) == [10, 30]
        assert sorted(of["seconds_for_10"] for of in told) == [10.0, 30.0]


@pytest.mark.parametrize("config", [ALONE, {}], ids=["alone", "with stealing"])
@pytest.mark.parametrize(
    "keys",
    [
        [f"job_{i}" for i in range(40)],
        [f"job-{i}" for i in range(40)],
        [str(i) for i in range(40)],
        [("job", i) for i in range(40)],
        [f"{'abcdefgh'[i % 8]}-{i}" for i in range(40)],
    ],
    ids=["of their own", "of a kind", "numbers", "tuples", "eight kinds"],
)
def test_tasks_of_a_graph_are_spread_whatever_their_keys(keys: list[Any], config: dict[str, bool]) -> None:
    with node(lambda cpu, _: cpu) as fast, node(lambda cpu, _: 3 * cpu) as slow, cluster(config) as client:
        client.register_plugin(PlaceByForecast(nodes={"0": fast, "1": slow}))
        client.gather(client.map(where, range(40), key=keys, pure=False))
        assert sorted(of["n_placed"] for of in report(client).values()) == [10, 30]


def test_without_forecasts_dask_decides() -> None:
    with cluster() as client:
        client.register_plugin(PlaceByForecast(nodes={}))
        assert len(client.gather(client.map(where, range(40), pure=False))) == 40
        assert report(client) == {}


def test_tasks_that_are_bound_stay_where_they_were_put() -> None:
    with node(lambda cpu, _: cpu) as fast, node(lambda cpu, _: 3 * cpu) as slow, cluster() as client:
        client.register_plugin(PlaceByForecast(nodes={"0": fast, "1": slow}))
        slow_one = next(a for a, of in client.scheduler_info(n_workers=-1)["workers"].items() if str(of["name"]) == "1")
        done = Counter(client.gather(client.map(where, range(10), pure=False, workers=[slow_one])))
        assert done == {"1": 10}


def test_a_sequence_is_split_once() -> None:
    with node(lambda cpu, _: cpu) as fast, node(lambda cpu, _: 4 * cpu) as slow, cluster() as client:
        parts = split(list(range(50)), client, nodes={"0": fast, "1": slow})
        assert [item for _, part in parts for item in part] == list(range(50))
        assert sorted(len(part) for _, part in parts) == [10, 40]
        with pytest.raises(InputError, match="no node gives a forecast"):
            split([1], client, nodes={})
        with pytest.raises(InputError, match="cpu_seconds=0"):
            split([1], client, cpu_seconds=0)


def test_workers_of_one_host_are_asked_about_together() -> None:
    # One core for whoever is there: two threads take twice as long.
    with node(lambda cpu, n_threads: cpu * n_threads) as url:
        told = ask(url, 2)
    assert told is not None
    assert told.seconds(10.0) == 20.0


def test_a_node_that_cannot_tell_is_none() -> None:
    with node(lambda cpu, _: cpu, token="secret") as url:
        assert ask(url, 1) is None
        assert ask(url, 1, "secret") == Outlook(((1.0, 1.0), (10.0, 10.0), (60.0, 60.0), (300.0, 300.0)))
    assert ask(url, 1) is None
    with node(lambda cpu, _: None if cpu > 100 else 2 * cpu) as url:
        told = ask(url, 1)
    assert told is not None
    assert told.seconds(300.0) == 9600.0


def test_a_worker_of_which_nothing_is_known_is_taken_for_the_slowest() -> None:
    fast, slow = Outlook(((1.0, 1.0),)), Outlook(((1.0, 5.0),))
    assert known_or_worst({"a": fast, "b": None, "c": slow}) == {"a": fast, "b": slow, "c": slow}
    assert known_or_worst({"a": None}) is None


def test_a_busy_worker_gets_less() -> None:
    idle = Outlook(((1.0, 1.0),))
    assert counts(10, 1.0, [Seat(1, 4.0, idle), Seat(1, 0.0, idle)]) == [3, 7]
    assert counts(9, 1.0, [Seat(2, 0.0, idle), Seat(1, 0.0, idle)]) == [6, 3]


def test_tasks_that_wait_move_away_from_a_worker_that_does_not_get_on() -> None:
    RELEASED.clear()
    with node(lambda cpu, _: cpu) as url, cluster({}) as client:
        client.register_plugin(PlaceByForecast(nodes={"0": url, "1": url}))
        futures = client.map(where_unless_held, range(20), pure=False)
        ended = as_completed(futures, loop=client.loop, with_results=True)
        done = Counter(next(ended)[1] for _ in range(19))
        RELEASED.set()
        assert (done, next(ended)[1]) == ({"0": 19}, "1")
        told = report(client).values()
        assert [of["n_placed"] for of in told] == [10, 10]
        # A machine that stands still for a moment makes the other worker look stuck as well.
        assert sum(of.get("n_moved", 0) for of in told) >= 9


def test_tasks_that_cost_more_than_thought_do_so_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    RELEASED.clear()
    HELD.clear()
    with node(lambda cpu, _: 20 * cpu) as slow, node(lambda cpu, _: cpu) as fast, cluster({}) as client:
        client.register_plugin(PlaceByForecast(nodes={"0": slow, "1": fast}))
        futures = client.map(where_unless_held, range(6), pure=False)
        HELD.wait()
        now = monotonic()
        monkeypatch.setattr("foretop.sched.dask.monotonic", lambda: now + 10)
        client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.plugins[PlaceByForecast.name]._correct())
        RELEASED.set()
        # One on the slow worker would take longer than all of them take on the other.
        assert client.gather(futures) == ["1"] * 6


def test_tasks_of_a_lost_worker_go_to_others() -> None:
    RELEASED.clear()
    with node(lambda cpu, _: cpu) as url, cluster() as client:
        client.register_plugin(PlaceByForecast(nodes={"0": url, "1": url}))
        held = next(a for a, of in client.scheduler_info(n_workers=-1)["workers"].items() if str(of["name"]) == "1")
        futures = client.map(where_unless_held, range(20), pure=False)
        ended = as_completed(futures, loop=client.loop, with_results=True)
        first = Counter(next(ended)[1] for _ in range(10))

        async def lose(dask_scheduler: Any) -> None:
            await dask_scheduler.remove_worker(held, stimulus_id="lost")

        client.run_on_scheduler(lose)
        RELEASED.set()
        assert first + Counter(name for _, name in ended) == {"0": 20}


async def tell(dask_worker: Any) -> None:
    await dask_worker.heartbeat()


def test_a_sensor_in_each_worker_tells_what_nodes_would() -> None:
    with cluster() as client:
        client.register_plugin(WorkerSensor())
        client.run(tell)
        client.register_plugin(PlaceByForecast(nodes={}))
        assert len(client.gather(client.map(where, range(40), pure=False))) == 40
        told = list(report(client).values())
        assert sum(of["n_placed"] for of in told) == 40
        assert all(of["seconds_for_10"] >= 10 for of in told)
        assert sum(len(part) for _, part in split(range(10), client, nodes={})) == 10


def test_a_sensor_forecasts_from_what_it_measured() -> None:
    assert points([0.5, 0.5]) == [(1.0, 2.0), (10.0, 20.0), (60.0, 120.0), (300.0, 600.0)]
    assert points([0.05] * 50)[-1] == pytest.approx((10.0, 200.0))
    assert 0 < probe() <= 1


def test_periods_are_positive() -> None:
    with pytest.raises(InputError, match="more than 0"):
        PlaceByForecast(every=0)
    with pytest.raises(InputError, match="probe_every=0"):
        WorkerSensor(probe_every=0)
