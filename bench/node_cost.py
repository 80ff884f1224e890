"""What `foretop up` costs a host: all sensors at 1 Hz, nobody asking. And how soon after its start it has something to say.

Two nodes, one after the other: the first is asked all the time, to see when it answers; the second is left alone.
"""

import argparse
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from report import machine, print_machine, print_table, save
from running_node import RunningNode

# Varies on an idle host too, so that there is something to fit; availability can stay at 100 % for minutes.
SIGNAL = "memory.available"
SETTLING_SECONDS = 30.0
# The default model wants some hundred samples at 1 Hz.
FIT_LIMIT_SECONDS = 900.0


@dataclass
class Start:
    """Times since the process was started."""

    first_answer_seconds: float
    first_forecast_seconds: float
    first_forecast_model: str
    samples_needed: int
    samples_sufficed_seconds: float
    configured_model_seconds: float
    configured_model: str

    @property
    def delay_seconds(self) -> float:
        """From samples sufficing to the first forecast of the configured model."""
        return self.configured_model_seconds - self.samples_sufficed_seconds


@dataclass
class Cost:
    """What a node that nobody asks used up between its first half minute and the end."""

    watched_seconds: float
    cpu_share_of_core_ratio: float
    resident_memory_bytes: int
    peak_memory_bytes: int
    threads: int
    signals: int
    written_bytes_per_hour: float
    store_bytes_per_hour: float
    missed_deadlines: int


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--seconds", type=float, default=600.0, help="how long the second node runs")
    given = arguments.parse_args()
    start = measure_start(given.binary)
    cost = measure_cost(given.binary, given.seconds)
    print_table("`foretop up`, all sensors at 1 Hz", ["what", "figure", "to reach"], rows(start, cost))
    print_machine(machine())
    save("node_cost", {"start": {**asdict(start), "delay_seconds": start.delay_seconds}, "cost": asdict(cost)})


def measure_start(binary: Path) -> Start:
    """Ask a node from its start on until the configured model speaks."""
    detail = f"/api/v1/series/{SIGNAL}"
    with RunningNode(binary) as node:

        def since_start() -> float:
            return time.monotonic() - node.started

        node.wait_for("an answer", lambda: node.get("/healthz"))
        first_answer = since_start()
        forecast = node.wait_for("a forecast", lambda: node.get(f"{detail}/forecast"))
        first_forecast = since_start()
        needed, sufficed = 0, since_start()
        while (series := node.get(detail))["waiting"] is not None:
            waiting = series["waiting"]
            if waiting["reason"] == "too_short" and waiting["have"] < waiting["need"]:
                needed, sufficed = waiting["need"], since_start()
            if since_start() > FIT_LIMIT_SECONDS:
                raise TimeoutError(f"{SIGNAL} still waits: {waiting}")
            time.sleep(0.02)
        return Start(first_answer, first_forecast, forecast["model"], needed, sufficed, since_start(), series["model"])


def measure_cost(binary: Path, seconds: float) -> Cost:
    """Leave a node alone for so long, and read what /proc says of it."""
    with RunningNode(binary) as node:
        settling = min(SETTLING_SECONDS, seconds / 4)
        time.sleep(settling)
        begin, cpu_before, written_before = time.monotonic(), cpu_seconds(node.proc), written_bytes(node.proc)
        time.sleep(max(0.0, node.started + seconds - begin))
        watched = time.monotonic() - begin
        cpu = cpu_seconds(node.proc) - cpu_before
        written = written_bytes(node.proc) - written_before
        status = fields(node.proc / "status")
        store = store_bytes(node.data_dir / "foretop.db")
        # Asked last, so that answering is not in the figures.
        health, listing = node.get("/healthz"), node.get("/api/v1/series")
        return Cost(
            watched_seconds=watched,
            cpu_share_of_core_ratio=cpu / watched,
            resident_memory_bytes=int(status["VmRSS"].split()[0]) * 1024,
            peak_memory_bytes=int(status["VmHWM"].split()[0]) * 1024,
            threads=int(status["Threads"]),
            signals=len(listing["series"]),
            written_bytes_per_hour=written / watched * 3600,
            store_bytes_per_hour=store / (settling + watched) * 3600,
            missed_deadlines=health["missed_deadlines"],
        )


def cpu_seconds(proc: Path) -> float:
    """Return user and system time of all threads (fields 14 and 15 of proc_pid_stat(5))."""
    after_name = (proc / "stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def written_bytes(proc: Path) -> int:
    """Return what the process handed to write(2), whatever file system is below; without a reader all of it is the store."""
    return int(fields(proc / "io")["wchar"])


def store_bytes(database: Path) -> int:
    """Fold the write-ahead log, which soon stops growing, into the database, and return the size of that."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
    return database.stat().st_size


def fields(path: Path) -> dict[str, str]:
    """Read a file of `key: value` lines."""
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    return {key: value.strip() for key, _, value in pairs}


def rows(start: Start, cost: Cost) -> list[list[str]]:
    """Write the figures as lines of a table."""
    mega = 1e6
    return [
        ["CPU", f"{cost.cpu_share_of_core_ratio:.2%} of a core", "< 1 %"],
        ["resident memory at the end", f"{cost.resident_memory_bytes / mega:.1f} MB", "< 60 MB"],
        ["peak resident memory", f"{cost.peak_memory_bytes / mega:.1f} MB", ""],
        ["threads", str(cost.threads), ""],
        ["signals", str(cost.signals), ""],
        ["written", f"{cost.written_bytes_per_hour / mega:.1f} MB per hour", ""],
        ["store", f"{cost.store_bytes_per_hour / mega:.1f} MB per hour", ""],
        ["missed deadlines", str(cost.missed_deadlines), ""],
        ["watched for", f"{cost.watched_seconds:.0f} s", ""],
        ["start to first answer", f"{start.first_answer_seconds:.3f} s", ""],
        ["start to first forecast", f"{start.first_forecast_seconds:.2f} s, {start.first_forecast_model}", ""],
        ["start to first forecast of the configured model", *configured(start)],
    ]


def configured(start: Start) -> list[str]:
    """Say when the configured model spoke, and what it had waited for."""
    if start.samples_needed == 0:
        return [f"{start.configured_model_seconds:.2f} s, {start.configured_model}", "< 5 s"]
    waited = f"{start.delay_seconds:.2f} s after {start.samples_needed} samples were there"
    return [f"{waited}, {start.configured_model}", "< 5 s"]


if __name__ == "__main__":
    main()
