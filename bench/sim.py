"""What simulating a message costs: our processes and user-level ranks beside SimGrid's SMPI, the same C program in all three.

The program passes 1 KiB around a ring (`examples/sim/user/ring.c`) and computes nothing. A figure is the difference between a long and a short
run, by the messages between them, so that it leaves start-up out. Memory is that of the whole process, by rank; of simulated
processes, their proportional set size, the program's own included.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from report import ROOT, machine, print_machine, print_table, save
from sim_paper import timed as observed

# Looking at more processes than that takes longer than the run.
N_OBSERVED_MAX = 256
# Rounds of the long run with processes, whose start takes long where they are many.
N_ROUNDS_OF_PROCESSES = 300
RING = ROOT / "examples/sim/user/ring.c"
# A network that messages do not share, as SMPI's cluster without a topology.
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="1.25GBps" lat="25us"/>
</platform>
"""
FLAT = """format = 1
[[site]]
name = "c"
nodes = {n_ranks}
cores = 1
[level.cluster]
latency = "25us"
bandwidth = "10Gbit/s"
"""
ENVIRONMENT = {**os.environ, "XBT_LOG": "root.thres:critical"}


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop`")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[16, 64, 256, 1024, 16_384])
    arguments.add_argument("--messages", type=int, default=400_000, help="of all ranks in the long run")
    arguments.add_argument("--runs", type=int, default=3)
    given = arguments.parse_args()
    rows = []
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        for n_ranks in given.ranks:
            (folder / "platform.xml").write_text(PLATFORM.format(last=n_ranks - 1))
            (folder / "flat.toml").write_text(FLAT.format(n_ranks=n_ranks))
            kinds = commands(given.binary, folder, n_ranks)
            found = {kind: cost(kind, command, n_ranks, given) for kind, command in kinds.items()}
            if n_ranks <= N_OBSERVED_MAX:
                command = [*kinds["processes"], str(given.messages // n_ranks)]
                found["processes"]["bytes"] = observed(command, folder / "ring")[1] / n_ranks
            figures[n_ranks] = found
            order = ("processes", "user-level", "SMPI")
            rows.append(
                [str(n_ranks), *(cell(found[kind]) for kind in order), *(memory(found[kind]) for kind in order)]
            )
    head = ["ranks", "processes", "user-level ranks", "SMPI", "memory, process", "user-level rank", "SMPI's rank"]
    print_table("A simulated message of 1 KiB, neighbour ring, compute off", head, rows)
    print_machine(machine())
    save("sim", {"seconds_and_bytes": figures})


def build(folder: Path) -> None:
    """Compile the ring for all three."""
    header = ROOT / "examples/sim/user"
    for command in (
        ["cc", "-O2", "-shared", "-fPIC", "-I", header, "-o", folder / "ring.so", RING],
        ["mpicc.openmpi", "-O2", "-o", folder / "ring", RING],
        ["smpicc", "-O2", "-o", folder / "ring-smpi", RING],
    ):
        subprocess.run(command, check=True)


def commands(binary: Path, folder: Path, n_ranks: int) -> dict[str, list[str | Path]]:
    """Return how each of them runs the ring, without the number of rounds."""
    ours = [binary, "sim"]
    given = ["-n", str(n_ranks), "--machine", folder / "flat.toml"]
    off = ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/privatization:no", "--cfg=contexts/stack-size:64"]
    return {
        "processes": [*ours, "run", *given, "--compute", "none", "--", folder / "ring"],
        "user-level": [*ours, "kernel", *given, "--", folder / "ring.so"],
        "SMPI": ["smpirun", "-np", str(n_ranks), "-platform", folder / "platform.xml", *off, folder / "ring-smpi"],
    }


def cost(kind: str, command: list[str | Path], n_ranks: int, given: argparse.Namespace) -> dict[str, float]:
    """Return seconds a message and bytes a rank; nothing where it does not run."""
    long = max(given.messages // n_ranks, N_ROUNDS_OF_PROCESSES if kind == "processes" else 4)
    spans = []
    n_bytes = 0.0
    for _ in range(given.runs):
        taken = [timed([*command, str(n_rounds)]) for n_rounds in (1, long)]
        if taken[0] is None or taken[1] is None:
            return {}
        (short, _), (whole, n_bytes) = taken
        spans.append((whole - short) / ((long - 1) * n_ranks))
    seconds = {"seconds": statistics.median(spans)}
    return seconds if kind == "processes" else {**seconds, "bytes": n_bytes / n_ranks}


def timed(command: list[str | Path]) -> tuple[float, float] | None:
    """Run a command: how long it took, and the most memory that it or one that it started had."""
    began = time.perf_counter()
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        _, status, used = os.wait4(started.pid, 0)
        took = time.perf_counter() - began
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode != 0:
        print(f"{' '.join(map(str, command))} ended with {started.returncode}")
        return None
    return took, 1024.0 * used.ru_maxrss


def cell(found: dict[str, float]) -> str:
    """Return how a figure is printed."""
    return "-" if not found else f"{found['seconds'] * 1e6:.2f} us"


def memory(found: dict[str, float]) -> str:
    """Return how much a rank takes."""
    return "-" if "bytes" not in found else f"{found['bytes'] / 1000:.1f} KB"


if __name__ == "__main__":
    main()
