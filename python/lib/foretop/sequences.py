"""Searches of a sequence library by several workers: BLAST+, DIAMOND and SSW.

:func:`search` starts ``foretop sequences`` and waits for it. Workers are started by ``foretop sched worker`` (``docs/howto/schedule.md``); the
search is theirs, cut so that all end at one time, and put together as one run of the tool has it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from threading import Thread
from typing import IO

import numpy as np

from foretop._errors import InputError, SearchError
from foretop._tables import Table

__all__ = ["Hits", "Progress", "SearchError", "search"]

_PROGRAM = "foretop-sched"
# How programs of this house end where what they were told makes no sense.
_USAGE = 2

# Lines of the program's that are told when it fails, and kept at all.
_N_LAST = 20
_N_LINES_MAX = 10_000

_STD = (
    "qseqid",
    "sseqid",
    "pident",
    "length",
    "mismatch",
    "gapopen",
    "qstart",
    "qend",
    "sstart",
    "send",
    "evalue",
    "bitscore",
)
_STD_BLAST = ("qaccver", "saccver", *_STD[2:])
_WHOLE = {
    "length",
    "mismatch",
    "gapopen",
    "gaps",
    "qstart",
    "qend",
    "sstart",
    "send",
    "score",
    "qlen",
    "slen",
    "nident",
    "positive",
}
_REAL = {"pident", "ppos", "evalue", "bitscore", "qcovs", "qcovhsp", "scovhsp", "approx_pident", "corrected_bitscore"}


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Attributes
    ----------
    n_done, n_units : int
        Units that are done, of so many.
    line : str
        What the program has just said.
    """

    n_done: int
    n_units: int
    line: str


@dataclass(frozen=True)
class Hits:
    """What a search found.

    Attributes
    ----------
    path : pathlib.Path
        The file with the output, which is that of one run of the tool.
    columns : tuple of str
        What stands in a line; empty where an output is no table (SSW).
    cautions : tuple of str
        Where one run may differ, and why; empty where it does not.
    messages : tuple of str
        Everything that the program said, such as who did what and whether the forecast held.
    delimiter : str
        What stands between columns.
    """

    path: Path
    columns: tuple[str, ...]
    cautions: tuple[str, ...]
    messages: tuple[str, ...] = field(repr=False)
    delimiter: str = field(default="\t", repr=False)

    @property
    def text(self) -> str:
        """The output as it stands."""
        return self.path.read_text()

    def table(self) -> Table:
        """Give a table with an array for each column: whole numbers, real ones, and text as objects. ``to_frame()`` gives it to pandas.

        Raises
        ------
        SearchError
            Where the output is no table, or a line has other columns (``NoTable``).
        """
        if not self.columns:
            message = f"`{self.path}` has no columns: read its `text`"
            raise SearchError(message, kind="NoTable", status=0)
        columns: list[list[str]] = [[] for _ in self.columns]
        with self.path.open() as file:
            for number, line in enumerate(file, 1):
                values = line.rstrip("\n").split(self.delimiter)
                if len(values) != len(columns):
                    message = f"`{self.path}`, line {number}: {len(values)} columns instead of {len(columns)}"
                    raise SearchError(message, kind="NoTable", status=0)
                for column, value in zip(columns, values, strict=True):
                    column.append(value)
        return Table({name: _array(name, column) for name, column in zip(self.columns, columns, strict=True)})


