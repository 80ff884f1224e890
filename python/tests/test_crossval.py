"""Random test cases: by threads, by Dask, through interruptions; always the same file."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from dask.distributed import Client, LocalCluster
from forecasters import Deadly, Lethal, Own
from foretop import InputError, _native, crossval
from foretop.sched.dask import PlaceByForecast
from reference import TESTDATA, read_trace

NAMES = ["ec2_cpu_utilization_24ae8d", "ec2_cpu_utilization_5f5533"]
TRACES = {name: read_trace(name) for name in NAMES}
TEMPLATE = {"models": ["LAST", "AR(1..16)", "BM(1..8)"], "fit": "200..400", "test": "50..100", "leads": [1, 2, 30]}
N_CASES = 3000


def run(out: Path, **options: Any) -> crossval.Outcome:
    """Run the campaign that all tests are about."""
    settings: dict[str, Any] = {"cases": N_CASES, "seed": 7, "progress": False, **options}
    return crossval.run(TEMPLATE, TRACES, out=out, **settings)


def cluster(**options: Any) -> LocalCluster:
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", **options)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return what one thread makes of the campaign."""
    out = tmp_path_factory.mktemp("alone") / "cases.parquet"
    done = run(out, workers=1)
    assert (done.path, done.n_cases, done.n_evaluated, done.timings.exists()) == (out, N_CASES, N_CASES, True)
    return out.read_bytes()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster() as workers, Client(workers, set_as_default=False) as client:
        yield client


def test_threads_change_nothing(tmp_path: Path, alone: bytes) -> None:
    assert run(tmp_path / "a.parquet", workers=3).path.read_bytes() == alone


def test_dask_workers_change_nothing(tmp_path: Path, alone: bytes, client: Client) -> None:
    assert run(tmp_path / "a.parquet", client=client).path.read_bytes() == alone


def test_an_address_a_cluster_and_the_word_local_are_clients(tmp_path: Path, alone: bytes, client: Client) -> None:
    address = client.scheduler_info()["address"]
    for name, given in (("address", address), ("cluster", client.cluster), ("local", "local")):
        done = run(tmp_path / f"{name}.parquet", client=given, workers=2)
        assert (name, done.path.read_bytes() == alone) == (name, True)


class Counting(PlaceByForecast):
    """Tells how many tasks come together."""

    def update_graph(self, scheduler: Any, *, tasks: list[Any], **kwargs: Any) -> None:
        """Count them."""
        scheduler.log_event("asked", len(tasks))
        super().update_graph(scheduler, tasks=tasks, **kwargs)


def test_placement_changes_nothing_but_places(tmp_path: Path, alone: bytes) -> None:
    with cluster(processes=False) as workers, Client(workers, set_as_default=False) as client:
        assert run(tmp_path / "a.parquet", client=client, placement=Counting(nodes={})).path.read_bytes() == alone
        # What comes together is more than there are workers, so that it can be placed.
        assert max(n_tasks for _, n_tasks in client.get_events("asked")) > 2
        plugins = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.plugins))
        assert PlaceByForecast.name not in plugins
    with pytest.raises(InputError, match="placement is among the workers of a client"):
        run(tmp_path / "b.parquet", placement=PlaceByForecast())


def test_a_campaign_leaves_nothing_on_the_workers(tmp_path: Path, client: Client) -> None:
    def plugins(dask_worker: Any) -> list[str]:
        return [name for name in dask_worker.plugins if name.startswith("foretop")]

    run(tmp_path / "a.parquet", client=client, cases=100)
    assert client.run(plugins) == {worker: [] for worker in client.nthreads()}


@pytest.mark.parametrize("workers_by", ["threads", "dask"])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, alone: bytes, client: Client, workers_by: str) -> None:
    out = tmp_path / "a.parquet"

    def stop(progress: crossval.Progress) -> None:
        # A part has 512 cases, so that two are there.
        if progress.n_done > 1100:
            raise KeyboardInterrupt

    # More cases than there is time for before that is seen.
    with pytest.raises(KeyboardInterrupt):
        run(out, cases=10_000_000, progress=stop, client=client if workers_by == "dask" else None)
    assert not out.exists() and out.with_name("a.parquet.parts").exists()
    done = run(out, client=None if workers_by == "dask" else client)
    assert done.n_evaluated < N_CASES
    assert out.read_bytes() == alone and not out.with_name("a.parquet.parts").exists()


