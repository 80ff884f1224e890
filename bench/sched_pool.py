"""Three throttled workers, one of which gets busy half-way: a real search by `foretop sequences`, by policy, beside one that knows everything.

Each worker is in a control group whose share of a core is set over time, the same for every policy: a replayed load. So the least time in which the
search could be done is known. Every policy has to find the same to the byte as one run of the tool. Needs root, for the groups.
"""

import argparse
import filecmp
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread

from report import TARGET, machine, print_machine, print_table, save

PERIOD_US = 100_000
RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
N_QUERIES = 20
N_LIBRARY_PARTS = 4
# What a unit costs to start is little beside what it computes.
POLICIES = ("EQUAL", "SELF(1)", "SELF(8)", "WFACTORING(2)", "PREDICTED(q=0.5,tail=0.2)", "CORRECTED(q=0.5)")
# What the busy worker still gets of its share.
BUSY = 0.15


def main() -> None:
    """Search by each policy, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop-sched`")
    arguments.add_argument("--cores", type=float, default=0.5, help="what each worker gets of a core")
    arguments.add_argument("--sequences", type=int, default=40_000, help="of the library")
    arguments.add_argument("--nice", type=int, default=0, help="of the workers, on a machine that others use")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, given.sequences)
        words = ["ssw-align", "-p", "-f", "250", str(folder / "lib.fa"), str(folder / "q.fa")]
        with (folder / "one").open("wb") as out:
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(words, check=True, stdout=out, stderr=subprocess.DEVNULL)
        cpu = used(began)
        half = 0.5 * cpu / (3 * given.cores)
        shares: list[Callable[[float], float]] = [
            lambda _: given.cores,
            lambda _: given.cores,
            lambda t: given.cores * (BUSY if t > half else 1.0),
        ]
        found: dict[str, list[dict[str, float]]] = {policy: [] for policy in POLICIES}
        for nth in range(given.rounds):
            for policy in POLICIES:
                found[policy].append(search(given, folder, words, policy, cpu, shares, nth))
        # All pairs, so that it is not the start that counts.
        n_bytes, seconds = merged(given, folder, [word for word in words if word not in ("-f", "250")])
    rows, ratios = [], {}
    equal = median(one["seconds"] for one in found["EQUAL"])
    for policy, runs in found.items():
        ratios[policy] = median(one["seconds"] / one["bound"] for one in runs)
        beside = median(one["seconds"] for one in runs) / equal - 1
        own = median(one["own"] for one in runs)
        rows.append([policy, f"{ratios[policy]:.2f}", f"{beside:+.0%}", f"{own:.1%}"])
    head = ["policy", "time over the least possible", "beside EQUAL", "splitter's CPU beside the work's"]
    print_table(f"Three throttled workers, one busy half-way: medians of {given.rounds} searches", head, rows)
    rate = n_bytes / seconds
    print("\nAll found the same as one run.")
    print(f"{n_bytes / 1e6:.0f} MB of all pairs were merged at {rate / 1e6:.0f} MB/s, the program's start included.")
    print(f"Gantt charts in {TARGET / 'bench'}.")
    print_machine(machine())
    save("sched_pool", {"over_bound_ratio": ratios, "merge_bytes_per_second": rate})


def make(folder: Path, n_sequences: int) -> None:
    """Write queries, and a library in which each has relatives."""
    chance = random.Random(1)

    def protein(length: int) -> str:
        return "".join(chance.choices(RESIDUES, k=length))

    queries = [protein(chance.randrange(150, 500)) for _ in range(N_QUERIES)]
    library = [protein(chance.randrange(100, 600)) for _ in range(n_sequences)]
    for nth in range(0, n_sequences, 50):
        of = queries[nth // 50 % N_QUERIES]
        library[nth] = "".join(protein(1) if chance.random() < 0.4 else residue for residue in of)
    for name, sequences in (("q", queries), ("lib", library)):
        (folder / f"{name}.fa").write_text("".join(f">{name}{nth}\n{text}\n" for nth, text in enumerate(sequences)))


def search(
    given: argparse.Namespace,
    folder: Path,
    words: list[str],
    policy: str,
    cpu: float,
    shares: list[Callable[[float], float]],
    nth: int,
) -> dict[str, float]:
    """Search once, under the replayed load."""
    name = "".join(letter if letter.isalnum() else "-" for letter in policy.lower()) + f"-{nth}"
    run, out = folder / name, folder / f"{name}.txt"
    with ExitStack() as stack:
        groups = [stack.enter_context(group(f"foretop-bench-{os.getpid()}-{at}")) for at in range(len(shares))]
        places = [stack.enter_context(worker(given, at)) for at in groups]
        command = [str(given.binary), "sequences", "--run", str(run), "--out", str(out), "--policy", policy]
        command += ["--library-parts", str(N_LIBRARY_PARTS), "--cost", f"{cpu:.1f}s"]
        command += [word for place in places for word in ("--worker", place)]
        for at, share in zip(groups, shares, strict=True):
            limit(at, share(0.0))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = folder / f"{name}.log"
        with said.open("wb") as err, subprocess.Popen([*command, "--", *words], stderr=err) as process:
            # The run's time, and that of the load, begins when workers have the library.
            while process.poll() is None and not has_begun(run):
                time.sleep(0.005)
            stop = Event()
            replay = Thread(target=follow, args=(groups, shares, stop))
            replay.start()
            status = process.wait()
            stop.set()
            replay.join()
        if status != 0:
            message = f"the search by {policy} ended with status {status}: {said.read_text()[-2000:]}"
            raise SystemExit(message)
        own = used(before)
    if not filecmp.cmp(folder / "one", out, shallow=False):
        message = f"{policy} found something else than one run of the tool"
        raise SystemExit(message)
    lines = [json.loads(line) for line in (run / "run.jsonl").read_text().splitlines()]
    done = [line for line in lines if line["is"] == "done"]
    work = sum(line["cpu_seconds"] for line in done)
    if nth == 0:
        (TARGET / "bench").mkdir(parents=True, exist_ok=True)
        chart = TARGET / "bench" / f"sched-pool-{name.removesuffix('-0').strip('-')}.svg"
        subprocess.run([given.binary, "explain", run, "--plot", chart], check=True, stdout=subprocess.DEVNULL)
    return {"seconds": max(line["t"] for line in done), "bound": least(cpu, shares), "own": own / work}


def merged(given: argparse.Namespace, folder: Path, words: list[str]) -> tuple[int, float]:
    """Put a search together of which everything is done; return its bytes and the seconds, the program's start included."""
    run, out = folder / "merged", folder / "merged.txt"
    with group(f"foretop-bench-{os.getpid()}-merged") as at, worker(given, at) as place:
        command = [str(given.binary), "sequences", "--run", str(run), "--out", str(out), "--worker", place]
        command += ["--library-parts", str(N_LIBRARY_PARTS), "--", *words]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        began = time.monotonic()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return out.stat().st_size, time.monotonic() - began


