"""What sending nothing twice saves on releases of two packages: anchors beside whole chunks and zstd, flushed alike.

The packages come by npm and pip, once, and stay in the target folder; their checksums are saved with the figures. Each
release is unpacked and its members are put one after the other, by name. Speeds are by processor time of one core.

Peers that send one release after the other, and what a tunnel does on the loopback, stand in tables of their own: the
bytes that a link would carry, and processor time of all processes of the peer.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from report import TARGET, machine, print_machine, print_table, save

TYPESCRIPT = ["5.6.2", "5.6.3", "5.7.2", "5.7.3", "5.8.2", "5.8.3", "5.9.2", "5.9.3"]
NUMPY = ["2.2.2", "2.2.3", "2.2.4", "2.2.5", "2.2.6"]
LEVELS = {"as it is set": "paced", "fast": "1", "slow": "19"}
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
PEERS = ["none", "zstd-27", "zstd-30"]
# Bytes that nothing is found in, and how often a small answer is fetched.
N_NOISE = 200_000_000
N_FIRST_BYTES = 300
# Noise through two ends over a limited link, by the usual level and by none: how often both, and over what link.
N_BYPASSED = 5
LINK_MODEL = "latency=0ms,bandwidth=1Gbit/s"
# How much data a store would have whose index is grown and opened; a terabyte takes a quarter of an hour.
TERABYTES = 0.1
CORPORA = TARGET / "bench" / "corpora"

# From the port of an end to the one that leads there.
Link = Callable[[int], AbstractContextManager[int]]


def main() -> None:
    """Fetch, measure, print, save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, required=True, help="`foretop`, beside which `foretop-dedup` is")
    given = arguments.parse_args()
    program = given.binary.with_name("foretop-dedup")
    CORPORA.mkdir(parents=True, exist_ok=True)
    packed = {"TypeScript": typescript(), "numpy": numpy()}
    corpora = {name: [unpacked(file) for file in files] for name, files in packed.items()}
    figures: dict[str, Any] = {}
    rows = []
    for name, files in corpora.items():
        for what, level, segmenters in [
            ("as it is set", LEVELS["as it is set"], SEGMENTERS),
            ("fast", LEVELS["fast"], ["anchors-8"]),
            ("slow", LEVELS["slow"], ["anchors-7"]),
            ("zstd -3", "3", PEERS),
        ]:
            for found in estimate(program, files, level, segmenters):
                figures[f"{name}, {found['segmenter']}, {what}"] = found
                rows.append([name, found["segmenter"], level, *cells(found)])
    for found in estimate(program, [file for files in packed.values() for file in files], "paced", ["anchors-8"]):
        rows.append(["both, packed as they came", found["segmenter"], "paced", *cells(found)])
    head = ["data", "by", "level", "ratio", "sent", "index entries", "speed of a core"]
    print_table("Eight releases of TypeScript and five of numpy, flushed every 16 KiB", head, rows)
    others = []
    for name, files in corpora.items():
        for peer, (n_sent, cpu_seconds) in peers(files).items():
            n_given = sum(file.stat().st_size for file in files)
            figures[f"{name}, {peer}"] = {"given_bytes": n_given, "wire_bytes": n_sent, "cpu_seconds": cpu_seconds}
            speed = n_given / cpu_seconds / 1e6
            others.append([name, peer, f"{n_given / n_sent:.1f}:1", f"{n_sent / 1e6:.2f} MB", f"{speed:.0f} MB/s"])
    print_table("One release after the other, by others", ["data", "by", "ratio", "sent", "speed"], others)
    figures["noise"] = noise(program)
    figures["tunnel"] = through_a_tunnel(program.with_name("foretop-tunnel"), corpora["TypeScript"][-1])
    figures["over a gigabit"] = over_a_gigabit(given.binary, program.with_name("foretop-tunnel"))
    figures["store"] = a_great_store(program.with_name("examples") / "terabyte")
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


