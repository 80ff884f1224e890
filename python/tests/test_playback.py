"""Laws of playback, simulated from Python."""

from typing import Any

import foretop
import numpy as np
import pytest
from foretop import playback


def test_what_arrives_too_slowly_is_slowed_down() -> None:
    step, rates = playback.made("step", seconds=900, seed=3)
    ours = playback.simulate(rates, step=step)
    off = playback.simulate(rates, step=step, law="off", model=None)
    assert ours.n_stalls == 0 < off.n_stalls
    assert ours.mean_deviation >= ours.least_mean_deviation > 0
    assert ours.slew_per_second <= 0.02 + 1e-9
    assert len(ours.times) == len(ours.rates) == len(ours.buffer_seconds) == 9000
    played = ours.rates[ours.rates > 0]
    assert played.min() >= 0.8
    assert played.max() <= 1.1


def test_what_is_out_of_range_is_named() -> None:
    rates = np.ones(60)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"law": "fast"}, "`fast` is no law"),
        ({"speed": 0.0}, "a rate of 0 cannot be asked for"),
        ({"max_slow": 1.5}, "limits of 1.5"),
        ({"model": "MAGIC"}, "MAGIC"),
    ]
    for arguments, told in refused:
        with pytest.raises(ValueError, match=told):
            playback.simulate(rates, **arguments)
    with pytest.raises(ValueError, match="has -1 as sample 2"):
        playback.simulate([1.0, -1.0])
    with pytest.raises(ValueError, match="no kind of trace"):
        playback.made("train")


def test_a_series_brings_its_own_step_and_tables_come_out() -> None:
    pd = pytest.importorskip("pandas")
    step, rates = playback.made("step", seconds=900, seed=3)
    index = pd.date_range("2026-11-24", periods=len(rates), freq=pd.Timedelta(seconds=step))
    series = pd.Series(rates, index=index)
    ours = playback.simulate(series)
    assert ours.stalled_seconds == playback.simulate(rates, step=step).stalled_seconds
    frame = ours.to_frame()
    assert frame.index.name == "seconds"
    assert len(frame) == len(ours.rates)
    assert frame["expected_rates"].notna().any()
    table = playback.compare(series, laws=["restricted", "off"])
    assert list(table.index) == ["restricted", "off"]
    restricted, off = table["stalled_seconds"]
    assert restricted == 0 < off
    with pytest.raises(foretop.InputError, match="not even"):
        playback.simulate(series.iloc[[0, 1, 5]])
    with pytest.raises(foretop.InputError, match="shape"):
        playback.simulate(np.ones((2, 2)))


def test_every_law_is_there_by_name() -> None:
    assert playback.LAWS[:3] == ("restricted", "arrival", "shaka")
    table = playback.compare(np.full(300, 0.95))
    assert tuple(table.index) == playback.LAWS
    assert (table["mean_deviation"] >= table["least_mean_deviation"] - 1e-3).all()


def test_a_busy_processor_is_lived_through() -> None:
    shares = np.where(np.arange(60) < 40, 1.0, 0.5)
    found = playback.compare(np.full(900, 1.2), laws=["restricted", "off"], cpu=shares, cpu_speed=1.6)
    restricted, off = found["stalled_seconds"]
    assert restricted < off
    with pytest.raises(ValueError, match="cpu_speed is 0"):
        playback.simulate([1.0, 1.0], cpu=[1.0], cpu_speed=0.0)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), 50.0])
def test_nobody_can_ask_for_that(speed: float) -> None:
    with pytest.raises(ValueError, match="cannot be asked for"):
        playback.simulate([1.0, 1.0], speed=speed)
