"""What preloading the tracer and the collectives costs: a traced call, a collector, memory, and the start of 64 ranks.

The scripts that anybody can run by hand measure it; the loop between emulated hosts needs root and is left out without it.
"""

import argparse
import subprocess

from report import ROOT, machine, print_machine, print_table, save

PARTS = {
    "What the tracer adds to a call": "mpi-tracer-cost.sh",
    "What collectives over trees cost": "mpi-coll-cost.sh",
}
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--profile", default="release", help="how the libraries are built")
    given = arguments.parse_args()
    for title, script in PARTS.items():
        command = [ROOT / "scripts" / script, given.profile]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        print_table(title, ["", "goal", *LIBRARIES.values()], rows(done.stdout))
    print_machine(machine())
    save("mpi_cost", {})


def rows(printed: str) -> list[list[str]]:
    """Return a row for each thing that was measured, with a column for each library."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in printed.splitlines():
        what, goal, library, figure = line.split("\t")
        found.setdefault((what, goal), {})[library] = figure
    return [[*key, *(figures.get(name, "") for name in LIBRARIES)] for key, figures in found.items()]


if __name__ == "__main__":
    main()