def estimate(binary: Path, files: list[Path], level: str, segmenters: list[str]) -> list[dict]:
    """Return what each segmenter found."""
    chosen = [argument for segmenter in segmenters for argument in ("--segmenter", segmenter)]
    command = [str(binary), "estimate", "--format", "json", "--level", level, *chosen, *map(str, files)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def peers(files: list[Path]) -> dict[str, tuple[int, float]]:
    """Return what others would send of files one after the other, and the processor time of that."""
    found = {}
    with tempfile.TemporaryDirectory(dir=CORPORA) as folder:
        here = Path(folder)
        names = [here / f"{number:02}.plain" for number in range(len(files))]
        for file, name in zip(files, names, strict=True):
            name.symlink_to(file)

        def patch() -> int:
            n_sent = 0
            for before, name in zip([None, *names], names, strict=False):
                known = [f"--patch-from={before.resolve()}"] if before else []
                # Its window is what it needs to see all of the release before.
                out = here / "patch.zst"
                command = ["zstd", "-3", "--long=30", "-q", "-f", *known, str(name.resolve()), "-o", str(out)]
                subprocess.run(command, check=True)
                n_sent += out.stat().st_size
            return n_sent

        def rsync() -> int:
            n_sent, there = 0, here / "there.plain"
            for name in names:
                options = ["--no-whole-file", "--compress", "--inplace", "--ignore-times", "--stats", "--copy-links"]
                told = subprocess.run(
                    ["rsync", *options, str(name), str(there)], check=True, capture_output=True, text=True
                ).stdout
                n_sent += number_in(told, r"Total bytes sent: ([\d,]+)")
                n_sent += number_in(told, r"Total bytes received: ([\d,]+)")
            return n_sent

        def borg() -> int:
            repository = here / "borg"
            surroundings = {**os.environ, "BORG_BASE_DIR": folder, "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"}

            def run(*command: str) -> None:
                subprocess.run(["borg", *command], check=True, env=surroundings, cwd=here, capture_output=True)

            run("init", "--encryption=none", str(repository))
            for name in names:
                # Each under the same name, as a backup of one file that changes.
                shutil.copyfile(name, here / "file")
                run("create", "--compression", "zstd,3", f"{repository}::{name.stem}", "file")
            return sum(file.stat().st_size for file in (repository / "data").rglob("*") if file.is_file())

        for peer, send in {"zstd -3 --patch-from": patch, "rsync -z": rsync, "borg, zstd 3": borg}.items():
            before = children_cpu_seconds()
            n_sent = send()
            found[peer] = (n_sent, children_cpu_seconds() - before)
    return found


def number_in(text: str, pattern: str) -> int:
    """Return the number that a program told."""
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"no {pattern} in {text}")
    return int(match[1].replace(",", ""))


def children_cpu_seconds() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def file_of_noise() -> Path:
    """Return a file in which nothing is found."""
    file = CORPORA / "noise"
    if not file.exists() or file.stat().st_size != N_NOISE:
        file.write_bytes(random.Random(1).randbytes(N_NOISE))
    return file


def noise(program: Path) -> dict[str, float]:
    """Return what noise costs beside its bytes, and over leaving it as it is."""
    file = file_of_noise()
    [searched] = estimate(program, [file], "paced", ["anchors-8"])
    [again] = estimate(program, [file, file], "paced", ["anchors-8"])
    expansion = searched["wire_bytes"] / searched["given_bytes"] - 1
    second = (again["wire_bytes"] - searched["wire_bytes"]) / N_NOISE
    speed = searched["given_bytes"] / searched["cpu_seconds"]
    # At 1 Gbit/s there are 8 ns for a byte, and what an encoder does beyond that delays it.
    over = max(0.0, 125e6 / speed - 1)
    print_table(
        "Noise: 200 MB, and the same again",
        ["expansion", "of it the second time", "speed of a core", "behind a link of 1 Gbit/s"],
        [[f"{100 * expansion:.3f} %", f"{100 * second:.3f} %", f"{speed / 1e6:.0f} MB/s", f"{100 * over:.1f} %"]],
    )
    return {"expansion": expansion, "second": second, "bytes_per_cpu_second": speed, "behind_1_gbit": over}


def through_a_tunnel(program: Path, file: Path) -> dict[str, float]:
    """Return what the same file takes after a restart of both ends, and how much later a first byte comes."""
    data = file.read_bytes()
    with tempfile.TemporaryDirectory(dir=CORPORA) as folder, server(data) as port:
        here = Path(folder)
        ratios, later = [], []
        for _ in range(2):
            with tunnel(program, here, port) as (near, far):
                if fetch(near, len(data)) != data:
                    sys.exit("the tunnel gave other bytes")
                status = [str(program), "status", "--config", str(here / "far.toml"), "--format", "json"]
                told = json.loads(subprocess.run(status, check=True, capture_output=True).stdout)
                ratios.append(len(data) / told["counts"]["wire_out_bytes_total"])
                direct, tunnelled = ([first_byte(at) for _ in range(N_FIRST_BYTES)] for at in (port, near))
                later.append(statistics.median(tunnelled) - statistics.median(direct))
                del far
    print_table(
        f"A tunnel on the loopback: {file.name} of {len(data) / 1e6:.0f} MB, all bytes of the link counted",
        ["first", "after a restart of both ends", "a first byte comes later by"],
        [[f"{ratios[0]:.1f}:1", f"{ratios[1]:.0f}:1", f"{1e3 * min(later):.2f} ms"]],
    )
    return {"first_ratio": ratios[0], "restart_ratio": ratios[1], "first_byte_later_seconds": min(later)}


