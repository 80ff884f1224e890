"""The examples of the how-to hold, from the first to the last."""

import doctest
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/python.md"
OPTIONAL = ("statsforecast", "sktime")


def examples() -> list[tuple[str | None, str]]:
    """Return the text of each example, and the library that it needs and that may not be there."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return [(next((name for name in OPTIONAL if f"foretop.{name}" in block), None), block) for block in blocks]


def run(blocks: list[str]) -> doctest.TestResults:
    names: dict[str, Any] = {}
    test = doctest.DocTestParser().get_doctest("".join(blocks), names, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return runner.run(test)


@pytest.mark.parametrize("library", [None, *OPTIONAL])
def test_the_examples_hold(library: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if library is not None and find_spec(library) is None:
        pytest.skip(f"{library} is not in this environment; make test PART=peers has it")
    mpl.use("agg")
    monkeypatch.chdir(ROOT)
    # A page starts at its top: examples of a library go on from all that need none.
    outcome = run([block for needed, block in examples() if needed in (None, library)])
    plt.close("all")
    assert outcome.failed == 0
    assert outcome.attempted > 40


def test_each_library_has_an_example() -> None:
    assert [needed for needed, _ in examples() if needed is not None] == list(OPTIONAL)
