"""How fast composed systems are: RPS's Figure 9 over TCP, swept as its Figures 10 to 13 sweep it, beside what limits it.

Every component is a process of its own, as in the paper. Once they may run on any core, once all share one: on a host whose idle cores
sleep, waking one costs more than the rest of a hop.
"""

import argparse
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from report import PROGRAMS, machine, print_machine, print_table, save

PATIENCE_SECONDS = 60.0
# A frame with a load measurement, a sample, a forecast of 30 steps; and how many of each a cycle of Figure 9 sends.
CYCLE = {52: 2, 36: 3, 520: 3}
STEPS = {
    "1 Hz": "1s",
    "16 Hz": "62.5ms",
    "128 Hz": "7812500ns",
    "1,024 Hz": "976562ns",
    "8,192 Hz": "122us",
    "50,000 Hz": "20us",
}
PAPER_RATES = {
    "in-process": "5.3 kHz, 80 %",
    "Unix socket": "3.6 kHz, 65 %",
    "TCP": "2.7 kHz, 51 %",
    "composed": "720 Hz, 24 %",
}


@dataclass
class Latency:
    """How old forecasts were at the client, from when their measurement was taken."""

    n: int
    min_seconds: float
    median_seconds: float
    p99_seconds: float
    max_seconds: float
    per_second: float


class System:
    """Components as processes; they end with the context."""

    def __init__(self, binary: Path, prefix: list[str]) -> None:
        self._command = [*prefix, str(binary), "stream"]
        self._folder = tempfile.TemporaryDirectory(prefix="foretop-bench-")
        self.processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(PATIENCE_SECONDS)
        self._folder.cleanup()

    def start(self, *arguments: str) -> dict[str, str]:
        """Start a component, and return where it listens, by role."""
        process = subprocess.Popen(
            [*self._command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.processes.append(process)
        if arguments[0].endswith("client"):
            # It listens nowhere, and its standard output is for messages.
            return {}
        assert process.stdout is not None
        line = process.stdout.readline()
        return dict(re.findall(r"(connect|server) ([a-z]+:\S+?)(?:,|$)", line))

    def client(self, place: str, count: int) -> Latency:
        """Read so many forecasts, and say how old they were."""
        arguments = ["client", "--quiet", "--latency", "--json", "--count", str(count), f"source:{place}"]
        ran = subprocess.run([*self._command, *arguments], capture_output=True, text=True, check=True, timeout=600)
        figures = json.loads(ran.stdout.splitlines()[-1])
        figures.pop("kind")
        return Latency(**figures)

    def cpu_seconds(self) -> float:
        """Return the CPU time of all components and their children so far."""
        return sum(tree_cpu_seconds(process.pid) for process in self.processes)


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and those it started, from the scheduler's own count in nanoseconds."""
    total = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0]) * 1e-9
        children = (task / "children").read_text().split()
        total += sum(tree_cpu_seconds(int(child)) for child in children)
    return total


def figure_9(system: System, step: str) -> str:
    """Start the system of the paper's Figure 9, and return where its forecasts are offered."""
    load = system.start("load-server", "--synthetic", "--step", step, "connect:tcp:0", "server:tcp:0")
    system.start("load-client", "--quiet", f"source:{load['connect']}")
    generic = system.start("to-measure", "0", f"source:{load['connect']}", "connect:tcp:0")
    measured = system.start("measure-buffer", "1000", f"source:{generic['connect']}", "server:tcp:0", "connect:tcp:0")
    forecasts = system.start(
        *("pred-server", "--model", "AR(16)", "--window", "600", "--horizon", "30"),
        *("--history", f"source:{measured['server']}"),
        *(f"source:{measured['connect']}", "server:tcp:0", "connect:tcp:0"),
    )
    limits = ["--error-max", "1e9", "--misestimate-max", "1e9", "--refit", f"source:{forecasts['server']}"]
    system.start("eval-fit", *limits, f"source:{measured['connect']}", f"source:{forecasts['connect']}")
    buffered = system.start("pred-buffer", "100", f"source:{forecasts['connect']}", "server:tcp:0", "connect:tcp:0")
    return buffered["connect"]


def sweep(binary: Path, prefix: list[str], seconds: float) -> dict[str, dict[str, Any]]:
    """Measure at each rate how old forecasts are at the client, and what the system costs."""
    found = {}
    for rate, step in STEPS.items():
        with System(binary, prefix) as system:
            place = figure_9(system, step)
            per_second = float(rate.split()[0].replace(",", ""))
            # Past the first fit, and all that happens once.
            system.client(place, max(5, int(per_second)))
            before, begin = system.cpu_seconds(), time.monotonic()
            latency = system.client(place, max(10, int(per_second * seconds)))
            cpu = (system.cpu_seconds() - before) / (time.monotonic() - begin)
        found[rate] = {"step": step, **asdict(latency), "cpu_share_of_core_ratio": cpu}
    return found