def over_a_gigabit(foretop: Path, program: Path) -> dict[str, float]:
    """Return how long noise takes over a link of 1 Gbit/s: by itself, left as it is, and searched and packed."""
    data = file_of_noise().read_bytes()
    spans: dict[str, list[float]] = {"link": [], "bypass": [], "paced": []}
    with server(data) as port:
        for _ in range(N_BYPASSED):
            with relay(foretop, port) as at:
                spans["link"].append(seconds_to_fetch(at, data))
            for level in ("bypass", "paced"):
                # Stores that know nothing yet.
                with (
                    tempfile.TemporaryDirectory(dir=CORPORA) as folder,
                    tunnel(program, Path(folder), port, level, partial(relay, foretop)) as (near, _),
                ):
                    spans[level].append(seconds_to_fetch(near, data))
    over = statistics.median(paced / bypass - 1 for paced, bypass in zip(spans["paced"], spans["bypass"], strict=True))
    rates = {level: N_NOISE / statistics.median(found) for level, found in spans.items()}
    print_table(
        f"Noise of {N_NOISE / 1e6:.0f} MB through both ends of a tunnel over a link of 1 Gbit/s, wall time",
        ["the link by itself", "level bypass", "level paced", "paced takes longer by"],
        [[*(f"{rate / 1e6:.1f} MB/s" for rate in rates.values()), f"{100 * over:+.1f} %"]],
    )
    return {**{f"{level}_bytes_per_second": rate for level, rate in rates.items()}, "over_bypass": over}


def seconds_to_fetch(port: int, data: bytes) -> float:
    """Return how long some bytes take from a server, which are checked."""
    before = time.perf_counter()
    got = fetch(port, len(data))
    seconds = time.perf_counter() - before
    if got != data:
        sys.exit(f"other bytes came from port {port}")
    return seconds


@contextmanager
def relay(foretop: Path, port: int) -> Iterator[int]:
    """Run a link of 1 Gbit/s that leads to a port."""
    command = [str(foretop), "wan", "relay", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, "--model", LINK_MODEL], stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            sys.exit("nothing can be read from the relay")
        yield number_in(process.stdout.readline(), r"127\.0\.0\.1:(\d+)")
    finally:
        process.terminate()
        process.wait()


@contextmanager
def server(data: bytes) -> Iterator[int]:
    """Serve as much of some bytes as a client asks for, at a port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(client: socket.socket) -> None:
        with client:
            asked = int.from_bytes(client.recv(8), "little")
            client.sendall(data[:asked])

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


@contextmanager
def tunnel(
    program: Path, here: Path, port: int, level: str = "paced", link: Link = nullcontext
) -> Iterator[tuple[int, int]]:
    """Run both ends of a tunnel that leads to a port, over a link, with stores that outlive them."""
    (here / "token").write_text("a-token-for-both-of-them")
    (here / "token").chmod(0o600)
    running: list[subprocess.Popen[str]] = []

    def start(end: str, lines: str) -> int:
        config = here / f"{end}.toml"
        common = f'format = 1\n[transfer]\nlevel = "{level}"\n[security]\ntoken = "token"\n[store]\nfolder = "{end}"\n'
        config.write_text(f"{common}[{end}]\n{lines}")
        command = [str(program), end, "--config", str(config)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FORETOP_LOG": "error"}
        )
        running.append(process)
        if process.stdout is None:
            sys.exit("nothing can be read from the tunnel")
        return int(process.stdout.readline().rpartition(":")[2])

    try:
        far = start("far", f'listen = "127.0.0.1:0"\nallow = ["127.0.0.1:{port}"]\n')
        forward = f'[[near.forward]]\nlisten = "127.0.0.1:0"\ntarget = "127.0.0.1:{port}"\n'
        with link(far) as over:
            near = start("near", f'connect = "127.0.0.1:{over}"\n{forward}')
            yield near, far
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def fetch(port: int, n_bytes: int) -> bytes:
    """Return so many bytes from a server."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(n_bytes.to_bytes(8, "little"))
        with client.makefile("rb") as stream:
            return stream.read()


def first_byte(port: int) -> float:
    """Return how many seconds pass from a connection to the first byte of an answer."""
    before = time.perf_counter()
    fetch(port, 1)
    return time.perf_counter() - before


def a_great_store(program: Path) -> list[str]:
    """Return what the index of a terabyte takes, and how long it takes to open."""
    with tempfile.TemporaryDirectory(dir=CORPORA) as folder:
        command = [str(program), str(Path(folder) / "store"), str(TERABYTES)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    title = f"The index of a store of {TERABYTES:g} TB: as many anchors and containers, no data"
    print_table(title, ["what", "took"], [line.split(": ", 1) for line in told if ": " in line])
    return told


def two_over_one(program: Path, files: list[Path]) -> float:
    """Return how many times as much two encoders do as one, by processor time: the median of five pairs of runs.

    The clock would show who else is at work on this machine.
    """
    command = [str(program), "estimate", "--format", "json", "--segmenter", "anchors-8", *map(str, files)]

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
