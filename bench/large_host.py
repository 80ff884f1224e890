"""What `foretop up` costs a host with many cores: memory, CPU, and what the store takes a day.

The host is made up: this one's files, but for a `/proc/stat` of as many cores as asked for, which is written anew each
second.
"""

import argparse
import random
import sqlite3
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from node_cost import cpu_seconds, fields
from report import machine, print_machine, print_table, save
from running_node import RunningNode

TICKS_PER_SECOND = 100
SETTLING_SECONDS = 30.0
# What is packed into one block.
STRETCH_SECONDS = 600.0
DAY_SECONDS = 86_400.0


@dataclass
class Core:
    """One core: how busy it is, what it does when it is, and the counters of its line in `/proc/stat`."""

    busy: float
    target: float
    counters: list[int]

    def live(self, chance: random.Random) -> None:
        """Let a second pass: loads come and go in steps, and drift in between."""
        if chance.random() < 0.01:
            self.target = chance.choice([0.0, 0.0, 0.02, 0.1, 0.5, 1.0])
        self.busy += 0.5 * (self.target - self.busy) + chance.gauss(0.0, 0.02)
        for _ in range(TICKS_PER_SECOND):
            # user, system, softirq; or idle, seldom waiting for a disk.
            if chance.random() < self.busy:
                field = chance.choices([0, 2, 6], [80, 18, 2])[0]
            else:
                field = 4 if chance.random() < 0.002 else 3
            self.counters[field] += 1


