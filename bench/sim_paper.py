"""What MPI-SIM's authors tabulated of their simulator, of ours: memory (T8-1), predictions by ranks (F8.1), and a second worker (F8.6).

Kernels are those of `examples/sim/kernels`, for real under Open MPI and simulated on a machine that is made of ACE's costs of this host. More ranks
than cores sleep for real instead of computing, so that they overlap as on cores of their own; the simulator is told for how long. For memory and for
the second worker simulated ranks compute for real. Memory is the proportional set size of all processes of the kernel, the most of several looks.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from report import ROOT, machine, print_machine, print_table, save
from sim_error import ENVIRONMENT, LOOP, runs

# Published: memory of the simulator over that of the target, with as many target processes.
PUBLISHED_MEMORY = {
    "lu": {4: 57 / 14, 8: 32 / 8, 16: 18 / 5},
    "mg": {4: 8000 / 600, 8: 5000 / 400, 16: 3000 / 300},
    "bt": {4: 24 / 2, 9: 15, 16: 12},
    "sp": {4: 7000 / 700, 9: 6000 / 500, 16: 5000 / 500},
}
# What a stretch of work takes: long beside what a sleep is too long by, and beside a message.
SLEEP_NS = 4_000_000
SPIN_NS = 300_000


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop`; `foretop-sim` is beside it")
    arguments.add_argument("--runs", type=int, default=3, help="of each kernel and kind")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([ROOT / "examples/sim/kernels/build.sh", "openmpi", folder], check=True)
        costs = folder / "costs.jsonl"
        measure = [given.binary, "mpi", "ace", "--mpi", "openmpi", "--ranks", "2", "--out", costs]
        subprocess.run(measure, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        described = folder / "here.toml"
        simulate = [given.binary, "sim", "machine", "from-ace", costs, "--cores", "16"]
        described.write_text(subprocess.run(simulate, check=True, stdout=subprocess.PIPE, text=True).stdout)
        figures = {
            kernel: {
                n_ranks: measured(given, folder, described, kernel, n_ranks, published)
                for n_ranks, published in sizes.items()
            }
            for kernel, sizes in PUBLISHED_MEMORY.items()
        }
    rows = [
        [kernel, str(n_ranks), *cells(found)] for kernel, sizes in figures.items() for n_ranks, found in sizes.items()
    ]
    head = [
        "kernel",
        "ranks",
        "target",
        "simulator over it",
        "published",
        "measured",
        "predicted",
        "error",
        "second worker",
    ]
    print_table("MPI-SIM's tables: memory of a target rank, times of the main loop, speedup", head, rows)
    print_machine(machine())
    save("sim_paper", {"figures": figures})


def measured(
    given: argparse.Namespace, folder: Path, described: Path, kernel: str, n_ranks: int, published: float
) -> dict[str, float]:
    """Return all figures of a kernel with so many ranks."""
    program = folder / kernel
    target = ["mpiexec.openmpi", "-n", str(n_ranks), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    simulate = [str(given.binary), "sim", "run", "-n", str(n_ranks), "--machine", str(described)]
    slept = ["20", str(SLEEP_NS), "sleep"]
    told = statistics.median(runs(1, [*simulate, "--", str(program), *slept[:2]]))
    real = statistics.median(runs(given.runs, [*target, str(program), *slept]))
    # Long enough for several looks.
    spun = [
        str(max(1, 4_000_000_000 // SPIN_NS // (n_ranks * stretches_per_step(simulate, program)))),
        str(SPIN_NS),
        "spin",
    ]
    spans = {}
    for n_workers in (1, 2):
        command = [*simulate, "--workers", str(n_workers), "--", str(program), *spun]
        spans[n_workers] = statistics.median(timed(command, program)[0] for _ in range(given.runs))
    _, simulator_bytes = timed([*simulate, "--", str(program), *spun], program)
    _, target_bytes = timed([*target, str(program), "200", str(SLEEP_NS), "sleep"], program)
    return {
        "target_bytes": target_bytes / n_ranks,
        "memory_ratio": simulator_bytes / target_bytes,
        "published_memory_ratio": published,
        "measured_seconds": real,
        "predicted_seconds": told,
        "speedup": spans[1] / spans[2],
    }


def stretches_per_step(simulate: list[str], program: Path) -> int:
    """Return how many stretches of work a rank has in one step of the kernel."""
    done = subprocess.run([*simulate, "--", program, "1", str(SPIN_NS)], check=True, stdout=subprocess.PIPE, text=True)
    found = LOOP.search(done.stdout)
    return max(1, round(float(found[1]) * 1e9 / SPIN_NS)) if found else 1


def timed(command: list[str], program: Path) -> tuple[float, float]:
    """Run a command: how long it took, and the most memory that all processes of the program had together."""
    began = time.perf_counter()
    most = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        while started.poll() is None:
            most = max(most, proportional_bytes(program))
            time.sleep(0.2)
        took = time.perf_counter() - began
    if started.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {started.returncode}")
    return took, most


def proportional_bytes(program: Path) -> float:
    """Return the proportional set size of all processes of a program."""
    total = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "exe").readlink() == program:
                text = (process / "smaps_rollup").read_text()
                total += 1024.0 * int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1])
        except (OSError, StopIteration):
            # It has ended meanwhile, or is another user's.
            continue
    return total


def cells(found: dict[str, float]) -> list[str]:
    """Return how the figures of a row are printed."""
    error = found["predicted_seconds"] / found["measured_seconds"] - 1
    return [
        f"{found['target_bytes'] / 1e6:.1f} MB",
        f"{found['memory_ratio']:.2f}",
        f"{found['published_memory_ratio']:.1f}",
        f"{found['measured_seconds']:.3f} s",
        f"{found['predicted_seconds']:.3f} s",
        f"{error:+.1%}",
        f"{found['speedup']:.2f}",
    ]


if __name__ == "__main__":
    main()
