"""How much a browser has to fetch for the page, and how large the binary is."""

import argparse
import gzip
import subprocess
import tempfile
from pathlib import Path

import brotli
from report import ROOT, machine, print_machine, print_table, save
from running_node import RunningNode

DIST = ROOT / "web/dist"
TO_REACH_BYTES = 250_000


def main() -> None:
    """Measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="the foretop to measure")
    binary = arguments.parse_args().binary
    files = sorted(path for path in DIST.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in files]
    figures = {
        "files": len(files),
        "page_plain_bytes": sum(map(len, contents)),
        "page_gzip_bytes": sum(len(gzip.compress(content, compresslevel=9)) for content in contents),
        "page_brotli_bytes": sum(len(brotli.compress(content)) for content in contents),
        "page_served_bytes": served_bytes(binary, files),
        "binary_bytes": binary.stat().st_size,
        "binary_without_debug_tables_bytes": stripped_bytes(binary),
    }
    to_reach = {"page_served_bytes": f"< {TO_REACH_BYTES:,}"}
    rows = [
        [key.removesuffix("_bytes").replace("_", " "), f"{value:,}", to_reach.get(key, "")]
        for key, value in figures.items()
    ]
    print_table("Page and binary, bytes", ["what", "size", "to reach"], rows)
    print_machine(machine())
    save("payload", figures)


def served_bytes(binary: Path, files: list[Path]) -> int:
    """Return the size of all bodies as a node sends them to a browser that takes compressed ones."""
    total = 0
    with RunningNode(binary) as node:
        for file in files:
            path = "/" + file.relative_to(DIST).as_posix().removesuffix("index.html")
            body = node.fetch(path, {"Accept-Encoding": "gzip, br"})
            if body is None:
                raise SystemExit(f"the node does not serve {path}, which is in web/dist")
            total += len(body)
    return total


def stripped_bytes(binary: Path) -> int:
    """Return the size of the binary without the tables that only a backtrace needs."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "stripped"
        subprocess.run(["strip", "--strip-debug", "-o", stripped, binary], check=True)
        return stripped.stat().st_size


if __name__ == "__main__":
    main()
