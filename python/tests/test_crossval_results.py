"""Result files read, reported on and compared; refusals of all kinds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import foretop
import numpy as np
import pandas as pd
import pytest
from foretop import crossval
from numpy.testing import assert_allclose
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
TEMPLATE = {"models": ["LAST", "AR(4)", "AR(64)"], "fit": "100..400", "test": 50, "leads": [1, 5]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "cases.parquet"
    return crossval.run(TEMPLATE, {"cpu": TRACE}, cases=900, out=out, progress=False).path


def test_rows_are_a_frame(results: Path) -> None:
    frame = crossval.read(results)
    assert len(frame) == 1800
    assert list(frame["case"][:4]) == [0, 0, 1, 1] and list(frame["lead"][:2]) == [1, 5]
    assert isinstance(frame["family"].dtype, pd.CategoricalDtype)
    assert frame["case"].dtype == np.int64 and frame["n"].dtype == pd.Int64Dtype() and frame["mse"].dtype == np.float64
    failed = frame[frame["failure"].notna()]
    assert 0 < len(failed) < 600 and set(failed["family"]) == {"AR(64)"} and set(failed["failure"]) == {"too short"}
    assert failed[["n", "mse"]].isna().all(axis=None)
    timings = crossval.read(results.with_suffix(".timings.parquet"))
    assert len(timings) == 900 and (timings["fit_seconds"] >= 0).all()


def test_a_row_is_what_an_evaluation_says(results: Path) -> None:
    row = crossval.read(results).query("family == 'AR(4)' and lead == 5").iloc[7]
    window = TRACE[row["start"] : row["start"] + row["n_fit"] + row["n_test"]]
    table = foretop.evaluate(window, "AR(4)", horizon=5, n_fit=row["n_fit"])
    assert_allclose(row["mse"], table["mean_squared"][4], rtol=1e-9)
    # Once by a table of cubics.
    assert_allclose(row["crps"], table["crps"][4], rtol=1e-6)


def test_a_report_recommends_a_model(results: Path, tmp_path: Path) -> None:
    report = crossval.report(results, metric="crps", html=tmp_path / "r.html", markdown=tmp_path / "r.md")
    frame = crossval.read(results)
    losses = frame.pivot(index=["window", "lead"], columns="family", values="crps").fillna(np.inf)
    won = {name: losses.lt(losses[name], axis=0).to_numpy().sum() for name in losses}
    # Who is beaten least often.
    least = str(min(won, key=lambda name: won[name]))
    assert report.recommended == least and least in repr(report)
    assert str(report) == (tmp_path / "r.md").read_text() and report.html == (tmp_path / "r.html").read_text()
    assert report.html.startswith("<!doctype html>") or report.html.startswith("<!DOCTYPE html>")


def test_a_campaign_does_not_differ_from_itself(results: Path, tmp_path: Path) -> None:
    fewer = crossval.run(TEMPLATE, {"cpu": TRACE}, cases=90, out=tmp_path / "a.parquet", progress=False).path
    table = crossval.compare(results, fewer)
    assert list(table["lead"]) == [1, 5] * 3 and set(table["model"]) == {"LAST", "AR(4)", "AR(64)"}
    assert (table["n"] == 30).all() and (table["p_value"] == 1).all()
    assert (table["ratio"][table["model"] != "AR(64)"] == 1).all()
    of_model = crossval.read(fewer).query("lead == 1").groupby("family", observed=True)
    for column, p_value in (("ljung_box", "ljung_box_p"), ("normality", "normality_p")):
        kept = of_model[p_value].apply(lambda found: (found.dropna() >= 0.05).mean())
        assert_allclose(table[f"{column}_second"], kept[table["model"]], rtol=1e-12, equal_nan=True)
        assert_allclose(table[f"{column}_first"], table[f"{column}_second"], rtol=1e-12, equal_nan=True)


def start(folder: Path, template: dict[str, Any] | None = None, traces: Any = None, **options: Any) -> object:
    traces = {"cpu": TRACE} if traces is None else traces
    options = {"cases": 3, "progress": False, "out": folder / "a.parquet", **options}
    return crossval.run({**TEMPLATE, **(template or {})}, traces, **options)


@pytest.mark.parametrize(
    ("work", "error", "kind", "attributes"),
    [
        (lambda path: start(path, {"models": ["AR(0)"]}), crossval.TemplateError, "Model", {"given": "AR(0)"}),
        (lambda path: start(path, {"models": []}), crossval.TemplateError, "ListLength", {"key": "models"}),
        (lambda path: start(path, {"sorts": 1}), crossval.TemplateError, "Toml", {}),
        (lambda path: start(path, {"fit": object()}), foretop.InputError, "Template", {"given": "fit"}),
        (lambda path: start(path, traces={}), crossval.CampaignError, "TraceCount", {"have": 0}),
        (lambda path: start(path, traces={"x": TRACE[:9]}), crossval.CampaignError, "NoRoom", {"have": 9, "need": 150}),
        (lambda path: start(path, traces={"x": [1, np.inf]}), crossval.TraceError, "Infinite", {"name": "x", "idx": 1}),
        (lambda path: start(path, traces=path), crossval.TraceError, "EmptyFolder", {}),
        (lambda path: start(path, traces=[path / "a.csv"]), crossval.TraceError, "Io", {}),
        (lambda path: start(path, out=path), crossval.RunError, "Exists", {}),
        (lambda path: start(path, cases=0), foretop.InputError, "Number", {"given": 0}),
        (lambda path: start(path, cases=10**10), crossval.RunError, "CaseCount", {"given": 10**10}),
        (lambda path: start(path, seed=-1), foretop.InputError, "Number", {"given": -1}),
        (lambda path: start(path, workers=0), foretop.InputError, "Number", {"given": 0}),
        (lambda path: crossval.read(path / "a.parquet"), crossval.ResultsError, "Io", {}),
        (lambda path: crossval.report(path / "a", metric="x"), foretop.InputError, "Metric", {"given": "x"}),  # type: ignore[arg-type]
    ],
)
def test_a_refusal_says_what_and_why(
    tmp_path: Path, work: Callable[[Path], object], error: type[foretop.Error], kind: str, attributes: dict[str, object]
) -> None:
    with pytest.raises(error) as refusal:
        work(tmp_path)
    assert refusal.value.kind == kind, str(refusal.value)
    assert {name: getattr(refusal.value, name) for name in attributes} == attributes


def test_a_message_tells_the_whole_chain(tmp_path: Path) -> None:
    with pytest.raises(crossval.TemplateError, match=r"`AR\(0\)` among the models: .* from 1 to 1024$"):
        start(tmp_path, {"models": ["AR(0)"]})


def test_what_is_there_is_not_written_over(results: Path) -> None:
    before = results.read_bytes()
    with pytest.raises(crossval.RunError) as refusal:
        start(results.parent, out=results)
    assert (refusal.value.kind, refusal.value.path) == ("Exists", results)
    assert results.read_bytes() == before


def test_a_damaged_file_is_named(results: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    content = bytearray(results.read_bytes())
    content[1000] ^= 1
    damaged.write_bytes(content)
    for work in (crossval.read, crossval.report):
        with pytest.raises(crossval.ResultsError, match="damaged") as refusal:
            work(damaged)
        assert refusal.value.path == damaged


def test_campaigns_without_a_case_in_common_are_not_compared(results: Path, tmp_path: Path) -> None:
    other = crossval.run(TEMPLATE, {"cpu": TRACE[::-1]}, cases=9, out=tmp_path / "a.parquet", progress=False).path
    with pytest.raises(crossval.ComparisonError):
        crossval.compare(results, other)
