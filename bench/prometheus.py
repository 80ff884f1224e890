"""What `foretop up` costs that follows thousands of series of a Prometheus server at one minute, and whether all have forecasts.

The server is the distribution's own. It scrapes an exporter in this process, and has its past from `promtool`: each series has a
day's shape of its own, noise that lasts, and now and then a shift.
"""

import argparse
import json
import math
import random
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from node_cost import cpu_seconds, fields, store_bytes
from report import ROOT, machine, print_machine, print_table, save
from running_node import RunningNode

STEP_SECONDS = 60
DAY_SECONDS = 86_400
# Series whose forecasts to 24 hours are asked for.
N_ASKED = 20
START_LIMIT_SECONDS = 1800.0


@dataclass
class Cost:
    """What following took, and what was there for it."""

    series: int
    history_seconds: int
    watched_seconds: float
    history_taken_seconds: float
    history_cpu_seconds: float
    cpu_share_of_core_ratio: float
    resident_memory_bytes: int
    peak_memory_bytes: int
    store_bytes: int
    missed_deadlines: int
    signals_with_forecast: int
    looks_ahead: int
    look_ahead_seconds: float
    listing_bytes: int
    listing_seconds: float


class Series:
    """One made series; what it is at any minute depends on its number and the minute alone, but for noise that goes on."""

    def __init__(self, number: int) -> None:
        self._chance = random.Random(number)
        self._scale = 10 ** self._chance.uniform(0, 4)
        self._day = self._chance.choice([0.0, 0.2, 0.5])
        self._phase = self._chance.random()
        self._noise, self._shift = 0.0, 0.0

    def next(self, moment: float) -> float:
        """Return its value at a moment, a step after the one before."""
        self._noise = 0.9 * self._noise + self._chance.gauss(0.0, 0.03)
        if self._chance.random() < 1e-4:
            self._shift = self._chance.uniform(-0.3, 0.3)
        shape = self._day * math.sin(2 * math.pi * (moment / DAY_SECONDS + self._phase))
        return self._scale * max(0.0, 1.0 + shape + self._noise + self._shift)


class Exporter:
    """The series over HTTP as they go on; use it as a context manager."""

    def __init__(self, n_series: int) -> None:
        self.series = [Series(number) for number in range(n_series)]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802 (http.server calls it so)
                body = "".join(outer.lines(time.time())).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def lines(self, moment: float) -> Iterator[str]:
        """Yield the next value of each series."""
        yield "# TYPE requests gauge\n"
        for number, series in enumerate(self.series):
            yield f'requests{{pod="pod-{number:05}"}} {series.next(moment):.6g}\n'


