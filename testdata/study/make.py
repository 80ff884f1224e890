"""A journal of a study that never was, and the cells of its tables computed without Foretop.

Run `python3 make.py` in this folder. Python 3 alone is needed. What is in the journal is chosen so that every cell can be
told by hand or by a few lines: series that stay where they are are forecast to stay there, whatever the model.
"""

import json
import math
from pathlib import Path

CORES = 2
SHORT, LONG, SETTLE = 10.0, 300.0, 10.0
SETTINGS = {
    "scenarios": ["idle", "one-spinner", "two-spinners"],
    "seed": 1,
    "total_seconds": 3600.0,
    "visit_seconds": 1200.0,
    "rounds": None,
    "short_seconds": SHORT,
    "long_seconds": LONG,
    "long_share": 0.3,
    "warm_up_seconds": 75.0,
    "rest_seconds": 20.0,
    "step_seconds": 1.0,
    "average_seconds": 300.0,
    "probe_every_seconds": 60.0,
    "probe_for_seconds": 1.5,
    "measure_every_seconds": 10.0,
    "is_quick": False,
}


def own_load(at, tests):
    """What tests leave in a load average that forgets with a time constant of a minute."""

    def kept(since):
        return math.exp(-max(since, 0.0) / 60.0)

    return sum(n * (kept(at - end) - kept(at - start)) for start, end, n in tests if start <= at)


def is_disturbed(at, tests):
    return any(start < at <= end + SETTLE for start, end, _ in tests)


def wave(at):
    """Availability between 0.2 and 0.8 without a simple pattern."""
    return 0.5 + 0.2 * math.sin(0.7 * at) + 0.1 * math.cos(0.11 * at * at)


def variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def rescaled(values):
    mean = sum(values) / len(values)
    sums, total = [0.0], 0.0
    for value in values:
        total += value - mean
        sums.append(total)
    return (max(sums) - min(sums)) / math.sqrt(variance(values))


def hurst(values):
    """The slope of log(R/S) over log(length), of lengths 8 * 2^(k/2) up to a half of the samples."""
    points = []
    k = 0
    while (length := round(8 * 2 ** (0.5 * k))) <= len(values) // 2:
        for begin in range(0, len(values) - length + 1, length):
            points.append((math.log(length), math.log(rescaled(values[begin : begin + length]))))
        k += 1
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)


def moved(availability, starts):
    """How far readings are from the mean of the ten after them."""
    distances = [abs(sum(availability(at + step) for step in range(1, 11)) / 10 - availability(at)) for at in starts]
    return sum(distances) / len(distances)


def visit(lines, scenario, n_seconds, availability, others, tests):
    """Tests are (length, threads, start, [(wanted, passed, used), ...], demand, reached)."""
    lines.append({"kind": "visit", "round": 1, "scenario": scenario, "time": "2026-11-21T12:00:00Z"})
    spans = [(start, start + marks[-1][1], threads) for _, threads, start, marks, _, _ in tests]
    series = []
    for at in range(n_seconds):
        load = others + own_load(at, spans)
        said = {
            "cpu.availability": availability(at),
            "cpu.availability.2": 2 * availability(at),
            "cpu.availability.vmstat": 0.75,
            "cpu.availability.loadavg": min(1.0, CORES / (load + 1.0)),
            "load.1m": load,
        }
        if at >= 3:
            said["cpu.availability.hybrid"] = 0.875
        lines.append({"kind": "reading", "at_seconds": float(at), "said": said})
        if not is_disturbed(at, spans):
            series.append(availability(at))
        for length, threads, start, marks, demand, reached in tests:
            if int(start + marks[-1][1]) + 1 == at:
                lines.append(
                    {
                        "kind": "test",
                        "length": length,
                        "n_threads": threads,
                        "start_seconds": start,
                        "end_seconds": start + marks[-1][1],
                        "demand_seconds": demand,
                        "outcome": "done",
                        "marks": [{"wanted_seconds": w, "passed_seconds": p, "used_seconds": u} for w, p, u in marks],
                        "reached_seconds": reached,
                    }
                )
    return series


