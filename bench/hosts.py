"""Emulated hosts, for as long as something is measured on them."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hosts_of(binary: Path, file: Path) -> Iterator[None]:
    """Have the hosts of a file of sites, as `foretop wan up` makes them. Needs root."""
    up = subprocess.Popen([binary, "wan", "up", file], stdout=subprocess.PIPE, text=True)
    try:
        assert up.stdout is not None
        if "is up" not in up.stdout.readline():
            raise SystemExit(f"the hosts of {file} did not come up")
        yield
    finally:
        subprocess.run([binary, "wan", "down", file.stem], check=True, stdout=subprocess.DEVNULL)
        up.wait()


def shell_of(name: str) -> str:
    """Return the remote shell that launchers reach the hosts by; `name` is the file's, without its ending."""
    return f"/run/foretop-wan/{name}/shell"
