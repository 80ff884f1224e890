"""How the benches report: Markdown tables for people, a JSON file for programs, and the machine that both came from."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Programs are measured as they are released.
PROGRAMS = TARGET / "dist"

# What this process has printed, for the file that it saves.
_printed: list[dict[str, Any]] = []


def machine() -> dict[str, str]:
    """Say where, when and of what source the figures are."""
    return {
        "cpu": f"{os.cpu_count()} x {_cpu_model()}",
        "kernel": platform.release(),
        "rustc": _first_line("rustc", "--version").removeprefix("rustc "),
        "python": platform.python_version(),
        "source": _first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table under a heading, its columns aligned for the eye."""
    table = {"title": title, "head": list(head), "rows": [list(row) for row in rows]}
    _printed.append(table)
    print(f"\n## {title}\n\n{markdown(table)}", end="")


def markdown(table: dict[str, Any]) -> str:
    """Return a table without its title, a line for each row."""
    lines = [table["head"], *table["rows"]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table["head"]))]
    lines = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return "".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |\n"
        for line in lines
    )


def print_machine(where: dict[str, str]) -> None:
    """Print the machine as the line that stands under a table."""
    print("\n" + machine_line(where))


def machine_line(where: dict[str, str]) -> str:
    """Return the machine, and what else figures depend on, in a line."""
    return ", ".join(f"{key} {value}" for key, value in where.items())


def save(name: str, figures: dict[str, Any]) -> None:
    """Write figures with their machine and the tables printed so far to `target/bench/NAME.json`, units in the keys."""
    path = TARGET / "bench" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "tables": _printed, **figures}, indent=2) + "\n")


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _first_line(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"
