"""Collectives over two emulated sites: trees of ours beside what Open MPI and MPICH offer, and allreduces that do not wait. Needs root.

Two clusters of 8 ranks, 10 ms apart each way, 100 Mbit/s: allreduces of 8 bytes and of 1 MB, with ranks in blocks and in turn, and all-to-all
between the clusters' roots beside one root for both. Then 18 ms each way with 30 ms of work between the calls: conditional allreduces
beside sequential ones, with the best case, the worst one, and what three relaxations bring.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import hosts_of, shell_of
from report import TARGET, machine, print_machine, print_table, save
from timing import time_text

NAME = "bench-wan"
SITES = """format = 1
[[site]]
name = "left"
hosts = ["l0"]
[[site]]
name = "right"
hosts = ["r0"]
"""
N_EACH = 8
# How long a run whose result is there may take to end.
PATIENCE_SECONDS = 5.0
WORK_MS = 30
DATA_SETS = ("frosty", "tridiagonal", "random")
SIZES = ("8B", "1000000B")
OPEN_MPI = {
    "basic linear": 1,
    "nonoverlapping": 2,
    "recursive doubling": 3,
    "ring": 4,
    "segmented ring": 5,
    "Rabenseifner": 6,
}
MPICH = ("recursive_doubling", "reduce_scatter_allgather")


@dataclass(frozen=True)
class Way:
    """How allreduces are made."""

    name: str
    library: str
    environment: tuple[tuple[str, str], ...] = ()
    # How clusters are joined by a tree of ours.
    between: str | None = None


class Bench:
    """Runs the programs in the hosts of an emulation that is up."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        """Have `folder` for all files."""
        self.given, self.folder = given, folder

    @contextmanager
    def sites(self, latency: str, bandwidth: str | None) -> Iterator[None]:
        """Have two sites that are so far apart, either way."""
        keys = f'latency = "{latency}"\n' + (f'bandwidth = "{bandwidth}"\n' if bandwidth else "")
        links = [f'[[link]]\nfrom = "{a}"\nto = "{b}"\n{keys}' for a, b in (("left", "right"), ("right", "left"))]
        file = self.folder / f"{NAME}.toml"
        file.write_text(SITES + "".join(links))
        with hosts_of(self.given.binary, file):
            yield

    def tree(self, between: str, n_ranks: int, *, in_turn: bool) -> Path:
        """Write the tree file of two clusters."""
        file = self.folder / f"{between}-{n_ranks}-{in_turn}.toml"
        command = [self.given.binary, "mpi", "tree", "make", "-n", str(n_ranks), "--hosts", "l0,r0"]
        command += ["--cluster", "left:l0", "--cluster", "right:r0", "--between", between, "--out", file]
        subprocess.run(command + (["--cyclic"] if in_turn else []), check=True, stdout=subprocess.DEVNULL)
        return file

    def run(self, way: Way, words: list[str], *, in_turn: bool = False, n_ranks: int = 2 * N_EACH) -> dict[str, Any]:
        """Run the program over both sites; return what it says of its run."""
        result = self.folder / "result.jsonl"
        result.unlink(missing_ok=True)
        environment = dict(way.environment)
        if way.between is not None:
            preloaded = str(self.given.libraries / "libmpi_coll.so")
            tree = str(self.tree(way.between, n_ranks, in_turn=in_turn))
            environment |= {"LD_PRELOAD": preloaded, "FORETOP_MPI_TREE": tree, "FORETOP_MPI_LEVEL": "off"}
        shell = shell_of(NAME)
        each = str(n_ranks // 2)
        if way.library == "openmpi":
            command = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", shell]
            # Each host's ranks would be bound from the first core on, and share that with the other's.
            command += ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl_tcp_if_include", "eth0"]
            command += ["--mca", "oob_tcp_if_include", "eth0", "--map-by", "node" if in_turn else "slot"]
            command += ["--host", f"l0:{each},r0:{each}"]
            command += [word for name, value in environment.items() for word in ("-x", f"{name}={value}")]
        else:
            command = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", shell, "-hosts", "l0,r0"]
            command += ["-ppn", "1" if in_turn else each]
            command += [word for name, value in environment.items() for word in ("-genv", name, value)]
        program = str(self.given.programs / way.library / self.given.profile / "foretop-miniapp")
        command += ["-n", str(n_ranks), program, *words, "--out", str(result)]
        said = self.folder / "said"
        with said.open("w") as out:
            started = [self.given.binary, "wan", "exec", f"{NAME}/l0", "--", *command]
            with subprocess.Popen(started, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT) as launcher:
                status = wait(launcher, result)
        text = said.read_text()
        # A tree that is refused would leave the library's own calls to be measured.
        if status != 0 or "no call goes over a tree" in text:
            raise SystemExit(f"{way.name}: {' '.join(command)} ended with {status}:\n{text}")
        records = [json.loads(line) for line in result.read_text().splitlines()]
        return {record["kind"]: record for record in records if record["kind"].startswith("miniapp.")}


def wait(launcher: subprocess.Popen[bytes], result: Path) -> int:
    """Return how a run ended; one whose result is there has ended well, though it may hang after that."""
    while True:
        try:
            return launcher.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            # MPICH before 4.2 may hang in MPI_Finalize over TCP with more than two ranks (pmodels/mpich#6596).
            if result.exists() and '"miniapp.run"' in result.read_text():
                launcher.terminate()
                launcher.wait()
                return 0


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    arguments.add_argument("--calls", type=int, default=50, help="allreduces of 8 bytes; a fifth of it of 1 MB")
    arguments.add_argument(
        "--iterations", type=int, default=300, help="of work and an allreduce in the best and worst case"
    )
    arguments.add_argument("--data", type=int, default=20_000, help="iterations of each set of data at most")
    arguments.add_argument("--part", choices=("all", "sizes", "conditional"), default="all", help="what is measured")
    arguments.add_argument("--libraries", type=Path, default=TARGET / "release", help="where libmpi_coll.so is")
    arguments.add_argument("--programs", type=Path, default=TARGET / "mpi", help="where programs are, by MPI library")
    arguments.add_argument("--profile", default="", help="the folder below: `debug` for builds of the tests")
    given = arguments.parse_args()
    if os.geteuid() != 0:
        print("bench/wan_collectives.py: emulated hosts need root; left out")
        return
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="foretop-bench-") as folder:
        bench = Bench(given, Path(folder))
        if given.part != "conditional":
            figures["allreduce_ns"] = sizes(bench)
        if given.part != "sizes":
            figures["iteration_ns"] = conditional(bench)
    print_machine(machine())
    save("wan_collectives", figures)


def ways(bench: Bench) -> list[Way]:
    """Return ours, then each library's own choice and what it can be made to do."""
    found = []
    for library in ("openmpi", "mpich"):
        if not (bench.given.programs / library / bench.given.profile / "foretop-miniapp").exists():
            print(f"bench/wan_collectives.py: no programs for {library}; left out")
            continue
        title = {"openmpi": "Open MPI", "mpich": "MPICH"}[library]
        found += [Way(f"{title}, our tree, {between}", library, (), between) for between in ("all-to-all", "reduce")]
        found.append(Way(f"{title}, its choice", library))
        if library == "openmpi":
            for name, number in OPEN_MPI.items():
                forced = {"use_dynamic_rules": "1", "allreduce_algorithm": str(number)}
                environment = tuple((f"OMPI_MCA_coll_tuned_{key}", value) for key, value in forced.items())
                found.append(Way(f"{title}, {name}", library, environment))
        else:
            variable = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
            found += [Way(f"{title}, {name.replace('_', ' ')}", library, ((variable, name),)) for name in MPICH]
    return found