def main():
    lines = [
        {
            "kind": "header",
            "format": 1,
            "version": "0.1.0",
            "host": "nowhere",
            "kernel": "Linux 6.18 x86_64",
            "n_cores": CORES,
            "time": "2026-11-21T12:00:00Z",
            "busy_before": 0.01,
            "settings": SETTINGS,
        }
    ]
    # Constant at 1; the others' load of 1.5 makes 2 / 2.5 = 0.8 of the load average's formula.
    visit(
        lines,
        "idle",
        460,
        lambda at: 1.0,
        1.5,
        [
            ("short", 1, 75.0, [(SHORT, 10.0, 9.5)], 4.0, 4.25),
            ("short", 2, 105.0, [(SHORT, 10.0, 18.0)], 4.0, None),
            ("long", 1, 135.0, [(SHORT, 10.0, 9.0), (LONG, 300.0, 285.0)], 40.0, 42.0),
        ],
    )
    lines.append(
        {
            "kind": "test",
            "length": "short",
            "n_threads": 1,
            "start_seconds": 458.5,
            "end_seconds": 459.5,
            "demand_seconds": 4.0,
            "outcome": "failed",
            "reason": "the test process ended before its time: signal: 9 (SIGKILL)",
        }
    )
    lines.append({"kind": "visit-end"})
    # Broken off: no end of the visit.
    series = visit(lines, "one-spinner", 100, wave, 0.0, [("short", 1, 75.0, [(SHORT, 10.0, 5.0)], 4.0, 8.0)])
    lines.append({"kind": "resumed", "time": "2026-11-21T13:00:00Z"})
    lines.append({"kind": "skipped", "round": 1, "scenario": "two-spinners", "reason": "not today"})
    with Path("journal.jsonl").open("w", encoding="ascii") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)

    spinner = abs(wave(75) - 0.5)
    expected = {
        # Table, row, kind, column: value, n. The tests got 0.95 and 0.9 of a core, 1.8 of 2, 0.95 in 5 minutes.
        "1,idle,,cpu.availability": [(0.05 + 0.1) / 2, 2],
        "1,idle,,cpu.availability.2": [0.1, 1],
        "1,idle,,cpu.availability.vmstat": [(0.2 + 0.15) / 2, 2],
        "1,idle,,cpu.availability.loadavg": [(0.15 + 0.1) / 2, 2],
        "1,idle,,cpu.availability.hybrid": [(0.075 + 0.025) / 2, 2],
        "1,one-spinner,,cpu.availability": [spinner, 1],
        "1,all,,cpu.availability": [(0.05 + 0.1 + spinner) / 3, 3],
        "2,idle,NWS,cpu.availability.vmstat": [(0.2 + 0.15) / 2, 2],
        "2,idle,AUTO,cpu.availability.hybrid": [(0.075 + 0.025) / 2, 2],
        "2,idle,NWS,cpu.availability.2": [0.1, 1],
        # Neighbours among readings 0-75, 96-105, 126-135 and 446-458; a test that failed is seen at 459.
        "3,idle,NWS,cpu.availability": [0.0, 75 + 9 + 9 + 12],
        "3,idle,AUTO,cpu.availability.vmstat": [0.0, 75 + 9 + 9 + 12],
        # Neighbours among readings at 0, 10, ..., 70; later ones stand alone between tests.
        "3,idle,NWS 10s apart,cpu.availability": [0.0, 7],
        "4,one-spinner,variance,cpu.availability": [variance(series), len(series)],
        "4,one-spinner,Hurst,cpu.availability": [hurst(series), len(series)],
        "6,idle,NWS,cpu.availability": [0.05, 1],
        "6,idle,AUTO,cpu.availability.loadavg": [0.15, 1],
        # From 0 to 65 there are ten more readings before the test, and none after it.
        "8,one-spinner,,cpu.availability": [moved(wave, range(66)), 66],
    }
    with Path("expected.csv").open("w", encoding="ascii") as out:
        out.writelines(f"{cell},{value!r},{n}\n" for cell, (value, n) in expected.items())


main()
