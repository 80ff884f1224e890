"""Traces of MPI programs against the worked example of their format."""

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
    with pytest.raises(foretop.Error, match="is no trace file: it does not begin with the head") as refused:
        mpi_trace.read(other)
    assert refused.value.path == other