class LargeHost:
    """A folder that looks like the root of a host; use it as a context manager."""

    def __init__(self, cores: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foretop-host-")
        self.root = Path(self._folder.name)
        self._chance = random.Random(15)
        self._cores = [Core(0.0, self._chance.random() ** 3, [1000] * 4 + [0] * 6) for _ in range(cores)]
        (self.root / "sys").symlink_to("/sys")
        (self.root / "proc").mkdir()
        for name in ["diskstats", "loadavg", "meminfo", "net", "pressure", "self", "sys", "uptime", "vmstat"]:
            (self.root / "proc" / name).symlink_to(f"/proc/{name}")
        self._is_over = threading.Event()
        self._life = threading.Thread(target=self._live)

    def __enter__(self) -> Self:
        self._write()
        self._life.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._is_over.set()
        self._life.join()
        self._folder.cleanup()

    def _live(self) -> None:
        while not self._is_over.wait(1.0 - time.time() % 1.0):
            for core in self._cores:
                core.live(self._chance)
            self._write()

    def _write(self) -> None:
        total = [sum(column) for column in zip(*(core.counters for core in self._cores), strict=True)]
        named = [("cpu ", total), *((f"cpu{idx}", core.counters) for idx, core in enumerate(self._cores))]
        lines = [f"{name} {' '.join(map(str, counters))}" for name, counters in named]
        running = sum(core.busy > 0.5 for core in self._cores)
        lines += ["ctxt 1000", "btime 1700000000", "processes 1000", f"procs_running {running}", "procs_blocked 0"]
        fresh = self.root / "proc" / "stat.fresh"
        fresh.write_text("\n".join(lines) + "\n")
        fresh.rename(self.root / "proc" / "stat")


@dataclass
class Cost:
    """What a node used up that nobody asked."""

    watched_seconds: float
    signals: int
    cpu_share_of_core_ratio: float
    resident_memory_bytes: int
    # Without the pages of the program itself, of which a build for debugging has many.
    anonymous_memory_bytes: int
    peak_memory_bytes: int
    store_bytes_per_day: dict[str, float]


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--cores", type=int, default=64, help="how many cores the host has")
    arguments.add_argument(
        "--seconds", type=float, default=1500.0, help="how long the node runs; at least 1320 for a whole block"
    )
    given = arguments.parse_args()
    with LargeHost(given.cores) as host:
        cost = measure(given.binary, host.root, given.seconds)
    print_table(f"`foretop up` at 1 Hz on {given.cores} cores", ["what", "figure", "to reach"], rows(cost))
    print_machine(machine())
    save("large_host", asdict(cost))


def measure(binary: Path, root: Path, seconds: float) -> Cost:
    """Leave a node alone for so long, and see what it took."""
    with RunningNode(binary, root=root) as node:
        time.sleep(SETTLING_SECONDS)
        begin, cpu_before = time.monotonic(), cpu_seconds(node.proc)
        time.sleep(max(0.0, node.started + seconds - begin))
        watched, cpu = time.monotonic() - begin, cpu_seconds(node.proc) - cpu_before
        status = fields(node.proc / "status")
        store = store_growth(node.data_dir / "foretop.db")
        return Cost(
            watched_seconds=watched,
            signals=len(node.get("/api/v1/series")["series"]),
            cpu_share_of_core_ratio=cpu / watched,
            resident_memory_bytes=int(status["VmRSS"].split()[0]) * 1024,
            anonymous_memory_bytes=int(status["RssAnon"].split()[0]) * 1024,
            peak_memory_bytes=int(status["VmHWM"].split()[0]) * 1024,
            store_bytes_per_day=store,
        )


def store_growth(database: Path) -> dict[str, float]:
    """Return what each lasting table grows by in a day: by the last stretch of blocks, and by the number of minutes."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:

        def one(sql: str) -> float:
            return connection.execute(sql).fetchone()[0] or 0

        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        if "sample_block" not in names:
            # An earlier version: all rows stay as they are.
            span = one("SELECT (max(t_ns) - min(t_ns)) / 1e9 FROM sample")
            tables = ["sample", "forecast", "minute"]
            return {table: size(connection, table) / span * DAY_SECONDS for table in tables}
        growth = {}
        for table in ["sample_block", "forecast_block"]:
            share = one(f"SELECT sum(length(data)) FROM {table} WHERE t_ns = (SELECT max(t_ns) FROM {table})")
            share /= max(one(f"SELECT sum(length(data)) FROM {table}"), 1)
            whole = size(connection, table) + size(connection, f"{table}_place")
            growth[table] = whole * share / STRETCH_SECONDS * DAY_SECONDS
        minutes = one("SELECT (max(t_ns) - min(t_ns)) / 60e9 + 1 FROM minute")
        growth["minute"] = size(connection, "minute") / max(minutes, 1) * 1440
        return growth


def size(connection: sqlite3.Connection, table: str) -> float:
    """Return the bytes of its pages; by its share of rows where SQLite cannot tell."""
    try:
        return connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name = ?", [table]).fetchone()[0] or 0
    except sqlite3.OperationalError:
        columns = {"sample": "23", "forecast": "36", "minute": "46"}.get(table, "length(data) + 20")
        if table.endswith("_place"):
            return 0
        return connection.execute(f"SELECT sum({columns}) FROM {table}").fetchone()[0] or 0


def rows(cost: Cost) -> list[list[str]]:
    """Write the figures as lines of a table."""
    mega = 1e6
    tables = [[f"  {table}", f"{size / mega:.0f} MB/day", ""] for table, size in cost.store_bytes_per_day.items()]
    return [
        ["signals", str(cost.signals), ""],
        ["CPU", f"{cost.cpu_share_of_core_ratio:.2%} of a core", "< 1 %"],
        ["resident memory at the end", f"{cost.resident_memory_bytes / mega:.0f} MB", "< 120 MB"],
        ["of this, not the program itself", f"{cost.anonymous_memory_bytes / mega:.0f} MB", ""],
        ["peak resident memory", f"{cost.peak_memory_bytes / mega:.0f} MB", ""],
        ["store", f"{sum(cost.store_bytes_per_day.values()) / mega:.0f} MB/day", "< 500 MB/day"],
        *tables,
    ]


if __name__ == "__main__":
    main()
