"""What watching the kernel costs: per event beside bpftrace, per pull, and by paired runs with and without it.

Needs root, BTF and bpftrace. Every figure of an event is the difference of two runs that follow each other, without probes and with
them; the table has the median of the pairs and a bootstrap interval. The machine may be busy: that widens the intervals.
"""

import argparse
import json
import os
import random
import resource
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from report import PROGRAMS, ROOT, machine, print_machine, print_table, save

# Of 20,000 events each; the fastest counts.
N_ROUNDS = 25
N_EVENTS = 20_000
N_RESAMPLES = 2000
# bpftrace 0.17 offers these by perf events, and no raw tracepoints. It finds them by debugfs, mounted for itself alone.
COUNT = "tracepoint:raw_syscalls:sys_enter { @ = count(); }"
PAIR = """tracepoint:raw_syscalls:sys_enter { @begun[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@begun[tid]/ { @ = stats(nsecs - @begun[tid]); delete(@begun[tid]); }"""
USER_POINT = '[[point]]\nlabel = "calls"\ntracepoint = "sys_enter"\n'
PULL_INTERVAL_MS = 100
N_PULLS = 50
N_POLLS = 10
# So that the work lasts for eight seconds: prices are those of the work once most of the agent's five windows are in it, which are a second
# apart.
N_OBSERVED_ROUNDS = {"read": 500, "fault": 150}
SETTLED_SECONDS = 5

# For pulls of 10 s: work of 10 s and more that mostly computes, and as long without it.
SELDOM_MS = 10_000
N_ORDINARY_ROUNDS = 10
QUIET_SECONDS = 15

# Where the kernel is told to account for what programs take, and the type of programs at software events.
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
PERF_EVENT = 7

Watching = Callable[[], AbstractContextManager[None]]


