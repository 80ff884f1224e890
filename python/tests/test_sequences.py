"""Searches by `foretop sequences`, through a program in its place that says what it says."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from foretop import InputError, sequences
from foretop.sequences import Progress, SearchError

BLAST = ["blastp", "-query", "q.fa", "-db", "lib", "-outfmt", "6"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Write its arguments into a file, then do what a test has put beside it."""
    path = tmp_path / "foretop-sched"
    script = f'printf "%s\\n" "$@" > {shlex.quote(str(tmp_path))}/words\n. {shlex.quote(str(tmp_path))}/script\n'
    path.write_text(f"#!/bin/sh\nrun={shlex.quote(str(tmp_path))}/run\nmkdir -p $run\n{script}")
    path.chmod(0o755)
    return path


def says(program: Path, script: str) -> Path:
    program.with_name("script").write_text(script)
    return program.with_name("run")


def test_hits_are_a_table(program: Path) -> None:
    line = r"q1\ts1\t98.5\t120\t2\t0\t1\t120\t1\t120\t1e-30\t223\n"
    run = says(program, f"echo 'caution: not quite' >&2; echo 'all done' >&2; printf '{line}{line}' > $run/hits")
    hits = sequences.search(BLAST, ["a:1", "b:2"], run=run, program=program, library_parts=3, policy="EQUAL")
    assert (hits.cautions, hits.messages[1]) == (("not quite",), "all done")
    table = hits.table()
    assert (list(table)[0], len(table)) == ("qaccver", 12)
    assert table["evalue"].tolist() == [1e-30, 1e-30]
    assert (table["length"].dtype, table["saccver"].tolist()) == (np.dtype(np.int64), ["s1", "s1"])
    words = program.with_name("words").read_text().split("\n")
    assert words[:5] == ["sequences", "--worker", "a:1", "--worker", "b:2"]
    assert words[words.index("--library-parts") + 1] == "3"
    assert words[words.index("--") + 1 : -1] == BLAST


@pytest.mark.parametrize(
    ("words", "columns", "text"),
    [
        (["diamond", "blastp", "-q", "q", "-f", "6", "sseqid", "score", "-d", "l"], ("sseqid", "score"), "s\t7\n"),
        (["blastn", "-outfmt", "10 score sseqid score", "-db", "l"], ("score", "sseqid"), "7,s\n"),
        (["blastp", "-outfmt", "6 delim=@ sseqid score"], ("sseqid", "score"), "s@7\n"),
    ],
)
def test_columns_are_those_of_the_search(program: Path, words: list[str], columns: tuple[str, ...], text: str) -> None:
    run = says(program, f"printf {shlex.quote(text)} > $run/hits")
    hits = sequences.search(words, ["a:1"], run=run, program=program)
    assert hits.columns == columns
    table = hits.table()
    assert (table["score"].tolist(), table["sseqid"].tolist()) == ([7], ["s"])


def test_what_is_no_table_is_text(program: Path) -> None:
    run = says(program, "echo target_name: x > $run/hits")
    hits = sequences.search(["ssw-align", "-p", "l.fa", "q.fa"], ["a:1"], run=run, program=program)
    assert hits.text == "target_name: x\n"
    with pytest.raises(SearchError, match="has no columns"):
        hits.table()
    hits = sequences.search(BLAST, ["a:1"], run=run, program=program)
    with pytest.raises(SearchError, match="line 1: 1 columns instead of 12"):
        hits.table()


def test_progress_is_counted_from_the_journal(program: Path) -> None:
    begun = '{"is":"run","n_units":2}'
    done = [f'{{"is":"done","unit":{unit}}}' for unit in (1, 1, 0)]
    # The last line has no end yet.
    steps = [f"echo '{begun}' >> $run/run.jsonl", *(f"echo '{line}' >> $run/run.jsonl" for line in done[:2])]
    script = "".join(f"{step}; echo told >&2\n" for step in [*steps, f"printf '{done[2]}' >> $run/run.jsonl"])
    seen: list[Progress] = []
    sequences.search(BLAST, ["a:1"], run=says(program, script + ": > $run/hits"), program=program, progress=seen.append)
    assert (seen[-1], len(seen)) == (Progress(1, 2, "told"), 4)
    assert all(one.n_done <= 1 for one in seen)


def test_failures_say_what_the_program_said(program: Path) -> None:
    run = says(program, "echo 'no worker is left' >&2; exit 1")
    with pytest.raises(SearchError, match="no worker is left") as caught:
        sequences.search(BLAST, ["a:1"], run=run, program=program)
    assert (caught.value.kind, caught.value.status) == ("Failed", 1)
    says(program, "exit 2")
    with pytest.raises(SearchError, match="status 2 and said nothing") as caught:
        sequences.search(BLAST, ["a:1"], run=run, program=program)
    assert caught.value.kind == "Usage"
    with pytest.raises(SearchError, match="there is no program") as caught:
        sequences.search(BLAST, ["a:1"], run=run, program=run / "none")
    assert caught.value.kind == "NoProgram"
    with pytest.raises(InputError, match="at least one"):
        sequences.search(BLAST, "a:1", run=run, program=program)


def test_a_search_that_nobody_waits_for_ends(program: Path) -> None:
    # It goes on for ever, and says when it is told to end.
    run = says(program, "trap 'echo ended > $run/ended; exit 1' TERM; echo begun >&2; while :; do sleep 0.01; done")

    def give_up(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sequences.search(BLAST, ["a:1"], run=run, program=program, progress=give_up)
    assert (run / "ended").read_text() == "ended\n"
