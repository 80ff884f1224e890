"""How many streams a pool of prediction servers forecasts over NATS: 100,000, or as many of them as it keeps up with, and what they cost.

Hosts publish measurements of 100 signals every second, and one server of a pool forecasts all of them with AR(16), 30 steps ahead. It keeps up when
no measurement waits for longer than a step once the hosts have ended, and these sent all of theirs in time.
"""

import argparse
import json
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from report import machine, print_machine, print_table, save
from streams import tree_cpu_seconds

Found = TypeVar("Found")

PATIENCE_SECONDS = 300.0
N_SIGNALS = 100
N_HOSTS_MAX = 1_000
STEP_SECONDS = 1.0
# A load that takes longer than its steps by more has not come in time.
LATE_RATIO_MAX = 0.05


@dataclass
class Load:
    """So many streams for so long."""

    streams: int
    due: int
    forecasts: int
    forecasts_per_second: float
    late_seconds: float
    backlog_seconds: float
    server_cores: float
    broker_cores: float

    def is_kept_up_with(self) -> bool:
        """Say whether neither the hosts nor the server were late."""
        return self.forecasts >= self.due and self.late_seconds == 0 and self.backlog_seconds <= STEP_SECONDS


def wait_for(what: str, condition: Callable[[], Found | None]) -> Found:
    """Return what is found, once it is."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise SystemExit(f"waited {PATIENCE_SECONDS} s for {what}")


def n_waiting(monitor: str) -> int:
    """Count the measurements that the pool has not read, or not acknowledged."""
    with urllib.request.urlopen(f"{monitor}/jsz?consumers=true") as answer:
        accounts = json.load(answer).get("account_details", [])
    streams = [stream for account in accounts for stream in account.get("stream_detail", [])]
    consumers = [consumer for stream in streams for consumer in stream.get("consumer_detail") or []]
    # The bucket of leases has consumers too, which are never behind for long.
    return sum(consumer["num_pending"] for consumer in consumers if not consumer["stream_name"].startswith("KV_"))


def measure(binary: Path, nats_server: Path, n_hosts: int, seconds: float) -> Load:
    """Load a pool of one server, and see what becomes of it."""
    with tempfile.TemporaryDirectory(prefix="foretop-bench-") as folder:
        options = ["--jetstream", "--addr", "127.0.0.1", "--port", "-1", "--http_port", "-1"]
        places = ["--store_dir", folder, "--ports_file_dir", folder]
        broker = subprocess.Popen([nats_server, *options, *places], stderr=subprocess.DEVNULL)
        server = None
        try:
            ports = Path(folder) / f"{nats_server.name}_{broker.pid}.ports"
            found = wait_for("the broker", lambda: json.loads(ports.read_text()) if ports.exists() else None)
            nats, monitor = ["--nats", found["nats"][0]], found["monitoring"][0]
            server = subprocess.Popen(
                [binary, "stream", "pred-pool", "--model", "AR(16)", *nats], stdout=subprocess.PIPE, text=True
            )
            assert server.stdout is not None
            server.stdout.readline()
            n_steps = round(seconds / STEP_SECONDS)
            counts = ["--hosts", str(n_hosts), "--signals", str(N_SIGNALS), "--count", str(n_steps)]
            cpu, begin = [tree_cpu_seconds(process.pid) for process in (server, broker)], time.monotonic()
            subprocess.run([binary, "internal", "pool-load", *counts, *nats], check=True, stdout=subprocess.DEVNULL)
            end = time.monotonic()
            wait_for("the end of the backlog", lambda: n_waiting(monitor) == 0)
            drained = time.monotonic()
            used = [
                tree_cpu_seconds(process.pid) - before for process, before in zip((server, broker), cpu, strict=True)
            ]
            server.send_signal(signal.SIGTERM)
            said, _ = server.communicate(timeout=PATIENCE_SECONDS)
        finally:
            for process in filter(None, (server, broker)):
                process.kill()
                process.wait()
    forecasts = int(re.findall(r"\d+", said.splitlines()[-1])[-1])
    late = (end - begin) - n_steps * STEP_SECONDS
    return Load(
        streams=n_hosts * N_SIGNALS,
        # Nobody forecasts from one measurement.
        due=n_hosts * N_SIGNALS * (n_steps - 1),
        forecasts=forecasts,
        forecasts_per_second=forecasts / (drained - begin),
        late_seconds=late if late > LATE_RATIO_MAX * seconds else 0.0,
        backlog_seconds=drained - end,
        server_cores=used[0] / (drained - begin),
        broker_cores=used[1] / (drained - begin),
    )


def main() -> None:
    """Halve the streams until the pool keeps up, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--nats-server", type=Path, required=True, help="the broker")
    arguments.add_argument("--seconds", type=float, default=60.0, help="how long hosts publish")
    arguments.add_argument("--hosts", type=int, default=N_HOSTS_MAX, help="how many to begin with")
    given = arguments.parse_args()
    loads: list[Load] = []
    n_hosts = given.hosts
    while n_hosts > 0 and not (loads and loads[-1].is_kept_up_with()):
        loads.append(measure(given.binary, given.nats_server, n_hosts, given.seconds))
        n_hosts //= 2
    rows = [
        [
            f"{load.streams:,}",
            f"{load.forecasts_per_second:,.0f}",
            f"{load.forecasts / load.due:.1%}",
            f"{load.late_seconds:.1f} s; {load.backlog_seconds:.1f} s",
            f"{load.server_cores:.2f}; {load.broker_cores:.2f}",
            "yes" if load.is_kept_up_with() else "no",
        ]
        for load in loads
    ]
    head = ["streams at 1 Hz", "forecasts/s", "made", "hosts late; backlog", "cores: server; NATS", "keeps up"]
    print_table("A pool of one prediction server over NATS, AR(16), 30 steps ahead", head, rows)
    print_machine(machine())
    save("pool", {"loads": [asdict(load) for load in loads]})


if __name__ == "__main__":
    main()
