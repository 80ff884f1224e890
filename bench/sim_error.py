"""How far simulated times of real programs are off: the kernels of `examples/sim/kernels` on 2 ranks, for real and simulated.

The machine is made of what ACE measures on this host, over shared memory and over TCP; compute time is what the simulated ranks take. Two ranks
have a core each, so both kinds of run are on the same processors. What kernels compute is a span of processor time, which both kinds have alike: what is
off is messages and waits, of which there is the more, the shorter the spans are. BT, SP and CG need squares of ranks and are left out.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from report import ROOT, machine, print_machine, print_table, save

KERNELS = ("lu", "mg", "ft", "is", "ep", "master-worker")
N_RANKS = 2
OPEN_MPI = ["mpiexec.openmpi", "-n", str(N_RANKS), "--allow-run-as-root", "--oversubscribe", "--bind-to", "core"]
# The simulator's yardstick is the median of the real runs, whose own spread stands beside it.
NETWORKS = {"shared memory": ([], "vader,self"), "TCP": (["--tcp"], "tcp,self")}
# Kernels and the benchmark that the machine is made of copy alike.
ENVIRONMENT = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
LOOP = re.compile(r"verified, sum \w+, ([0-9.]+) s")


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop`; `foretop-sim` is beside it")
    arguments.add_argument("--runs", type=int, default=7, help="of each kernel and kind")
    arguments.add_argument("--steps", type=int, default=2_000, help="of each kernel")
    arguments.add_argument("--work-ns", type=int, default=5_000, help="between a kernel's messages, in the mean")
    given = arguments.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([ROOT / "examples/sim/kernels/build.sh", "openmpi", folder], check=True)
        for network, (launch, transport) in NETWORKS.items():
            costs = folder / f"{transport}.jsonl"
            measure = [given.binary, "mpi", "ace", "--mpi", "openmpi", "--ranks", str(N_RANKS), *launch, "--out", costs]
            subprocess.run(measure, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
            simulate = [given.binary, "sim", "machine", "from-ace", costs, "--cores", str(N_RANKS)]
            described = folder / f"{transport}.toml"
            described.write_text(subprocess.run(simulate, check=True, stdout=subprocess.PIPE, text=True).stdout)
            figures[network] = compare(given, folder, network, transport, described)
    print_machine(machine())
    save("sim_error", {"error_share": figures})


def compare(given: argparse.Namespace, folder: Path, network: str, transport: str, described: Path) -> dict[str, float]:
    """Print a table of all kernels over one network, and return each one's error."""
    rows = []
    errors = {}
    for kernel in KERNELS:
        words = [str(folder / kernel), str(given.steps), str(given.work_ns)]
        simulated = [given.binary, "sim", "run", "-n", str(N_RANKS), "--machine", described, "--", *words]
        real = runs(given.runs, [*OPEN_MPI, "--mca", "btl", transport, *words])
        predicted = statistics.median(runs(given.runs, simulated))
        median = statistics.median(real)
        errors[kernel] = predicted / median - 1
        spread = (max(real) - min(real)) / median
        rows.append([kernel, f"{median:.4f} s", f"{spread:.1%}", f"{predicted:.4f} s", f"{errors[kernel]:+.1%}"])
    sizes = sorted(errors.items(), key=lambda error: abs(error[1]))
    middle = statistics.median(abs(error) for error in errors.values())
    best, worst = sizes[0], sizes[-1]
    rows.append(
        ["all", "", "", "", f"best {best[1]:+.1%} ({best[0]}), median {middle:.1%}, worst {worst[1]:+.1%} ({worst[0]})"]
    )
    head = ["kernel", "real, median", "spread of the real", "simulated, median", "error"]
    print_table(f"Kernels on {N_RANKS} ranks over {network}, real and simulated", head, rows)
    return errors


def runs(n: int, command: list[str | Path]) -> list[float]:
    """Return the times of a kernel's main loop in so many runs."""
    found = []
    for _ in range(n):
        done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False)
        match = LOOP.search(done.stdout)
        if done.returncode != 0 or match is None:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        found.append(float(match[1]))
    return found


if __name__ == "__main__":
    main()