def search(
    words: Sequence[str | PathLike[str]],
    workers: Sequence[str],
    *,
    run: str | PathLike[str],
    policy: str = "CORRECTED",
    parts: int | None = None,
    library_parts: int | None = None,
    cost: str | None = None,
    token_file: str | PathLike[str] | None = None,
    tls_authorities: str | PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    program: str | PathLike[str] | None = None,
) -> Hits:
    """Search a sequence library.

    What is done is kept in the run's folder. The same call takes an interrupted search up again, and gives the hits of a finished one.

    Parameters
    ----------
    words : sequence of str or path
        The search as one would run it: ``["blastp", "-query", "q.fa", "-db", "lib", "-outfmt", "6"]``.
    workers : sequence of str
        Where workers listen, as ``"HOST:PORT"``.
    run : path
        The run's folder; the output is its file ``hits``.
    policy : str, optional
        Who decides, such as ``"EQUAL"`` or ``"PREDICTED(q=0.8,tail=0.2)"``.
    parts, library_parts : int, optional
        Into how many parts the queries and the library are cut.
    cost : str, optional
        The processor time of the whole search as far as is known, such as ``"5m"``.
    token_file, tls_authorities : path, optional
        What workers beyond this machine want to be shown, and the certificates to trust in them.
    progress : callable, optional
        What to call with a :class:`Progress` each time that the program says something.
    program : path, optional
        ``foretop-sched``; the one in ``PATH`` unless given.

    Returns
    -------
    Hits
        Of all queries.

    Raises
    ------
    InputError
        Without workers (``NoWorkers``).
    SearchError
        If there is no program (``NoProgram``), it refuses what it is told (``Usage``), or the search fails (``Failed``), with what it said.

    Examples
    --------
    >>> from foretop import sequences
    >>> words = ["blastp", "-query", "q.fa", "-db", "lib", "-outfmt", "6"]
    >>> hits = sequences.search(words, ["127.0.0.1:7400"], run="tonight")  # doctest: +SKIP
    >>> hits.table().to_frame().sort_values("evalue")  # doctest: +SKIP
    """
    if isinstance(workers, str) or not workers:
        raise InputError("workers is a list of at least one HOST:PORT", kind="NoWorkers", given=workers)
    found = shutil.which(fspath(program or _PROGRAM))
    if found is None:
        message = f"there is no program `{fspath(program or _PROGRAM)}`: `make build` builds it; put it into PATH or name it by `program`"
        raise SearchError(message, kind="NoProgram", status=0)
    folder = Path(run)
    out = folder / "hits"
    said = [fspath(word) for word in words]
    options = {
        "--run": folder,
        "--out": out,
        "--policy": policy,
        "--parts": parts,
        "--library-parts": library_parts,
        "--cost": cost,
        "--token-file": token_file,
        "--tls-authorities": tls_authorities,
    }
    command = [found, "sequences"]
    command += [word for worker in workers for word in ("--worker", worker)]
    command += [word for name, value in options.items() if value is not None for word in (name, str(value))]
    messages = _run([*command, "--", *said], folder, progress)
    cautions = tuple(line.removeprefix("caution: ") for line in messages if line.startswith("caution: "))
    columns, delimiter = _columns(said)
    return Hits(out, columns, cautions, tuple(messages), delimiter)


def _run(command: list[str], folder: Path, progress: Callable[[Progress], object] | None) -> list[str]:
    """Run the program to its end, and return what it said."""
    messages: list[str] = []
    journal = _Journal(folder)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    assert process.stderr is not None  # It was asked for.
    try:
        for line in process.stderr:
            if len(messages) < _N_LINES_MAX or line.startswith("caution: "):
                messages.append(line.rstrip("\n"))
            if progress is not None:
                progress(journal.look(line.rstrip("\n")))
        status = process.wait()
    except BaseException:
        # As on Ctrl-C in a terminal: what is done is kept.
        process.terminate()
        drained = Thread(target=_drain, args=(process.stderr,))
        drained.start()
        process.wait()
        drained.join()
        raise
    finally:
        process.stderr.close()
    if status != 0:
        kind = "Usage" if status == _USAGE else "Failed"
        told = "\n".join(messages[-_N_LAST:]) or f"it ended with status {status} and said nothing"
        raise SearchError(told, kind=kind, status=status)
    return messages


def _drain(stream: IO[str]) -> None:
    while stream.read(1 << 16):
        pass


class _Journal:
    """Counts what is done, from the run's journal (``docs/formats/job-worker.md``)."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "run.jsonl"
        self._offset = 0
        self._done: set[int] = set()
        self._n_units = 0

    def look(self, line: str) -> Progress:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
        except FileNotFoundError:
            fresh = b""
        # A line that is being written has no end yet.
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        for entry in whole.splitlines():
            told = json.loads(entry)
            if told["is"] == "run":
                self._n_units = told["n_units"]
            elif told["is"] == "done":
                self._done.add(told["unit"])
        return Progress(len(self._done), self._n_units, line)


def _columns(words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return what stands in a line, and what is between; nothing for a tool whose output is no table."""
    if words[0] == "ssw-align":
        return (), ""
    is_diamond = words[0] == "diamond"
    std = _STD if is_diamond else _STD_BLAST
    at = next((at for at, word in enumerate(words) if word in ("-outfmt", "--outfmt", "-f")), None)
    if at is None:
        return std, "\t"
    if is_diamond:
        behind = words[at + 1 :]
        end = next((end for end, word in enumerate(behind) if word.startswith("-")), len(behind))
        return tuple(behind[1:end]) or std, "\t"
    format_, *wanted = words[at + 1].split()
    delimiter = next((word.removeprefix("delim=") for word in wanted if word.startswith("delim=")), None)
    named = [name for word in wanted if "=" not in word for name in (std if word == "std" else (word,))]
    # BLAST prints a column once, however often it is asked for.
    return tuple(dict.fromkeys(named)) or std, delimiter or ("," if format_ == "10" else "\t")


def _array(name: str, values: list[str]) -> np.ndarray:
    if name in _WHOLE:
        return np.array(values, dtype=np.int64)
    if name in _REAL:
        return np.array(values, dtype=float)
    return np.array(values, dtype=object)
