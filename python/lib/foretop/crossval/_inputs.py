"""Templates and traces as people have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from foretop import _native
from foretop._errors import InputError
from foretop._frames import is_long
from foretop._frames import traces as long_traces
from foretop._samples import Row, by_column, is_pandas, row

if TYPE_CHECKING:
    import pandas as pd

    from foretop._samples import Samples

    Traces: TypeAlias = (
        Mapping[str, Samples] | pd.Series[Any] | pd.DataFrame | str | PathLike[str] | Iterable[str | PathLike[str]]
    )

Template: TypeAlias = str | PathLike[str] | Mapping[str, Any]


def template_text(template: Template) -> str:
    """Return the text of a template that is in a file, or in a dictionary."""
    if not isinstance(template, Mapping):
        return Path(template).read_text(encoding="utf-8")
    # Strings, numbers and lists are written alike in JSON and TOML; tables come after all else.
    tables = {key: value for key, value in template.items() if isinstance(value, Mapping)}
    lines = [_line(key, value) for key, value in template.items() if key not in tables]
    for name, table in tables.items():
        lines += [f"\n[{json.dumps(name)}]", *(_line(key, value) for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    try:
        return f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
    except (TypeError, ValueError) as error:
        message = f"`{key}` of the template is {value!r:.60}; it must be text, a number or a list of these"
        raise InputError(message, kind="Template", given=key) from error


def trace_rows(traces: Traces, column: str | None) -> list[tuple[str, Row]]:
    """Return traces by name: columns, entries of a mapping, or what is in files and folders."""
    if isinstance(traces, (str, PathLike)):
        return _native.read_traces(fspath(traces), column)
    traces = by_column(traces)
    if isinstance(traces, Mapping):
        return [(str(name), row(samples)) for name, samples in traces.items()]
    if is_pandas(traces, "Series"):
        named = cast("pd.Series[Any]", traces)
        return [("y" if named.name is None else str(named.name), row(named))]
    if isinstance(traces, np.ndarray):
        message = f"the traces are an array of the shape {traces.shape}; give each a name, as in {{'load': y}}"
        raise InputError(message, kind="Traces", given=traces.shape)
    if is_long(traces):
        return long_traces(cast("pd.DataFrame", traces))
    if is_pandas(traces, "DataFrame"):
        return [(str(name), row(samples)) for name, samples in cast("pd.DataFrame", traces).items()]
    return [
        trace
        for path in cast("Iterable[str | PathLike[str]]", traces)
        for trace in _native.read_traces(fspath(path), column)
    ]