def test_an_interrupt_from_the_keyboard_stops_threads(tmp_path: Path) -> None:
    is_noticed = threading.Event()

    def handle(*_: object) -> None:
        is_noticed.set()
        raise KeyboardInterrupt

    class Interrupting(Own):
        def fit(self, samples: Any) -> Any:
            if not is_noticed.is_set():
                signal.raise_signal(signal.SIGINT)
                is_noticed.wait()
            return super().fit(samples)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "a.parquet", peers=[Interrupting("LAST")])
    finally:
        signal.signal(signal.SIGINT, before)
    assert not (tmp_path / "a.parquet").exists()


def test_a_lost_worker_costs_what_it_was_at(tmp_path: Path) -> None:
    peer = Lethal("LAST", tmp_path / "mark")
    with cluster() as workers, Client(workers, set_as_default=False) as client:
        by_dask = run(tmp_path / "dask.parquet", client=client, peers=[peer])
    assert peer.mark.exists()
    here = run(tmp_path / "here.parquet", peers=[peer])
    assert by_dask.path.read_bytes() == here.path.read_bytes()
    assert by_dask.n_evaluated == here.n_evaluated == N_CASES


def test_cases_that_take_every_worker_down_end_the_run(tmp_path: Path) -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster() as workers,
        Client(workers, set_as_default=False) as client,
        pytest.raises(
            crossval.RunError, match=r"^the cases \d+ to \d+ were at 1 workers when these were lost$"
        ) as refusal,
    ):
        run(tmp_path / "a.parquet", client=client, peers=[Deadly("LAST")])
    assert refusal.value.kind == "WorkersLost"
    assert not (tmp_path / "a.parquet").exists()


def test_a_worker_of_another_version_is_refused(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "version", lambda: "0.0.0")
    with pytest.raises(crossval.RunError, match=r"it has to have 0\.0\.0, as its client") as refusal:
        run(tmp_path / "a.parquet", client=client)
    assert refusal.value.kind == "OtherVersion"
    monkeypatch.undo()
    assert run(tmp_path / "a.parquet", client=client).n_evaluated == N_CASES


def test_progress_counts_what_dask_workers_did(tmp_path: Path, client: Client) -> None:
    seen: list[crossval.Progress] = []
    run(tmp_path / "a.parquet", client=client, progress=seen.append)
    run(tmp_path / "b.parquet", progress=seen.append)
    by_dask, here = (next(last for last in seen if last.n_done == N_CASES), seen[-1])
    assert (by_dask.n_done, by_dask.n_failed, by_dask.n_cases) == (N_CASES, here.n_failed, N_CASES)
    assert [standing.model for standing in by_dask.standings] == [standing.model for standing in here.standings]
    assert here.rate > 0 and here.seconds_left == 0 and "3000 of 3000 cases" in str(here)


def test_a_file_and_a_dictionary_are_the_same_campaign(tmp_path: Path) -> None:
    template = tmp_path / "template.toml"
    template.write_text(
        'models = ["LAST", "AR(4)"]\nfit = "200..300"\ntest = 50\nleads = 1\n[transformation]\naggregate = [1, 2]\n'
    )
    as_dictionary = {
        "models": ["LAST", "AR(4)"],
        "fit": "200..300",
        "test": 50,
        "leads": 1,
        "transformation": {"aggregate": [1, 2]},
    }
    paths = [TESTDATA / "nab" / f"{name}.csv" for name in NAMES]
    first = crossval.run(template, paths, cases=60, out=tmp_path / "a.parquet", progress=False).path
    second = crossval.run(as_dictionary, TRACES, cases=60, out=tmp_path / "b.parquet", progress=False).path
    frames = [crossval.read(path) for path in (first, second)]
    assert frames[0].equals(frames[1]) and len(frames[0]) == 60


def test_a_trace_that_is_too_short_is_named(tmp_path: Path) -> None:
    traces = {**TRACES, "short": TRACES[NAMES[0]][:99]}
    done = crossval.run(TEMPLATE, traces, cases=9, out=tmp_path / "a.parquet", progress=False)
    assert done.left_out == {"short": 99}
