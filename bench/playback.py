"""Playback that slows down: laws on the same traces of arrival.

Laws are compared by a virtual clock, so their figures do not depend on the machine. A stall counts as a rate of 0. What play itself costs is
measured by the real clock: processor time of a medium in stereo, and how soon sound begins after the last byte of the start-up buffer.
"""

import argparse
import csv
import resource
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from report import machine, print_machine, print_table, save

SEEDS = (1, 2, 3, 4, 5)
MODELS = ("AUTO", "LAST", "none")
# How many seconds of silence are known to nobody before they come.
UNFORETOLD = ("outage",)
COST_SECONDS = 30

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
            "cost": cost(given.binary, folder),
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
    """Take the forecast away, and the look at the processor, and put a worse forecast in its place."""
    cases = {f"forecasts by {model}": ["--model", model] for model in MODELS}
    cases["AUTO, blind to the processor"] = ["--blind-to-cpu"]
    found = {name: summed(simulated(binary, folder, ["--law", "restricted", *case])) for name, case in cases.items()}
    rows = [
        [name, f"{of['stalled_seconds']:.0f} s", f"{of['mean_deviation']:.2%}", f"{of['rms_deviation']:.2%}"]
        for name, of in found.items()
    ]
    print_table("Our law with less", ["", "stalled", "mean abs(rate - 1)", "root mean square"], rows)
    return found


def cost(binary: Path, folder: Path) -> dict[str, float]:
    """Play a medium in stereo by the real clock, and one that comes byte by byte up to the start-up buffer."""
    medium = folder / "music.mp3"
    make = ["-f", "lavfi", "-i", "anoisesrc=d=60:c=pink:r=48000:a=0.3", "-ac", "2", "-b:a", "128k", str(medium)]
    subprocess.run(["ffmpeg", "-v", "error", "-y", *make], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # An interruption ends play after a while: processes start and end in the figure, too.
    command = [str(binary), str(medium), "--null", "--speed", "0.9"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as playing:
        time.sleep(COST_SECONDS)
        playing.send_signal(signal.SIGINT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    core = (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / COST_SECONDS
    delay = start_delay(binary, medium.read_bytes())
    rows = [
        ["share of a core, MP3 in stereo at 0.9", f"{core:.2%}"],
        ["sound after the last byte", f"{delay * 1000:.0f} ms"],
    ]
    print_table("What `foretop play` costs, and how soon it sounds", ["", ""], rows)
    return {"core_ratio": core, "start_delay_seconds": delay}


def start_delay(binary: Path, medium: bytes) -> float:
    """Return how long after the last byte of 2 s of a medium its sound begins, with a start-up buffer of so much."""
    command = [str(binary), "-", "--null", "--start", "2"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=False
    ) as playing:
        assert playing.stdin is not None
        assert playing.stderr is not None
        # 128 kbit/s: 2 s, and what the decoder holds back.
        playing.stdin.write(medium[:29_000])
        playing.stdin.flush()
        time.sleep(1)
        playing.stdin.write(medium[29_000:36_000])
        playing.stdin.flush()
        began = time.perf_counter()
        for line in playing.stderr:
            if line.startswith(b"plays"):
                break
        delay = time.perf_counter() - began
        playing.send_signal(signal.SIGINT)
        playing.stdin.close()
    return delay


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