class Prometheus:
    """A server that scrapes an exporter and knows its past; use it as a context manager."""

    def __init__(self, exporter: Exporter, history_seconds: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foretop-prometheus-")
        folder = Path(self._folder.name)
        program = subprocess.run(
            [ROOT / "scripts/unpack-package.sh", "prometheus"], check=True, capture_output=True, text=True
        ).stdout.strip()
        past, data = folder / "past.txt", folder / "data"
        with past.open("w") as file:
            write_past(file, exporter.series, history_seconds)
        tool = Path(program).with_name("promtool")
        create = [tool, "tsdb", "create-blocks-from", "openmetrics", "--quiet", past, data]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        past.unlink()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        target = (
            f"{{job_name: bench, scrape_interval: 60s, static_configs: [{{targets: ['127.0.0.1:{exporter.port}']}}]}}"
        )
        (folder / "prometheus.yml").write_text(f"scrape_configs: [{target}]\n")
        options = {
            "config.file": folder / "prometheus.yml",
            "storage.tsdb.path": data,
            "storage.tsdb.retention.time": "90d",
            "web.listen-address": f"127.0.0.1:{port}",
        }
        command = [program, *(f"--{name}={value}" for name, value in options.items())]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        query = urllib.parse.urlencode({"query": 'count(requests{job="bench"})'})
        asked = f"{self.url}/api/v1/query?{query}"

        def scraped() -> bool:
            try:
                with urllib.request.urlopen(asked, timeout=10) as answer:
                    return b'"value"' in answer.read()
            except OSError:
                return False

        deadline = time.monotonic() + 180
        while not scraped():
            if time.monotonic() > deadline:
                self.__exit__()
                raise TimeoutError(f"{self.url} has no samples of the exporter after three minutes")
            time.sleep(0.5)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        self._folder.cleanup()


def write_past(file: TextIO, series: list[Series], history_seconds: int) -> None:
    """Write what the series were until now as OpenMetrics, under the labels that scraping gives."""
    end = int(time.time()) // STEP_SECONDS * STEP_SECONDS
    file.write("# TYPE requests gauge\n")
    for number, one in enumerate(series):
        labels = f'requests{{instance="past",job="bench",pod="pod-{number:05}"}}'
        moments = range(end - history_seconds, end + STEP_SECONDS, STEP_SECONDS)
        file.write("".join(f"{labels} {one.next(moment):.6g} {moment}\n" for moment in moments))
    file.write("# EOF\n")


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--series", type=int, default=10_000, help="how many series the server has")
    arguments.add_argument("--history", type=float, default=24.0, help="hours of them that it knows")
    arguments.add_argument("--minutes", type=float, default=10.0, help="how long the node is watched")
    given = arguments.parse_args()
    history_seconds = int(given.history * 3600)
    with Exporter(given.series) as exporter, Prometheus(exporter, history_seconds) as prometheus:
        cost = measure(given.binary, prometheus.url, given.series, history_seconds, given.minutes * 60)
    title = f"`foretop up`, {given.series:,} series of a Prometheus server at 1 minute"
    print_table(title, ["what", "figure", "to reach"], rows(cost))
    print_machine(machine())
    save("prometheus", {"cost": asdict(cost)})


def measure(binary: Path, server: str, n_series: int, history_seconds: int, seconds: float) -> Cost:
    """Follow the series for so long after their history was taken, nobody asking; then ask."""
    configuration = f"""
[[query]]
server = "{server}"
name = "requests"
expr = "max by (pod) (requests)"
every = "{STEP_SECONDS}s"
history = "{history_seconds}s"
max_signals = {n_series}
"""
    with RunningNode(binary, every=f"{STEP_SECONDS}s", configuration=configuration) as node:

        def has_history() -> bool | None:
            listing = node.get("/api/v1/series")
            ids = [one["id"] for one in listing["series"] if is_followed(one)] if listing else []
            # Only a past is long enough for the model, and the last series has it last.
            is_taken = len(ids) == n_series and node.get(path_of(max(ids)))["waiting"] is None
            return True if is_taken else None

        # Asking costs little of what is measured.
        node.wait_for("its history", has_history, limit_seconds=START_LIMIT_SECONDS, every_seconds=2.0)
        taken, taken_cpu = time.monotonic() - node.started, cpu_seconds(node.proc)
        begin = time.monotonic()
        time.sleep(seconds)
        cpu, watched = cpu_seconds(node.proc) - taken_cpu, time.monotonic() - begin
        status = fields(node.proc / "status")
        began = time.monotonic()
        body = node.fetch("/api/v1/series") or b""
        listing_seconds = time.monotonic() - began
        followed = [one for one in json.loads(body)["series"] if is_followed(one)]
        asked = random.Random(24).sample(followed, min(N_ASKED, len(followed)))
        began = time.monotonic()
        ahead = [look_ahead(node, one["id"]) for one in asked]
        ahead_seconds = (time.monotonic() - began) / len(asked)
        return Cost(
            series=len(followed),
            history_seconds=history_seconds,
            watched_seconds=watched,
            history_taken_seconds=taken,
            history_cpu_seconds=taken_cpu,
            cpu_share_of_core_ratio=cpu / watched,
            resident_memory_bytes=int(status["VmRSS"].split()[0]) * 1024,
            peak_memory_bytes=int(status["VmHWM"].split()[0]) * 1024,
            store_bytes=store_bytes(node.data_dir / "foretop.db"),
            missed_deadlines=node.get("/healthz")["missed_deadlines"],
            signals_with_forecast=sum(has_forecast(node, one["id"]) for one in followed),
            looks_ahead=sum(ahead),
            look_ahead_seconds=ahead_seconds,
            listing_bytes=len(body),
            listing_seconds=listing_seconds,
        )


def is_followed(one: dict[str, Any]) -> bool:
    """Whether a series of the listing is one of the server's."""
    return one["id"].startswith("requests{")


def look_ahead(node: RunningNode, name: str) -> bool:
    """Whether a series has an outlook of a whole day."""
    outlook = node.get(f"{path_of(name)}/outlook?horizon=24h")
    return outlook is not None and len(outlook["median"]) * outlook["step_seconds"] >= DAY_SECONDS


def has_forecast(node: RunningNode, name: str) -> bool:
    """Whether a model of a series says what comes next."""
    return node.get(f"{path_of(name)}/forecast?horizon=5min") is not None


def path_of(name: str) -> str:
    """Return where a series is asked about."""
    return f"/api/v1/series/{urllib.parse.quote(name, safe='')}"


def rows(cost: Cost) -> list[list[str]]:
    """Write the figures as lines of a table."""
    mega = 1e6
    return [
        ["CPU while following", f"{cost.cpu_share_of_core_ratio:.1%} of a core", "< 25 %"],
        ["resident memory at the end", f"{cost.resident_memory_bytes / mega:.0f} MB", "< 1000 MB"],
        ["peak resident memory", f"{cost.peak_memory_bytes / mega:.0f} MB", "< 1000 MB"],
        ["watched for", f"{cost.watched_seconds:.0f} s", ""],
        [
            f"history of {cost.history_seconds / 3600:.0f} h taken and learned",
            f"{cost.history_taken_seconds:.0f} s, {cost.history_cpu_seconds:.0f} s of CPU",
            "",
        ],
        ["series with a forecast", f"{cost.signals_with_forecast} of {cost.series}", "all"],
        [
            "outlooks of 24 h",
            f"{cost.looks_ahead} of {N_ASKED} asked, {cost.look_ahead_seconds * 1e3:.0f} ms each",
            "all",
        ],
        ["listing of all", f"{cost.listing_bytes / mega:.1f} MB in {cost.listing_seconds:.2f} s", ""],
        ["store", f"{cost.store_bytes / mega:.0f} MB", ""],
        ["missed deadlines", str(cost.missed_deadlines), ""],
    ]


if __name__ == "__main__":
    main()