def chain(bench: Path, prefix: list[str], every_us: int, n: int) -> dict[str, float]:
    """Pass bytes through as many processes, which do nothing with them."""
    command = [*prefix, str(bench), "chain", str(every_us), str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def monolith_per_second(binary: Path, listen: str, n: int) -> float:
    """Return how many forecasts a second one process gives to one reader, as fast as it can."""
    with System(binary, []) as system:
        place = system.start("monolith", "--synthetic", "--step", "0s", listen)["connect"]
        return max(system.client(place, n).per_second for _ in range(3))


def composed_per_second(binary: Path, n: int) -> float:
    """Return how many measurements a second come out of Figure 9 as forecasts, as fast as it can."""
    with System(binary, []) as system:
        place = figure_9(system, "0s")
        return max(system.client(place, n).per_second for _ in range(3))


def fan_out(binary: Path, n_readers: int, seconds: float) -> dict[str, float]:
    """Let so many readers read one stream at 10 Hz, and count what they get."""
    with System(binary, []) as system:
        place = system.start("monolith", "--synthetic", "--step", "100ms", "connect:tcp:0")["connect"]
        host, port = place.removeprefix("tcp:").rsplit(":", 1)
        chosen = selectors.DefaultSelector()
        readers = []
        for _ in range(n_readers):
            reader = socket.create_connection((host, int(port)))
            reader.setblocking(False)
            chosen.register(reader, selectors.EVENT_READ)
            readers.append(reader)
        read_for(chosen, 2.0)
        before, begin = system.cpu_seconds(), time.monotonic()
        n_bytes = read_for(chosen, seconds)
        elapsed = time.monotonic() - begin
        cpu = (system.cpu_seconds() - before) / elapsed
        for reader in readers:
            reader.close()
    due = n_readers * elapsed * 10
    return {"readers": n_readers, "got_ratio": n_bytes / 520 / due, "cpu_share_of_core_ratio": cpu}


def read_for(chosen: selectors.BaseSelector, seconds: float) -> int:
    """Read whatever comes for so long, and return how many bytes that were."""
    n_bytes, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for key, _ in chosen.select(left):
            n_bytes += len(key.fileobj.recv(1 << 16))  # type: ignore[union-attr]
    return n_bytes


def optimum_seconds(parts: dict[str, Any], transfers: dict[int, int], transport: str) -> float:
    """Add up what a cycle cannot do without (section 8.2): its forecast, and each of its messages."""
    spans = parts[f"{transport}_transfer_seconds"] if transport else {}
    return parts["forecast_seconds"] + sum(n * spans[str(size)] for size, n in transfers.items())


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--seconds", type=float, default=10.0, help="how long each rate is measured")
    given = arguments.parse_args()
    bench = PROGRAMS / "bench-streams"
    parts = json.loads(subprocess.run([str(bench), "parts"], capture_output=True, text=True, check=True).stdout)
    figures: dict[str, Any] = {"parts": parts}
    one_core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    for where, prefix in {"on any core": [], "on one core": one_core}.items():
        figures[where] = {
            "sweep": sweep(given.binary, prefix, given.seconds),
            "bare_chain": chain(bench, prefix, 977, int(1000 * given.seconds)),
        }
        print_sweep(where, figures[where])
    figures["rates"] = rates(given.binary, parts)
    print_rates(figures["rates"])
    figures["fan_out"] = fan_out(given.binary, 1000, given.seconds)
    fan = figures["fan_out"]
    print(
        f"\nOne stream at 10 Hz to {fan['readers']} TCP readers: {fan['got_ratio']:.1%} of the forecasts read, "
        f"{fan['cpu_share_of_core_ratio']:.1%} of a core at the writer."
    )
    print_machine(machine())
    save("streams", figures)


def rates(binary: Path, parts: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Measure the highest rates, each beside its optimum."""
    one_forecast = {520: 1}
    found = {
        "in-process": (1 / parts["in_process_seconds"], 1 / optimum_seconds(parts, {}, "")),
        "Unix socket": (
            monolith_per_second(binary, "connect:unix:" + tempfile.mktemp(prefix="foretop-bench-"), 2_000_000),
            1 / optimum_seconds(parts, one_forecast, "unix"),
        ),
        "TCP": (
            monolith_per_second(binary, "connect:tcp:0", 2_000_000),
            1 / optimum_seconds(parts, one_forecast, "tcp"),
        ),
        "composed": (composed_per_second(binary, 500_000), 1 / optimum_seconds(parts, CYCLE, "tcp")),
    }
    return {name: {"per_second": rate, "optimum_per_second": best} for name, (rate, best) in found.items()}


def print_sweep(where: str, found: dict[str, Any]) -> None:
    """Print Figures 10 to 12 as one table."""
    micro = 1e6
    bytes_per_cycle = sum(size * n for size, n in CYCLE.items())
    rows = [
        [
            rate,
            f"{row['min_seconds'] * micro:.0f} us",
            f"{row['median_seconds'] * micro:.0f} us",
            f"{row['p99_seconds'] * micro:.0f} us",
            f"{row['per_second']:,.0f}",
            f"{row['cpu_share_of_core_ratio']:.2%}",
            f"{row['per_second'] * bytes_per_cycle:,.0f}",
        ]
        for rate, row in found["sweep"].items()
    ]
    bare = found["bare_chain"]
    ages = [f"{bare[key] * micro:.0f} us" for key in ("min_seconds", "median_seconds", "p99_seconds")]
    rows.append(["1,024 Hz, bare processes", *ages, "", "", ""])
    head = ["rate", "least", "median", "99th percentile", "forecasts/s", "CPU of a core", "bytes/s"]
    print_table(f"Figure 9 of RPS over TCP, {where}: measurement to forecast at the client (paper: 2 ms)", head, rows)


def print_rates(found: dict[str, dict[str, float]]) -> None:
    """Print Figure 13."""
    rows = [
        [
            name,
            f"{row['per_second']:,.0f}",
            f"{row['optimum_per_second']:,.0f}",
            f"{row['per_second'] / row['optimum_per_second']:.0%}",
            PAPER_RATES[name],
        ]
        for name, row in found.items()
    ]
    print_table("Figure 13 of RPS: highest rates", ["system", "per second", "optimum", "of optimum", "paper"], rows)


if __name__ == "__main__":
    main()
