"""Traces of MPI programs against the worked example of their format."""

import os
import runpy
import struct
import sys
import time
from pathlib import Path

import foretop
import numpy as np
import pytest
from foretop import mpi_trace

PAGE = Path(__file__).parents[2] / "docs/formats/mpi-trace.md"


def example() -> bytes:
    """Return the file that the page shows: hexadecimal numbers, but for what it shows as text."""
    lines = PAGE.read_text().split("## Example")[1].split("```")[1].strip().splitlines()
    pieces = []
    for line in lines:
        numbers, _, meaning = line.partition("   ")
        text = meaning.strip()
        pieces.append(text.encode() if text.startswith("{") else bytes.fromhex(numbers))
    return pieces[0] + b"\n" + b"".join(pieces[1:])


def test_the_example_of_the_format_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.0.ftrace").write_bytes(example())
    trace = mpi_trace.read(tmp_path)
    assert trace.ranks["host"].tolist() == ["a"]
    assert trace.calls["call"].tolist() == ["MPI_Send", "MPI_Send"]
    assert trace.calls["start_ns"].tolist() == [2000, 2400]
    assert (trace.calls["end_ns"] - trace.calls["start_ns"]).tolist() == [300, 300]
    assert trace.calls["peer"].tolist() == [1, 1]
    assert trace.calls["tag"].tolist() == [5, 5]
    assert trace.calls.to_frame().size_bytes.sum() == 16
    assert trace.error_ns == 0
    assert len(trace.stages["rank"]) == 0
    assert np.all(trace.ranks["is_whole"])


def test_a_cut_file_is_read_up_to_the_cut(tmp_path: Path) -> None:
    cut = tmp_path / "a.0.ftrace"
    cut.write_bytes(example()[:-1])
    trace = mpi_trace.read(cut)
    assert len(trace.calls["rank"]) == 0
    assert not trace.ranks["is_whole"][0]


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(foretop.mpi_trace.MpiTraceError, match="neither trace files"):
        mpi_trace.read(tmp_path)
    other = tmp_path / "calls.csv"
    other.write_text("rank,start_ns\n")
    with pytest.raises(mpi_trace.MpiTraceError, match="is no trace file: it does not begin with the head") as refused:
        mpi_trace.read(other)
    assert refused.value.path == other


class Ring:
    """A rank's ring as ``docs/formats/mpi-ring.md`` has it, of a process that runs: this one."""

    CAPACITY = 64

    def __init__(self, job: Path, rank: int) -> None:
        self.path, self.n_written = job / f"calls-{rank}-0.ring", 0
        started = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        words = [0] * (64 + 3 * self.CAPACITY)
        words[:6] = int.from_bytes(b"FTRING1\n", "little"), 0, self.CAPACITY, rank | 2 << 32, os.getpid(), started
        words[40] = 2
        self.path.write_bytes(struct.pack(f"<{len(words)}Q", *words))

    def allreduce(self, start: int, end: int) -> None:
        """Write a call of 8 bytes."""
        code = foretop._native.MpiFollower.operations().index("MPI_Allreduce")
        with self.path.open("r+b") as file:
            file.seek(8 * (64 + 3 * (self.n_written % self.CAPACITY)))
            file.write(struct.pack("<3Q", start, end - start | 8 << 32, code << 48))
            self.n_written += 1
            file.seek(8 * 32)
            file.write(struct.pack("<Q", self.n_written))


def job_of_two(tmp_path: Path) -> tuple[Path, list[Ring]]:
    job = tmp_path / "job"
    job.mkdir(mode=0o700)
    return job, [Ring(job, rank) for rank in range(2)]


def test_a_running_job_is_followed(tmp_path: Path) -> None:
    job, rings = job_of_two(tmp_path)
    follower = mpi_trace.follow(job)
    assert follower.is_alive
    assert len(follower.pull().calls["rank"]) == 0
    rings[1].allreduce(100, 300)
    pulled = follower.pull()
    assert pulled.calls["rank"].tolist() == [1]
    assert pulled.calls["call"].tolist() == ["MPI_Allreduce"]
    assert (pulled.calls["end_ns"] - pulled.calls["start_ns"]).tolist() == [200]
    assert pulled.n_lost == 0
    for number in range(100):
        rings[0].allreduce(number, number + 1)
    # The place of the oldest is the next to be written, so that it counts as lost.
    pulled = follower.pull()
    assert (len(pulled.calls["rank"]), pulled.n_lost) == (Ring.CAPACITY - 1, 100 - Ring.CAPACITY + 1)
    with pytest.raises(mpi_trace.MpiTraceError, match="no-such-job"):
        mpi_trace.follow("no-such-job")


def test_the_example_names_the_late_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job, rings = job_of_two(tmp_path)
    for number in range(8):
        rings[0].allreduce(1000 * number + 10, 1000 * number + 500)
        rings[1].allreduce(1000 * number + (400 if number else 0), 1000 * number + 500)

    def end(_: float) -> None:
        # As when the program ends: its process is another from here on.
        for ring in rings:
            with ring.path.open("r+b") as file:
                file.seek(8 * 5)
                file.write(struct.pack("<Q", 1))

    monkeypatch.setattr(time, "sleep", end)
    monkeypatch.setattr(sys, "argv", ["who_is_late.py", str(job)])
    runpy.run_path(str(Path(__file__).parents[1] / "examples/who_is_late.py"))
    assert capsys.readouterr().out == "last to arrive: {1: 7, 0: 1}\n"
