"""Writes pages as the client library of Prometheus for Python does, and what its own parsers read in them.

Made with prometheus_client 0.26.0 and numpy 2.4.6; run in this folder: python reference.py
Page 2 is of the same process as page 1 and two seconds later. Page 3 is of one that was started in between, and four seconds
later than page 2. Of pages 2 and 3, `*.expected.txt` has what becomes of them: gauges as they are, counters and sums as rates, and
the quantiles 0.5 and 0.9 of the histogram's growth by linear interpolation of its cumulative counts.
"""

from pathlib import Path

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram, Info, Summary, exposition
from prometheus_client.openmetrics import exposition as om_exposition
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_older

QUANTILES = (0.5, 0.9)


class Process:
    """What a program that was started offers, its counters at zero."""

    def __init__(self):
        r = self.registry = CollectorRegistry()
        self.jobs = Counter("jobs", "Jobs that were \\ done,\nor tried", ["queue"], registry=r)
        self.sent = Counter("sent", "What was sent", unit="bytes", registry=r)
        self.depth = Gauge("depth", "Jobs that wait", ["queue"], registry=r)
        self.nothing = Gauge("nothing", "No number", registry=r)
        self.wait = Histogram(
            "wait", "How long a job waits", ["queue"], unit="seconds", registry=r, buckets=(0.1, 0.5, 1, 5)
        )
        self.size = Summary("size", "How large a job is", registry=r)
        Info("build", "What is running", registry=r).info({"version": "1"})
        self.state = Enum("state", "What it does", states=["idle", "busy"], registry=r)
        self.nothing.set(float("nan"))

    def work(self, queue: str, waits: list[float]) -> None:
        for wait in waits:
            self.jobs.labels(queue).inc()
            self.sent.inc(1000 * wait, exemplar={"trace_id": f"{queue.encode().hex()} # {{}}"})
            self.wait.labels(queue).observe(wait, exemplar={"trace_id": "abc"})
            self.size.observe(100 * wait)
        self.depth.labels(queue).set(len(waits) / 7)


def write(page: int, process: Process) -> None:
    Path(f"python-openmetrics.{page}.txt").write_bytes(om_exposition.generate_latest(process.registry))
    Path(f"python-older.{page}.txt").write_bytes(exposition.generate_latest(process.registry))


def series(name: str, labels: dict) -> str:
    quoted = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    return name + ("{" + ",".join(f'{k}="{v}"' for k, v in sorted(quoted.items())) + "}" if labels else "")


def read(path: str):
    """Counters, gauges, buckets and times of creation, each by the text of the series."""
    reader = read_openmetrics if "openmetrics" in path else read_older
    counters, gauges, buckets, created = {}, {}, {}, {}
    for family in reader(Path(path).read_text()):
        for sample in family.samples:
            labels = dict(sample.labels)
            suffix = sample.name.removeprefix(family.name)
            if suffix == "_created" and "openmetrics" in path:
                created[series(family.name, labels)] = sample.value
            elif suffix == "_bucket":
                upper = float(labels.pop("le"))
                buckets.setdefault((family.name, *labels.items()), []).append((upper, sample.value))
            elif family.type == "counter" or suffix in ("_count", "_sum"):
                counters[series(sample.name, labels)] = (sample.value, series(family.name, labels))
            elif family.type != "info" and not np.isnan(sample.value):
                gauges[series(sample.name, labels)] = sample.value
    return counters, gauges, buckets, created


def expected(last: str, now: str, seconds: float) -> str:
    counters, gauges, buckets, created = read(now)
    last_counters, _, last_buckets, last_created = read(last)
    lines = [f"{name} {value!r}" for name, value in gauges.items()]
    for name, (value, family) in counters.items():
        if name in last_counters:
            before = last_counters[name][0]
            is_reset = value < before or created.get(family) != last_created.get(family)
            lines.append(f"{name} {(value if is_reset else value - before) / seconds!r}")
    for (family, *labels), rows in buckets.items():
        before = np.array([count for _, count in last_buckets.get((family, *labels), [])])
        if before.size:
            counts, name = np.array([count for _, count in rows]), series(family, dict(labels))
            is_reset = (counts < before).any() or created.get(name) != last_created.get(name)
            grown = counts if is_reset else counts - before
            for quantile in QUANTILES:
                bounds = [0.0, *(upper for upper, _ in rows[:-1])]
                value = float(np.interp(quantile * grown[-1], [0.0, *grown[:-1]], bounds))
                name = series(family, {**dict(labels), "quantile": str(quantile)})
                lines.append(f"{name} {value!r}")
    return "\n".join(sorted(lines)) + "\n"


process = Process()
process.work("mail", [0.05, 0.3, 0.3, 2.0, 7.0])
process.work('odd "\\\n}, {#', [0.2])
process.state.state("busy")
write(1, process)
process.work("mail", [0.02, 0.04, 0.4, 0.7, 0.8, 0.9, 3.0])
process.work('odd "\\\n}, {#', [0.3, 0.6])
process.state.state("idle")
write(2, process)
process = Process()
# Further than page 2, so that only the time of creation tells.
process.work("mail", [0.3, 0.6, 0.7] * 10)
process.work('odd "\\\n}, {#', [0.2, 0.8])
write(3, process)
for form in ("openmetrics", "older"):
    for last, now, seconds in ((1, 2, 2.0), (2, 3, 4.0)):
        text = expected(f"python-{form}.{last}.txt", f"python-{form}.{now}.txt", seconds)
        Path(f"python-{form}.{now}.expected.txt").write_text(text)
