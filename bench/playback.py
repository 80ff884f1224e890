"""Playback that slows down: laws on the same traces of arrival.

Laws are compared by a virtual clock, so their figures do not depend on the machine. A stall counts as a rate of 0.
"""

import argparse
import csv
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from report import machine, print_machine, print_table, save

SEEDS = (1, 2, 3, 4, 5)
MODELS = ("AUTO", "LAST", "none")
# How many seconds of silence are known to nobody before they come.
UNFORETOLD = ("outage",)

Row = dict[str, str]


def main() -> None:
    """Simulate, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop-play`")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "laws": laws(given.binary, folder, []),
            "laws_live": laws(given.binary, folder, ["--live"]),
            "ablation": ablation(given.binary, folder),
        }
    print_machine(machine())
    save("playback", figures)


def simulated(binary: Path, folder: Path, arguments: list[str]) -> list[Row]:
    """Return the outcomes of all laws on all made traces, of all seeds."""
    rows = []
    for seed in SEEDS:
        command = [str(binary), "simulate", "--seed", str(seed), "--out", str(folder), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with (folder / "laws.csv").open() as file:
            rows.extend(csv.DictReader(file))
    return rows


def laws(binary: Path, folder: Path, arguments: list[str]) -> dict[str, dict[str, float]]:
    """Compare all laws."""
    found = {law: summed(rows) for law, rows in by_law(simulated(binary, folder, arguments)).items()}
    what = "made while they are played" if arguments else "on demand"
    head = ["law", "stalled", "of Shaka's", "by outages", "mean abs(rate - 1)", "root mean square", "slew a second"]
    rows = [
        [
            law,
            f"{of['stalled_seconds']:.0f} s",
            f"{of['stalled_seconds'] / found['shaka']['stalled_seconds']:.2f}",
            f"{of['unforetold_seconds']:.0f} s",
            f"{of['mean_deviation']:.2%}",
            f"{of['rms_deviation']:.2%}",
            f"{of['slew_per_second']:.1%}",
        ]
        for law, of in found.items()
    ]
    least = found["off"]["least_mean_deviation"]
    title = f"Ten traces {what}, {len(SEEDS)} seeds, 20 min each; nobody could have a mean below {least:.2%}"
    print_table(title, head, rows)
    return found


def ablation(binary: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Take the forecast away, and put a worse one in its place."""
    found = {}
    for model in MODELS:
        rows = simulated(binary, folder, ["--law", "restricted", "--model", model])
        found[model] = summed(rows)
    rows = [
        [model, f"{of['stalled_seconds']:.0f} s", f"{of['mean_deviation']:.2%}", f"{of['rms_deviation']:.2%}"]
        for model, of in found.items()
    ]
    print_table("Our law by who forecasts", ["model", "stalled", "mean abs(rate - 1)", "root mean square"], rows)
    return found


def by_law(rows: list[Row]) -> dict[str, list[Row]]:
    """Sort rows by law, in their order."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["law"]].append(row)
    return found


def summed(rows: list[Row]) -> dict[str, float]:
    """Sum what is a time, and weigh by time what is a mean. Outages count apart."""
    seconds = sum(float(row["seconds"]) for row in rows)

    def mean(name: str, power: int = 1) -> float:
        return sum(float(row[name]) ** power * float(row["seconds"]) for row in rows) / seconds

    def stalled(are_unforetold: bool) -> float:
        return sum(float(row["stalled_seconds"]) for row in rows if (row["trace"] in UNFORETOLD) == are_unforetold)

    return {
        "stalled_seconds": stalled(False),
        "unforetold_seconds": stalled(True),
        "mean_deviation": mean("mean_deviation"),
        "rms_deviation": mean("rms_deviation", 2) ** 0.5,
        "least_mean_deviation": mean("least_mean_deviation"),
        "slew_per_second": max(float(row["slew_per_second"]) for row in rows),
    }


if __name__ == "__main__":
    main()