def sizes(bench: Bench) -> dict[str, Any]:
    """Allreduces of both sizes, with ranks in blocks and in turn, 10 ms apart."""
    figures = {}
    for size in SIZES:
        n_calls = bench.given.calls if size == SIZES[0] else max(bench.given.calls // 5, 2)
        for place, in_turn in (("in blocks", False), ("in turn", True)):
            with bench.sites("10ms", "100Mbit/s"):
                took = {}
                for way in ways(bench):
                    words = ["gsum", "--size", size, "--calls", str(n_calls)]
                    # Sites half a round trip apart have each other's contribution already in every second call: a median says nothing.
                    took[way.name] = bench.run(way, words, in_turn=in_turn)["miniapp.run"]["call_ns"]
            best = min(took.values())
            rows = [
                [name, time_text(ns / 1e9), f"{ns / best:.2f}"]
                for name, ns in sorted(took.items(), key=lambda row: row[1])
            ]
            title = f"Allreduce of {size} over two clusters of {N_EACH}, 10 ms and 100 Mbit/s each way, ranks {place}"
            print_table(title, ["", "a call, mean", "by the fastest"], rows)
            figures[f"{size} {place}"] = took
    return figures


def conditional(bench: Bench) -> dict[str, Any]:
    """Work and allreduces in turn, one rank at each site, 18 ms apart: what an iteration takes."""
    sequential = Way("sequential", "openmpi", (), "reduce")
    settings = bench.folder / "conditional.toml"
    settings.write_text('format = 1\nclusters = "0 1"\n')
    asking = Way("conditional", "openmpi", (("FORETOP_MPI_CONDITIONAL", str(settings)),), "all-to-all")
    took, rows = {}, []
    with bench.sites("18ms", None):
        for name, contributions in [
            ("best case", "best"),
            ("worst case", "worst"),
            *((name, name) for name in DATA_SETS),
        ]:
            n_calls = bench.given.iterations
            if name in DATA_SETS:
                contributions = str(bench.folder / name)
                n_calls = made(bench, name, contributions)
            words = [
                "noise-allreduce",
                "--work",
                f"{WORK_MS}ms",
                "--contributions",
                contributions,
                "--calls",
                str(n_calls),
            ]
            for way, test in ((asking, "conditional"), (sequential, "plain")):
                if way is sequential and name in DATA_SETS:
                    continue
                run = bench.run(way, [*words, "--allreduce", test], n_ranks=2)
                took[f"{name}, {way.name}"] = run["miniapp.run"]["call_ns"]
                ns, noise = run["miniapp.run"]["call_ns"], run["miniapp.noise"]
                best = took["best case, conditional"]
                rows.append(
                    [name, way.name, str(n_calls), time_text(ns / 1e9), f"{ns / best:.3f}", str(noise["n_exact"])]
                )
    head = ["contributions", "allreduce", "iterations", "an iteration", "by the best case", "calls with all sites' sum"]
    print_table(f"{WORK_MS} ms of work and an allreduce, 18 ms each way between two sites", head, rows)
    return took


def made(bench: Bench, data: str, file: str) -> int:
    """Let a relaxation write what it brings; return its iterations."""
    program = bench.given.programs / "openmpi" / bench.given.profile / "foretop-miniapp"
    alone = ["mpiexec.openmpi", "--allow-run-as-root", "-n", "1"]
    words = ["contributions", "--data", data, "--iterations", str(bench.given.data), "--file", file]
    subprocess.run([*alone, program, *words], check=True, stdout=subprocess.DEVNULL)
    return len(Path(file).read_text().splitlines()) - 1


if __name__ == "__main__":
    main()
