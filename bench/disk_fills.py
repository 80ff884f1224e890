"""A disk that fills beside a log that rotates: when Foretop warns of it, and when a straight line does.

`record FOLDER` fills the file system of FOLDER, a tmpfs of some GB at most, within about an hour: data that come at a rate that changes,
and a log that takes a tenth of it and is cut every eight minutes. What is available is noted each second in testdata/disk/fills.csv.

Without arguments it replays that file. Every ten seconds an outlook says how probable it is that the disk is full within a quarter of the
hour; it warns from 80 % on, and until that is below 50 %. Lines are `predict_linear` over windows of five and fifteen minutes, and warn
while they are at zero within the same time. A warning is too early if the disk is not full within the quarter of an hour after it.
"""

import argparse
import csv
import os
import random
import time
from pathlib import Path
from typing import NamedTuple

import foretop
import numpy as np
import numpy.typing as npt
from report import machine, print_machine, print_table, save
from statements import margin

Samples = npt.NDArray[np.float64]

TRACE = Path(__file__).parent.parent / "testdata" / "disk" / "fills.csv"
MINUTES, ROTATED_SECONDS = 58, 480
STEP_SECONDS = 10
LEAD = 15 * 60 // STEP_SECONDS
RAISE, CLEAR = 0.8, 0.5
N_PATHS = 500
LINE_MINUTES = [5, 15]


class Verdict(NamedTuple):
    """What became of the warnings of one forecaster."""

    name: str
    told: npt.NDArray[np.bool_]
    n: int
    # More than a quarter of an hour before the disk was full.
    n_early: int
    # Seconds before the disk was full when the last warning began, which stood until then; None where none did.
    ahead: int | None


def main() -> None:
    """Record, or replay and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it as well")
    record_only = parser.add_subparsers(dest="command").add_parser("record", help="fill a file system")
    record_only.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.folder)
        return
    available = recorded()
    verdicts = [
        verdict("Foretop", foretop_warns(available)),
        *(verdict(f"line of {minutes} min", line_warns(available, minutes)) for minutes in LINE_MINUTES),
    ]
    rows = [
        [name, str(n), str(n_early), "never" if ahead is None else f"{ahead // 60}:{ahead % 60:02} min before"]
        for name, _, n, n_early, ahead in verdicts
    ]
    title = (
        f"A disk that is full after {len(available) * STEP_SECONDS // 60} min: warnings of the next quarter of an hour"
    )
    print_table(title, ["", "warnings", "too early", "the last stood from"], rows)
    print_machine(machine())
    save("disk_fills", {"rows": rows})
    if arguments.plot:
        draw(available, verdicts, arguments.plot)


def record(folder: Path) -> None:
    """Fill the file system of a folder, and note each second what is available."""
    rng = random.Random(1)

    def available() -> int:
        stat = os.statvfs(folder)
        return stat.f_bavail * stat.f_frsize

    total, began = available(), time.time()
    busy, until, rotated = 1.0, 0.0, 0.0
    with (folder / "data").open("xb", 0) as data, (folder / "log").open("xb", 0) as log, TRACE.open("w") as lines:
        data.write(bytes(int(0.2 * total)))
        print("time,available", file=lines)
        while True:
            now = time.time()
            if now - began > until:
                busy, until = rng.uniform(0.4, 1.6), now - began + rng.expovariate(1 / 90)
            if now - began - rotated > ROTATED_SECONDS:
                log.truncate(0)
                log.seek(0)
                rotated += ROTATED_SECONDS
            print(f"{now:.0f},{available()}", file=lines, flush=True)
            try:
                data.write(bytes(int(0.8 * total / (60 * MINUTES) * busy)))
                log.write(bytes(int(0.1 * total / ROTATED_SECONDS * busy)))
            except OSError:
                print(f"{time.time():.0f},{available()}", file=lines)
                return
            time.sleep(max(0.0, now + 1 - time.time()))


def recorded() -> Samples:
    """Return means of each ten seconds, in bytes, until the disk was full."""
    with TRACE.open(newline="") as lines:
        values = np.array([float(row["available"]) for row in csv.DictReader(lines)])
    full = int(np.argmax(values <= 0)) if (values <= 0).any() else len(values)
    n = full // STEP_SECONDS
    return values[: n * STEP_SECONDS].reshape(n, STEP_SECONDS).mean(axis=1)


def foretop_warns(available: Samples) -> npt.NDArray[np.bool_]:
    """Return at which steps a warning stands, by what was known before each."""
    # Without its bound, which the disk itself has, the paths may go below zero.
    outlook = foretop.Outlook([], LEAD)
    told = np.zeros(len(available), bool)
    for at, value in enumerate(available):
        outlook.step(np.array([value]))
        if outlook.seen >= LEAD // 4:
            chance = np.mean((outlook.paths(N_PATHS, LEAD) <= 0).any(axis=1))
            told[at] = chance >= (CLEAR if at and told[at - 1] else RAISE)
    return told


def line_warns(available: Samples, minutes: int) -> npt.NDArray[np.bool_]:
    """Return the same of a straight line through the last minutes."""
    n = minutes * 60 // STEP_SECONDS
    return np.array([at + 1 >= n and margin(-available[: at + 1], 0.0, n, LEAD) > 0 for at in range(len(available))])


def verdict(name: str, told: npt.NDArray[np.bool_]) -> Verdict:
    """Count warnings, and those that the next quarter of an hour did not confirm; find the one that stood until the end."""
    begins = np.flatnonzero(told & ~np.concatenate(([False], told[:-1])))
    n_early = int(np.sum(begins < len(told) - LEAD))
    ahead = (len(told) - int(begins[-1])) * STEP_SECONDS if len(begins) and told[-1] else None
    return Verdict(name, told, len(begins), n_early, ahead)


def draw(available: Samples, verdicts: list[Verdict], path: Path) -> None:
    """Draw what was available, and below it when each warned."""
    from matplotlib.figure import Figure

    minutes = np.arange(len(available)) * STEP_SECONDS / 60
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    disk, bars = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    disk.plot(minutes, available / 1e6, color="black", lw=1)
    disk.set(ylabel="available, MB", ylim=(0, None))
    disk.axvspan(minutes[-1] - LEAD * STEP_SECONDS / 60, minutes[-1], color="0.92", label="the last quarter of an hour")
    disk.legend(frameon=False)
    for row, (_, told, *_) in enumerate(reversed(verdicts)):
        bars.fill_between(minutes, row - 0.35, row + 0.35, where=told.tolist(), step="mid", color="C3")
    bars.set(yticks=range(len(verdicts)), yticklabels=[name for name, *_ in reversed(verdicts)], xlabel="minutes")
    bars.set_ylim(-0.6, len(verdicts) - 0.4)
    figure.savefig(path)


if __name__ == "__main__":
    main()
