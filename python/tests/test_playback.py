"""Laws of playback, simulated from Python."""

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
    for arguments, told in [
        ({"law": "fast"}, "`fast` is no law"),
        ({"speed": 0.0}, "speed is 0"),
        ({"max_slow": 1.5}, "limits of 1.5"),
        ({"model": "MAGIC"}, "MAGIC"),
    ]:
        with pytest.raises(ValueError, match=told):
            playback.simulate(rates, **arguments)
    with pytest.raises(ValueError, match="has -1 as sample 2"):
        playback.simulate([1.0, -1.0])
    with pytest.raises(ValueError, match="no kind of trace"):
        playback.made("train")
