"""What is public is explained, and the examples in the explanations hold."""

import doctest
import inspect

import foretop
import pytest
from foretop import crossval, dedup, kernel, mpi_trace, playback, sklearn

PUBLIC = {name: getattr(foretop, name) for name in foretop.__all__}
PUBLIC |= {f"crossval.{name}": getattr(crossval, name) for name in crossval.__all__}
PUBLIC |= {f"mpi_trace.{name}": getattr(mpi_trace, name) for name in mpi_trace.__all__}
PUBLIC |= {f"kernel.{name}": getattr(kernel, name) for name in kernel.__all__ if inspect.isclass(getattr(kernel, name))}
PUBLIC |= {f"dedup.{name}": getattr(dedup, name) for name in dedup.__all__}
PUBLIC |= {f"playback.{name}": getattr(playback, name) for name in playback.__all__}
PUBLIC |= {f"sklearn.{name}": getattr(sklearn, name) for name in sklearn.__all__}
PUBLIC |= {f"crossval.peers.{name}": getattr(crossval.peers, name) for name in crossval.peers.__all__}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_explained(name: str) -> None:
    thing = PUBLIC[name]
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        unexplained = [
            attribute
            for attribute, value in vars(thing).items()
            if not attribute.startswith("_") and not inspect.getdoc(value)
        ]
        assert unexplained == []


@pytest.mark.parametrize("name", PUBLIC)
def test_a_function_names_its_parameters(name: str) -> None:
    thing = PUBLIC[name]
    if inspect.isfunction(thing) and inspect.signature(thing).parameters:
        documented = (inspect.getdoc(thing) or "").partition("Parameters\n---")[2].partition("Returns\n---")[0]
        named = {name for line in documented.splitlines() for name in line.partition(" : ")[0].split(", ")}
        assert set(inspect.signature(thing).parameters) <= named


def test_the_examples_hold() -> None:
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name, thing in PUBLIC.items():
        for test in finder.find(thing, name, module=False):
            runner.run(test)
    outcome = runner.summarize(verbose=False)
    assert outcome.failed == 0
    assert outcome.attempted > 10
