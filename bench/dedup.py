"""What sending nothing twice saves on releases of two packages: anchors beside whole chunks and zstd, flushed alike.

The packages come by npm and pip, once, and stay in the target folder; their checksums are saved with the figures. Each
release is unpacked and its members are put one after the other, by name. Speeds are by processor time of one core.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from report import TARGET, machine, print_machine, print_table, save

TYPESCRIPT = ["5.6.2", "5.6.3", "5.7.2", "5.7.3", "5.8.2", "5.8.3", "5.9.2", "5.9.3"]
NUMPY = ["2.2.2", "2.2.3", "2.2.4", "2.2.5", "2.2.6"]
LEVELS = {"as it is set": 5, "slow": 19}
SEGMENTERS = [
    "anchors-8",
    "anchors-7",
    "fastcdc-1024",
    "fastcdc-8192",
    "static-1024",
    "manber-64",
    "lbfs-1024",
    "lbfs-8192",
    "spring-256",
    "fifo-1024",
]
PEERS = ["zstd-27", "zstd-30"]
CORPORA = TARGET / "bench" / "corpora"


def main() -> None:
    """Fetch, measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop`, beside which `foretop-dedup` is")
    given = arguments.parse_args()
    program = given.binary.with_name("foretop-dedup")
    CORPORA.mkdir(parents=True, exist_ok=True)
    packed = {"TypeScript": typescript(), "numpy": numpy()}
    corpora = {name: [unpacked(file) for file in files] for name, files in packed.items()}
    figures = {}
    rows = []
    for name, files in corpora.items():
        for what, level, segmenters in [
            ("as it is set", LEVELS["as it is set"], SEGMENTERS),
            ("slow", LEVELS["slow"], ["anchors-7"]),
            ("zstd -3", 3, PEERS),
        ]:
            for found in estimate(program, files, level, segmenters):
                figures[f"{name}, {found['segmenter']}, {what}"] = found
                rows.append([name, found["segmenter"], str(level), *cells(found)])
    for found in estimate(program, [file for files in packed.values() for file in files], 5, ["anchors-8"]):
        rows.append(["both, packed as they came", found["segmenter"], "5", *cells(found)])
    head = ["data", "by", "level", "ratio", "sent", "index entries", "speed of a core"]
    print_table("Eight releases of TypeScript and five of numpy, flushed every 16 KiB", head, rows)
    figures["two encoders over one"] = gain = two_over_one(program, corpora["TypeScript"])
    title = "Two encoders at once, each with a history of its own, over one, by processor time"
    print_table(title, ["data", "gain"], [["TypeScript", f"{gain:.2f}"]])
    print_machine(machine())
    checksums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for files in packed.values() for file in files
    }
    save("dedup", {"estimates": figures, "sha256": checksums})


def typescript() -> list[Path]:
    """Return the packages of TypeScript, fetched where they are not there."""
    files = [CORPORA / f"typescript-{version}.tgz" for version in TYPESCRIPT]
    for file, version in zip(files, TYPESCRIPT, strict=True):
        if not file.exists():
            subprocess.run(["npm", "pack", "--silent", f"typescript@{version}"], cwd=CORPORA, check=True)
    return files


def numpy() -> list[Path]:
    """Return the wheels of numpy, fetched where they are not there."""
    platform = ["--python-version", "3.11", "--platform", "manylinux2014_x86_64", "--only-binary=:all:", "--no-deps"]
    for version in NUMPY:
        if not list(CORPORA.glob(f"numpy-{version}-cp311-*.whl")):
            fetch = [sys.executable, "-m", "pip", "download", "--quiet", *platform, f"numpy=={version}"]
            subprocess.run(fetch, cwd=CORPORA, check=True)
    return [next(CORPORA.glob(f"numpy-{version}-cp311-*.whl")) for version in NUMPY]


def unpacked(package: Path) -> Path:
    """Return a file with the members of a package, one after the other by name."""
    plain = package.with_name(package.name + ".plain")
    if plain.exists():
        return plain
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            parts = [archive.read(name) for name in sorted(archive.namelist()) if not name.endswith("/")]
    else:
        with tarfile.open(package) as archive:
            members = sorted((member for member in archive if member.isfile()), key=lambda member: member.name)
            parts = [file.read() for member in members if (file := archive.extractfile(member))]
    plain.write_bytes(b"".join(parts))
    return plain


def estimate(binary: Path, files: list[Path], level: int, segmenters: list[str]) -> list[dict]:
    """Return what each segmenter found."""
    chosen = [argument for segmenter in segmenters for argument in ("--segmenter", segmenter)]
    command = [binary, "estimate", "--format", "json", "--level", str(level), *chosen, *files]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def two_over_one(program: Path, files: list[Path]) -> float:
    """Return how many times as much two encoders do as one, by processor time: the median of five pairs of runs.

    The clock would show who else is at work on this machine.
    """
    command = [program, "estimate", "--format", "json", "--segmenter", "anchors-8", *files]

    def seconds(n_encoders: int) -> float:
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(n_encoders)]
        found = [json.loads(process.communicate()[0]) for process in running]
        return max(encoder["cpu_seconds"] for encoder in found)

    return statistics.median(2 * seconds(1) / seconds(2) for _ in range(5))


def cells(found: dict) -> list[str]:
    """Return the cells of a row for what was found."""
    ratio = found["given_bytes"] / found["wire_bytes"]
    speed = found["given_bytes"] / found["cpu_seconds"] / 1e6
    return [f"{ratio:.1f}:1", f"{found['wire_bytes'] / 1e6:.2f} MB", str(found["entries"]), f"{speed:.0f} MB/s"]


if __name__ == "__main__":
    main()