class Bench:
    """The programs that are measured, and a folder for what they leave."""

    def __init__(self, binary: Path, folder: Path, n_pairs: int) -> None:
        """Compile the work."""
        self.binary, self.folder, self.n_pairs = binary, folder, n_pairs
        self.work_program = folder / "kernel_work"
        subprocess.run(["cc", "-O2", "-o", self.work_program, ROOT / "bench/kernel_work.c"], check=True)

    def event_ns(self, work: str) -> float:
        """Return what one event of this work takes now."""
        command: list[str | Path] = [self.work_program, work, str(N_ROUNDS)]
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def cpu_seconds(self, work: str, n_rounds: int) -> float:
        """Return what this work takes of a processor: waiting for others that run is not in it."""
        before = children_cpu_seconds()
        subprocess.run([self.work_program, work, str(n_rounds)], check=True, stdout=subprocess.DEVNULL)
        return children_cpu_seconds() - before

    def ordinary_cpu_seconds(self) -> float:
        """Return what a program that mostly computes takes of a processor."""
        return self.cpu_seconds("ordinary", N_ORDINARY_ROUNDS)

    def observed(self, work: str, agent: "Agent") -> tuple[float, float, list[float]]:
        """Return what the work takes of a processor, the share of a core that it got, and the agent's estimates meanwhile."""
        began, before = time.monotonic(), children_cpu_seconds()
        command = [str(self.work_program), work, str(N_OBSERVED_ROUNDS[work])]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            n_settled = SETTLED_SECONDS * 1000 // PULL_INTERVAL_MS
            costs = agent.costs(lambda _: process.poll() is None)[n_settled:]
            elapsed = time.monotonic() - began
        spent = children_cpu_seconds() - before
        # The last pull has the work's end in it.
        return spent, spent / elapsed, costs[:-1]

    def pairs(self, work: str, watching: Watching) -> list[tuple[float, float]]:
        """Return the time of an event without and with probes, pair after pair."""
        return self.pairs_of(lambda: self.event_ns(work), watching)

    def pairs_of(self, measure: Callable[[], float], watching: Watching) -> list[tuple[float, float]]:
        """Return what is measured without and with probes, pair after pair, the order alternating."""
        found = []
        for i in range(self.n_pairs):
            if i % 2:
                with watching():
                    on = measure()
                off = measure()
            else:
                off = measure()
                with watching():
                    on = measure()
            found.append((off, on))
        return found

    @contextmanager
    def watch(self, *arguments: str) -> Iterator[None]:
        """Watch with our probes meanwhile; the first table says that they are on."""
        command = [str(self.binary), "watch", "--source", "bpf", "--interval", "100ms", *arguments]
        with ended(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
            until_line(process, lambda line: line.startswith("probes:"))
            # What it prints has to go somewhere.
            with ended(subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL, text=True)):
                yield

    @contextmanager
    def bpftrace(self, script: str) -> Iterator[None]:
        """Have bpftrace count meanwhile."""
        alone = ["unshare", "--mount", "sh", "-c", 'mount -t debugfs none /sys/kernel/debug && exec "$@"', "sh"]
        command = [*alone, "bpftrace", "-e", 'BEGIN { printf("ready\\n"); }\n' + script]
        environment = os.environ | {"BPFTRACE_MAP_KEYS_MAX": "65536"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        with ended(process):
            until_line(process, lambda line: line.startswith("ready"))
            yield

    @contextmanager
    def agent(self, *arguments: str) -> Iterator["Agent"]:
        """Run an agent without a file of its own, or with one."""
        path = self.folder / "agent.sock"
        command = [str(self.binary), "agent", "--source", "bpf", "--socket", str(path), *arguments]
        with ended(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
            until_line(process, lambda line: line.startswith("listening"))
            yield Agent(process.pid, path)


class Agent:
    """A running agent: its processor time, and its answers."""

    def __init__(self, pid: int, path: Path) -> None:
        """Connect."""
        self.pid = pid
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        self.lines = connection.makefile("rw")

    def ask(self, **request: object) -> dict[str, Any]:
        """Send a request and return the answer, which has to be none of refusal."""
        self.lines.write(json.dumps(request) + "\n")
        self.lines.flush()
        answer: dict[str, Any] = json.loads(self.lines.readline())
        if answer["is"] == "refused":
            raise SystemExit(f"the agent refused {request}: {answer['why']}")
        return answer

    def turn(self, subsystems: list[str], *, traced: dict[str, list[str]] | None = None, interval_ms: int) -> None:
        """Turn on these subsystems, and no others; points in `traced` are traced as well."""
        of: dict[str, Any] = {}
        for one in self.ask(do="status")["subsystems"]:
            points = {point: "trace" for point in (traced or {}).get(one["name"], [])}
            of[one["name"]] = {"is_on": one["name"] in subsystems, "points": points}
        if unknown := set(subsystems) - set(of):
            raise SystemExit(f"the agent has no subsystem {unknown}; it has {sorted(of)}")
        self.ask(do="set", is_on=bool(subsystems), subsystems=of, interval_ms=interval_ms)

    def watching(
        self, subsystems: list[str], *, traced: dict[str, list[str]] | None = None, interval_ms: int
    ) -> Watching:
        """Return what turns these subsystems on meanwhile."""

        @contextmanager
        def meanwhile() -> Iterator[None]:
            self.turn(subsystems, traced=traced, interval_ms=interval_ms)
            yield
            self.turn([], interval_ms=interval_ms)

        return meanwhile

    def costs(self, goes_on: Callable[[int], bool]) -> list[float]:
        """Return what the probes cost by its own estimate, in cores: of each pull, the first two left out."""
        found: list[float] = []
        while goes_on(len(found)):
            time.sleep(PULL_INTERVAL_MS / 1000)
            found.append(self.ask(do="status")["cost_cores"])
        return found[2:]

    def cpu_seconds(self) -> float:
        """Return the processor time of all its threads so far."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) * 1e-9


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """End a process at the end, and wait for it."""
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def until_line(process: subprocess.Popen[str], is_it: Callable[[str], bool]) -> None:
    """Read lines up to the one that is waited for."""
    said = []
    assert process.stdout is not None
    for line in process.stdout:
        if is_it(line):
            return
        said.append(line)
    raise SystemExit(f"`{process.args!r}` ended early: {''.join(said)}")


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median and a 95 % bootstrap interval of it."""
    chance = random.Random(20)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(N_RESAMPLES))
    return statistics.median(values), medians[int(0.025 * N_RESAMPLES)], medians[int(0.975 * N_RESAMPLES)]


def children_cpu_seconds() -> float:
    """Return the processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def with_interval(values: list[float], *, digits: int = 0) -> str:
    """Write the median with its interval."""
    middle, low, high = (f"{value:.{digits}f}" for value in interval(values))
    return f"{middle} ({low} to {high})"


def per_event(bench: Bench) -> None:
    """Print what is added to an event, ours beside bpftrace's."""
    points = bench.folder / "points.toml"
    points.write_text(USER_POINT)
    # What is done, what makes the events, the goal, and each contender.
    ours, bpftrace = "ours", "bpftrace"
    counted: dict[str, Watching] = {
        ours: lambda: bench.watch("--points", str(points)),
        bpftrace: lambda: bench.bpftrace(COUNT),
    }
    timed: dict[str, Watching] = {ours: lambda: bench.watch("fs"), bpftrace: lambda: bench.bpftrace(PAIR)}
    cases: list[tuple[str, str, str, dict[str, Watching]]] = [
        ("a call counted, `raw_syscalls:sys_enter`", "call", "100", counted),
        ("a read timed from entry to exit", "read", "500", timed),
        ("a page fault timed", "fault", "500", {ours: lambda: bench.watch("vm")}),
    ]
    rows = []
    for what, work, goal, contenders in cases:
        measured = {name: bench.pairs(work, watching) for name, watching in contenders.items()}
        added = {name: [on - off for off, on in pairs] for name, pairs in measured.items()}
        bare = statistics.median(off for pairs in measured.values() for off, _ in pairs)
        peer = added.get(bpftrace)
        ratio = f"{statistics.median(added[ours]) / statistics.median(peer):.2f}" if peer else ""
        rows.append([what, goal, f"{bare:.0f}", with_interval(added[ours]), with_interval(peer) if peer else "", ratio])
    head = ["event", "goal, ns", "alone, ns", "ours adds, ns", "bpftrace adds, ns", "ours / bpftrace"]
    print_table("What watching adds to an event", head, rows)


def per_pull(bench: Bench) -> None:
    """Print the agent's processor time for a pull."""
    rows = []
    with bench.agent() as agent:
        # With nothing attached it wakes to look for an order to end, and so does it between pulls.
        cases = [
            ("dormant", []),
            ("vm", ["vm"]),
            ("filesystem", ["filesystem"]),
            ("all", [one["name"] for one in statuses(agent)]),
        ]
        for name, subsystems in cases:
            agent.turn(subsystems, interval_ms=PULL_INTERVAL_MS)
            began, before = time.monotonic(), agent.cpu_seconds()
            time.sleep(N_PULLS * PULL_INTERVAL_MS / 1000)
            spent, elapsed = agent.cpu_seconds() - before, time.monotonic() - began
            pulls = elapsed * 1000 / PULL_INTERVAL_MS
            rows.append([name, f"{1000 * spent / pulls:.3f}", f"{spent / pulls / 10 * 100:.4f}"])
    head = ["subsystems", "agent's CPU for a pull, ms (goal 1)", "% of a core at pulls of 10 s"]
    print_table("What a pull costs", head, rows)


def programs(pid: int) -> dict[str, tuple[int, int, int]]:
    """Return type, run time in nanoseconds and number of runs of each program that a process holds, by the kernel's account."""
    found = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        lines = (line.partition(":") for line in path.read_text().splitlines())
        told = {name: value.strip() for name, _, value in lines}
        if "run_cnt" in told:
            found[told["prog_id"]] = (int(told["prog_type"]), int(told["run_time_ns"]), int(told["run_cnt"]))
    return found


def run_times(bench: Bench) -> None:
    """Print for how long the programs of a timed fault run: what others do on this host is not in it."""
    begins: list[float] = []
    ends: list[float] = []
    with accounting(), bench.agent() as agent:
        agent.turn(["vm"], interval_ms=SELDOM_MS)
        for _ in range(2 * bench.n_pairs):
            before = programs(agent.pid)
            bench.event_ns("fault")
            for number, (kind, run_ns, runs) in programs(agent.pid).items():
                n = runs - before[number][2]
                # Others are at events that this work does not make.
                if n >= N_EVENTS:
                    (ends if kind == PERF_EVENT else begins).append((run_ns - before[number][1]) / n)
    rows = [["its begin, a tracepoint", with_interval(begins)], ["its end, a software event", with_interval(ends)]]
    print_table("What the programs of a timed fault run for", ["program at", "a run, ns"], rows)


@contextmanager
def accounting() -> Iterator[None]:
    """Have the kernel account for what programs take meanwhile."""
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        yield
    finally:
        STATISTICS.write_text(before)


def accounted(agent: "Agent", meanwhile: Callable[[], object]) -> tuple[float, float, float]:
    """Return runs a second of the agent's programs, and of a core in percent what they and the agent took meanwhile."""
    with accounting():
        began, cpu, before = time.monotonic(), agent.cpu_seconds(), programs(agent.pid)
        meanwhile()
        elapsed, after = time.monotonic() - began, programs(agent.pid)
        spent = agent.cpu_seconds() - cpu
    runs = sum(after[one][2] - before[one][2] for one in after)
    run_ns = sum(after[one][1] - before[one][1] for one in after)
    return runs / elapsed, 100e-9 * run_ns / elapsed, 100 * spent / elapsed


def account(bench: Bench) -> None:
    """Print what pulls of 10 s and their probes take by account, beside what ordinary work loses by paired runs."""
    rows = []
    with bench.agent() as agent:
        every = [one["name"] for one in statuses(agent)]
        for name, subsystems in [("vm", ["vm"]), ("filesystem", ["filesystem"]), ("all", every)]:
            watching = agent.watching(subsystems, interval_ms=SELDOM_MS)
            with watching():
                # What others on this host do is in the account, and not in what the work loses.
                quiet_runs, quiet, _ = accounted(agent, lambda: time.sleep(QUIET_SECONDS))
                runs, bpf, own = accounted(agent, bench.ordinary_cpu_seconds)
            lost = [100 * (1 - off / on) for off, on in bench.pairs_of(bench.ordinary_cpu_seconds, watching)]
            _, low, high = interval(lost)
            of_work = bpf - quiet
            within = "yes" if low <= of_work <= high else "no"
            figures = [f"{runs:.0f}", f"{quiet_runs:.0f}", f"{bpf:.4f}", f"{own:.4f}", f"{bpf + own:.4f}"]
            rows.append([name, *figures, f"{of_work:.4f}", with_interval(lost, digits=2), within])
    head = [
        "subsystems",
        "runs of programs a second",
        "without the work",
        "they take, % of a core",
        "the agent, %",
        "together, % (goal 0.1)",
        "by the work alone, %",
        "the work loses by paired runs, %",
        "contains it",
    ]
    print_table("Pulls of 10 s beside ordinary work, by account and by paired runs", head, rows)


def statuses(agent: Agent) -> list[dict[str, Any]]:
    """Return how its subsystems are."""
    found: list[dict[str, Any]] = agent.ask(do="status")["subsystems"]
    return found


def overhead(bench: Bench) -> None:
    """Print what a process loses, by interval, subsystems and tracing."""
    rows = []
    with bench.agent() as agent:
        every = [one["name"] for one in statuses(agent)]
        files, memory = ["filesystem"], ["vm"]
        cases: list[tuple[str, str, list[str], dict[str, list[str]], int]] = [
            ("read", "none, the agent dormant", [], {}, 1000),
            ("read", "filesystem", files, {}, 10_000),
            ("read", "filesystem", files, {}, 1000),
            ("read", "filesystem", files, {}, 100),
            ("read", "filesystem, `Read` traced", files, {"filesystem": ["Read"]}, 1000),
            ("read", "all", every, {}, 1000),
            ("fault", "vm", memory, {}, 1000),
            ("fault", "vm", memory, {}, 100),
            ("fault", "all", every, {}, 1000),
        ]
        for work, name, subsystems, traced, interval_ms in cases:
            watching = agent.watching(subsystems, traced=traced, interval_ms=interval_ms)
            slower = [100 * (1 - off / on) for off, on in bench.pairs(work, watching)]
            rows.append([work, name, f"{interval_ms / 1000:g}", with_interval(slower, digits=1)])
    head = ["work", "subsystems", "pulls every, s", "lost, % of its core"]
    print_table("What a process loses that does nothing but make events, by paired runs", head, rows)


def estimates(bench: Bench) -> None:
    """Print the agent's own estimate of what this work costs beside paired runs."""
    rows = []
    for work, name in [("read", "filesystem"), ("fault", "vm")]:
        errors, shares = [], []
        for _ in range(bench.n_pairs):
            # Of all rounds, as prices follow what goes on: the fastest would be the host at its quietest.
            off = bench.cpu_seconds(work, N_OBSERVED_ROUNDS[work])
            # Each agent takes prices of its own.
            with bench.agent() as agent, agent.watching([name], interval_ms=PULL_INTERVAL_MS)():
                # What others on this host do is in the estimate as well.
                others = agent.costs(lambda polled: polled < N_POLLS)
                on, busy, costs = bench.observed(work, agent)
            share = (1 - off / on) * busy
            shares.append(100 * share)
            own = statistics.median(costs) - statistics.median(others)
            errors.append(100 * (own / share - 1))
        rows.append([work, name, with_interval(shares, digits=1), with_interval(errors)])
    head = ["work", "subsystem", "of a core, paired, %", "own estimate off by, % (goal 20)"]
    print_table("The agent's own estimate beside paired runs", head, rows)


PARTS: dict[str, Callable[[Bench], None]] = {
    "events": per_event,
    "run-times": run_times,
    "pulls": per_pull,
    "overhead": overhead,
    "account": account,
    "estimates": estimates,
}


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, default=PROGRAMS / "foretop-kernel", help="the program to measure")
    arguments.add_argument("--pairs", type=int, default=9, help="pairs of runs for each figure")
    arguments.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}; saves nothing"
    )
    given = arguments.parse_args()
    if os.geteuid() != 0 or not Path("/sys/kernel/btf/vmlinux").exists():
        print("SKIPPED what watching the kernel costs: it needs root and /sys/kernel/btf/vmlinux")
        return
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.binary, Path(folder), given.pairs)
        for part in given.only or PARTS:
            PARTS[part](bench)
    print_machine(machine() | {"load": f"{os.getloadavg()[0]:.1f}"})
    if given.only:
        return
    bpftrace = subprocess.run(["bpftrace", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    save("kernel_cost", {"versions": {"bpftrace": bpftrace.split()[-1]}})


if __name__ == "__main__":
    main()