def has_begun(run: Path) -> bool:
    """Return whether the run in a folder has a plan."""
    journal = run / "run.jsonl"
    return journal.exists() and '"is":"planned"' in journal.read_text()


def least(cpu: float, shares: list[Callable[[float], float]]) -> float:
    """Return the time in which all together get so much processor time."""
    t, step, got = 0.0, 0.01, 0.0
    while got < cpu:
        got += step * sum(share(t) for share in shares)
        t += step
    return t


def follow(groups: list[Path], shares: list[Callable[[float], float]], stop: Event) -> None:
    """Set what each group gets, as time goes by."""
    began = time.monotonic()
    given: dict[Path, float] = {}
    while True:
        for at, share in zip(groups, shares, strict=True):
            cores = share(time.monotonic() - began)
            # Each time that a quota is set, a period begins with all of it.
            if given.get(at) != cores:
                limit(at, cores)
                given[at] = cores
        if stop.wait(0.05):
            return


def limit(at: Path, cores: float) -> None:
    """Let a group have so much of a core."""
    quota = str(int(cores * PERIOD_US))
    if (at / "cpu.max").exists():
        (at / "cpu.max").write_text(f"{quota} {PERIOD_US}")
    else:
        (at / "cpu.cfs_quota_us").write_text(quota)


@contextmanager
def group(name: str) -> Iterator[Path]:
    """Make a control group, of version 1 or 2."""
    root = Path("/sys/fs/cgroup")
    at = (root if (root / "cgroup.controllers").exists() else root / "cpu") / name
    at.mkdir()
    # What else runs on the machine takes nothing of a group's share.
    weight = at / "cpu.weight"
    (weight if weight.exists() else at / "cpu.shares").write_text("10000")
    try:
        yield at
    finally:
        # It goes when its last process is gone.
        for _ in range(100):
            try:
                at.rmdir()
                break
            except OSError:
                time.sleep(0.05)


@contextmanager
def worker(given: argparse.Namespace, at: Path) -> Iterator[str]:
    """Start a worker in a group, and give its place."""

    def enter() -> None:
        os.nice(given.nice)
        (at / "cgroup.procs").write_text("0")

    command = [given.binary, "worker", "--listen", "127.0.0.1:0", "--allow", "ssw-align=/usr/bin/ssw-align -*"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    try:
        assert process.stdout is not None  # It was asked for.
        line = process.stdout.readline()
        yield line.strip().removeprefix("listens at tcp:")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def used(before: resource.struct_rusage) -> float:
    """Return the processor time of children since then."""
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
