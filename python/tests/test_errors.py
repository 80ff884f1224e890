"""Refusals are exceptions with a class for each family, and the numbers behind the message."""

import pickle
from collections.abc import Callable
from typing import Any

import foretop
import numpy as np
import pytest
from reference import read_named

NILE = read_named("nile")
MODEL = foretop.fit(NILE, "AR(2)")


def case(work: Callable[[], object], error: type[foretop.Error], kind: str, **attributes: object) -> Any:
    return pytest.param(work, error, kind, attributes, id=kind)


@pytest.mark.parametrize(
    ("work", "error", "kind", "attributes"),
    [
        case(lambda: foretop.fit(NILE[:20], "AR(16)"), foretop.FitError, "TooShort", spec="AR(16)", have=20, need=33),
        case(lambda: foretop.fit([0.5] * 50, "AR(2)"), foretop.FitError, "Constant", spec="AR(2)", value=0.5),
        case(lambda: foretop.fit([1, np.inf, 2], "MEAN"), foretop.FitError, "Infinite", idx=1, value=np.inf),
        case(lambda: foretop.fit([1e300, -1e300] * 9, "LAST"), foretop.FitError, "TooLarge", largest=1e300),
        case(lambda: foretop.fit(NILE, "GARCH(1,1)"), foretop.SpecError, "UnknownModel", given="GARCH"),
        case(lambda: foretop.fit(NILE, "AR(4"), foretop.SpecError, "Malformed", given="AR(4"),
        case(lambda: foretop.fit(NILE, "AR"), foretop.SpecError, "Missing", model="AR", argument="its order"),
        case(lambda: foretop.fit(NILE, "LAST(3)"), foretop.SpecError, "UnknownArgument", model="LAST", given="3"),
        case(lambda: foretop.fit(NILE, "AR(0)"), foretop.SpecError, "OutOfRange", given="0", min=1, max=1024),
        case(lambda: MODEL.forecast(3).interval(1.0), foretop.ConfidenceError, "ConfidenceError", given="1"),
        case(lambda: MODEL.forecast(-1), foretop.InputError, "Leads", given=-1),
        case(lambda: MODEL.forecast(10**9), foretop.InputError, "Leads", max=1_000_000),
        case(lambda: foretop.hurst(NILE, method="x"), foretop.InputError, "HurstMethod", given="x"),  # type: ignore[arg-type]
        case(lambda: foretop.acf(NILE, -1), foretop.InputError, "Lags", given=-1),
        case(lambda: foretop.evaluate(NILE, "LAST", n_fit=101), foretop.InputError, "FitLength", given=101),
        case(lambda: foretop.evaluate(NILE, "LAST", refit_window=9), foretop.InputError, "RefitWindow", given=9),
        case(
            lambda: foretop.compare(NILE, "LAST", "MEAN"), foretop.CompareError, "TooShort", lead=18, have=33, need=36
        ),
        case(lambda: foretop.compare(NILE, "LAST", "BM(1)", horizon=1), foretop.CompareError, "Constant"),
        case(lambda: foretop.compare(NILE, "LAST", "MEAN", loss="x"), foretop.InputError, "Loss", given="x"),  # type: ignore[arg-type]
        case(lambda: foretop.select(NILE, "LAST", criterion="x"), foretop.InputError, "Criterion", given="x"),  # type: ignore[arg-type]
        case(lambda: foretop.select(NILE, "LAST", lead=0), foretop.InputError, "Lead", given=0),
        case(lambda: foretop.select(NILE, "AR(3..1)"), foretop.SpecError, "BadRange", given="3..1"),
        case(lambda: foretop.hurst(NILE[:9]), foretop.StatisticError, "TooShort", have=9, need=64),
        case(lambda: foretop.kpss([1.0, np.nan] * 9), foretop.StatisticError, "Broken", idx=1),
        case(lambda: foretop.periodogram([2.0] * 9), foretop.StatisticError, "Constant", value=2.0),
    ],
)
def test_a_refusal_says_what_and_why(
    work: Callable[[], object], error: type[foretop.Error], kind: str, attributes: dict[str, object]
) -> None:
    with pytest.raises(error) as refusal:
        work()
    told = refusal.value
    assert issubclass(error, foretop.Error) and issubclass(foretop.Error, ValueError)
    assert told.kind == kind
    assert {name: getattr(told, name) for name in attributes} == attributes
    twin = pickle.loads(pickle.dumps(told))
    assert (type(twin), str(twin), twin.__dict__ == told.__dict__ or np.isnan(twin.value)) == (error, str(told), True)


def test_the_message_names_the_value_and_what_would_be_right() -> None:
    with pytest.raises(foretop.FitError, match=r"^AR\(16\) needs at least 33 samples that are not gaps, but has 20$"):
        foretop.fit(NILE[:20], "AR(16)")


def test_the_catalogue_explains_each_model() -> None:
    assert {"LAST", "AR(p)", "ARMA(p,q)"} <= set(foretop.models())
    assert all(foretop.models().values())
