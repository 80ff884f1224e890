"""Trees found by `foretop mpi tree tune` beside what MPI libraries offer, on emulated hosts with links of 1 Gbit/s. Needs root.

Topologies were fixed before anything was measured: 8 hosts with a rank each; 4 hosts with 4 ranks each, in blocks and in turn. All are
reported. Where there are fewer cores than ranks, which is the case on most machines that run this, what peers lose by spinning says nothing of
their algorithms: those with waits that yield stand apart, and are what a tree has to beat.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hosts import hosts_of, shell_of
from report import TARGET, machine, print_machine, print_table, save
from timing import time_text

NAME = "bench-trees"
SITE = """format = 1
[[site]]
name = "lan"
lan-bandwidth = "1 Gbit/s"
"""
N_CALLS = 300

# Name, hosts as the launcher has them, how many, whether ranks go round the hosts.
TOPOLOGIES = (
    ("8 hosts, a rank each", [f"h{at}:1" for at in range(8)], False),
    ("4 hosts, 4 ranks each, in blocks", [f"h{at}:4" for at in range(4)], False),
    ("4 hosts, 4 ranks each, in turn", [f"h{at}:4" for at in range(4)], True),
)


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--size", default="8B", help="bytes of an allreduce")
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each candidate that may win")
    arguments.add_argument(
        "--peers", choices=("all", "yielding"), default="all", help="whether those that spin are run, too"
    )
    arguments.add_argument(
        "--libraries", type=Path, default=TARGET / "release", help="where libmpi_coll.so and libmpi_tracer.so are"
    )
    given = arguments.parse_args()
    if os.geteuid() != 0:
        print("bench/mpi_trees.py: emulated hosts need root; left out")
        return
    found = {}
    for name, hosts, in_turn in TOPOLOGIES:
        with tempfile.TemporaryDirectory(prefix="foretop-bench-") as folder:
            file = Path(folder) / f"{NAME}.toml"
            file.write_text(SITE + f"hosts = {json.dumps([host.split(':')[0] for host in hosts])}\n")
            with hosts_of(given.binary, file):
                found[name] = tuned(given, hosts, in_turn, folder)
        print_topology(name, given.size, found[name])
    print_machine(machine())
    save("mpi_trees", {"topologies": found, "size": given.size})


def tuned(given: argparse.Namespace, hosts: list[str], in_turn: bool, folder: str) -> dict[str, Any]:
    """Let the program find the best tree and run all peers, from the first host."""
    program = TARGET / "mpi/openmpi/foretop-miniapp"
    n_ranks = sum(int(host.split(":")[1]) for host in hosts)
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_plm_rsh_agent": shell_of(NAME),
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "OMPI_MCA_oob_tcp_if_include": "eth0",
        "OMPI_MCA_rmaps_base_mapping_policy": "node" if in_turn else "slot",
        # Of our own runs; peers set it themselves.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "FORETOP_MPI_PROGRAMS": str(given.libraries),
    }
    command = [given.binary, "wan", "exec", f"{NAME}/h0", "--"]
    command += [given.binary, "mpi", "tree", "tune", f"--peers={given.peers}", "--json"]
    command += ["-n", str(n_ranks), "--hosts", ",".join(hosts), "--rounds", str(given.rounds)]
    command += ["--out", f"{folder}/tuned.toml", "--"]
    command += [program, "gsum", "--size", given.size, "--calls", str(N_CALLS)]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def print_topology(name: str, size: str, found: dict[str, Any]) -> None:
    """Print the best tree and each peer, the fastest first."""
    took = f"{found['n_trees']} trees, best after {found['found_after_ns'] / 1e9:.0f} s"
    title = f"Allreduce of {size} on {name} ({took})"
    print_table(title, ["", "a call", "by the best tree"], [cells(row) for row in found["rows"]])


def cells(row: dict[str, Any]) -> list[str]:
    """Return what stands in a row. HAN, for one, does not run where ranks go round the hosts."""
    if row["time_ns"] is None:
        return [row["what"], "does not run", "-"]
    return [row["what"], time_text(row["time_ns"] / 1e9), f"{row['ratio']:.2f}"]


if __name__ == "__main__":
    main()
