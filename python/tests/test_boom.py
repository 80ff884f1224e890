"""The bench by GIFT-Eval's protocol, on folders in the layout of BOOM."""

from pathlib import Path

import numpy as np
import pytest
from reference import read_trace

pytest.importorskip("pyarrow")
pytest.importorskip("statsforecast")
import boom


def test_what_is_written_in_the_layout_is_read_again_with_its_terms(tmp_path: Path) -> None:
    trace = read_trace("ec2_cpu_utilization_5f5533")[:1000]
    boom.write(tmp_path / "of" / "two", "5T", [trace, np.full(1000, np.nan)])
    short, medium = boom.tasks(tmp_path, None)
    assert (short.dataset.name, short.dataset.step_seconds, short.dataset.season) == ("of/two", 300, 288)
    np.testing.assert_array_equal(short.dataset.series[0], trace)
    # A tenth of 1,000 samples in windows of 48; fifteen times as far and as long a past do not fit.
    assert [(task.term, task.n_ahead, task.n_windows) for task in (short, medium)] == [
        ("short", 48, 3),
        ("medium", 480, 1),
    ]


def test_the_baseline_is_1_and_errors_are_what_they_are_by_hand(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    samples = np.tile([1.0, 2.0, 3.0, 6.0], 60) + chance.normal(0, 0.01, 240)
    boom.write(tmp_path / "hours", "6H", [samples])
    task = next(iter(boom.tasks(tmp_path, None)))
    assert task.dataset.season == 4
    scores = boom.scores_of(task)
    assert boom.ratio([scores], boom.BASELINE, "mase") == 1.0
    past, came = samples[:192], samples[192:]
    scale = np.mean(np.abs(past[4:] - past[:-4]))
    naive = np.mean(np.abs(came - np.tile(past[-4:], 12))) / scale
    assert scores[boom.BASELINE].mase == pytest.approx(naive)
    assert 0 < scores["outlook"].mase < naive
    # A forecast that is right to a hundredth of the values loses no more than that.
    assert 0 < scores["outlook"].crps < 0.02


@pytest.mark.parametrize(
    ("frequency", "why"), [("5Q", "the frequency 5Q of"), ("", "is none of S, s, T, min, H, h, D with a number before")]
)
def test_an_unknown_frequency_is_told_with_its_folder(tmp_path: Path, frequency: str, why: str) -> None:
    boom.write(tmp_path / "odd", frequency, [np.ones(200)])
    with pytest.raises(ValueError, match=why):
        list(boom.tasks(tmp_path, None))


def test_what_is_no_arrow_and_an_empty_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no folder with"):
        list(boom.tasks(tmp_path, None))
    (tmp_path / "data-0.arrow").write_bytes(b"\0" * 100)
    with pytest.raises(ValueError, match="is no Arrow stream with freq and target"):
        list(boom.tasks(tmp_path, None))
