"""Tasks of a real Dask cluster, placed by `foretop.sched.dask` beside Dask's own scheduling with work stealing, on workers that others slow down.

Each worker is in a control group whose share of a core is set over time, the same for both: a replayed load, which each worker's own sensor has
to find out. Both take turns, on new workers each time. Tasks compute until they got so much processor time, so the least time in which all
could be done is known. Needs root, for the groups.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread

from dask.distributed import Client, LocalCluster
from foretop.sched.dask import PlaceByForecast, WorkerSensor
from report import machine, print_machine, print_table, save
from sched_pool import follow, group, least, limit

BUSY = 0.15
# What each worker gets of its share of a core, as time goes by in parts of the time that all would take without load.
LOADS: dict[str, tuple[Callable[[float], float], ...]] = {
    "none": (lambda _: 1.0, lambda _: 1.0, lambda _: 1.0),
    "one worker busy": (lambda _: 1.0, lambda _: 1.0, lambda _: BUSY),
    "one gets busy half-way": (lambda _: 1.0, lambda _: 1.0, lambda part: BUSY if part > 0.5 else 1.0),
}
# Tasks of all workers together, for the same work: long ones leave less to correct.
N_TASKS = (12, 36)
# Sensors get that long to see the load before there is work.
SETTLE_SECONDS = 5.0


def main() -> None:
    """Run each load with tasks of each length in turns, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cores", type=float, default=0.4, help="what each worker gets of a core without load")
    arguments.add_argument("--cpu", type=float, default=12.0, help="seconds of processor time that all tasks take")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    rows, ratios = [], {}
    for load, parts in LOADS.items():
        shares = [share_of(given, part) for part in parts]
        for n_tasks in N_TASKS:
            seconds: dict[str, list[float]] = {"dask": [], "foretop": []}
            for nth in range(given.rounds):
                # Who goes first takes turns as well.
                for who in ("dask", "foretop") if nth % 2 == 0 else ("foretop", "dask"):
                    seconds[who].append(run(who, shares, n_tasks, given.cpu))
            pairs = zip(seconds["foretop"], seconds["dask"], strict=True)
            beside = [one / other - 1 for one, other in pairs]
            bound = least(given.cpu, shares)
            over = {who: median(of) / bound for who, of in seconds.items()}
            ratios[f"{load}, {n_tasks} tasks"] = median(beside)
            spread = f"{min(beside):+.0%} to {max(beside):+.0%}"
            rows.append(
                [load, str(n_tasks), f"{over['dask']:.2f}", f"{over['foretop']:.2f}", f"{median(beside):+.1%}", spread]
            )
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    head = ["load", "tasks", "Dask over bound", "by forecast over bound", "by forecast beside Dask", "from, to"]
    print_table(
        f"Tasks of {given.cpu:g} s of processor time on three Dask workers, medians of {given.rounds} pairs", head, rows
    )
    print_machine(machine())
    save("dask_steal", {"beside_dask": ratios})


def share_of(given: argparse.Namespace, part: Callable[[float], float]) -> Callable[[float], float]:
    """Return a worker's share of a core by seconds since the work came."""
    without = given.cpu / (3 * given.cores)
    return lambda t: given.cores * part(t / without)


def run(who: str, shares: list[Callable[[float], float]], n_tasks: int, cpu: float) -> float:
    """Have all tasks done by new workers, and return how long that took in seconds."""
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(n_workers=0, dashboard_address=None))
        client = stack.enter_context(Client(cluster, set_as_default=False))
        groups = [stack.enter_context(group(f"foretop-dask-{os.getpid()}-{nth}")) for nth in range(len(shares))]
        for nth, at in enumerate(groups):
            limit(at, shares[nth](0.0))
            stack.enter_context(worker(cluster.scheduler_address, nth, at))
        client.wait_for_workers(len(groups), timeout=60)
        client.run(warm)
        if who == "foretop":
            client.register_plugin(WorkerSensor())
            client.register_plugin(PlaceByForecast(nodes={}))
        time.sleep(SETTLE_SECONDS)
        stop = Event()
        replay = Thread(target=follow, args=(groups, shares, stop))
        replay.start()
        began = time.monotonic()
        client.gather(client.map(compute, [cpu / n_tasks] * n_tasks, pure=False))
        seconds = time.monotonic() - began
        stop.set()
        replay.join()
        # Throttled workers would take long to end.
        for at in groups:
            limit(at, 1.0)
        return seconds


def warm() -> None:
    """Import what the first task would have to."""
    compute(0.01)


def compute(cpu_seconds: float) -> None:
    """Compute for so much processor time."""
    import time

    until = time.thread_time() + cpu_seconds
    while time.thread_time() < until:
        pass


@contextmanager
def worker(scheduler: str, nth: int, at: Path) -> Iterator[None]:
    """Start a worker with one thread in a group."""

    def enter() -> None:
        (at / "cgroup.procs").write_text("0")

    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--nthreads", "1", "--no-nanny"]
    command += ["--no-dashboard", "--name", str(nth), "--local-directory", "/tmp", "--memory-limit", "0"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=enter, env=environment)
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    main()
