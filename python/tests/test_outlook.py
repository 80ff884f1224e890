"""Hours and days ahead: what a made series is known to do next."""

from collections.abc import Callable

import foretop
import numpy as np
import pytest

DAY = 48


def made(n_days: int, seed: int = 1) -> np.ndarray:
    """Return a day's shape with noise."""
    noise = np.random.default_rng(seed).normal(size=n_days * DAY)
    return 10 + 8 * np.sin(2 * np.pi * np.arange(n_days * DAY) / DAY) + noise


def test_quantiles_are_those_of_what_comes() -> None:
    outlook = foretop.Outlook([DAY, 7 * DAY], DAY)
    y = made(40)
    outlook.step(y[: 20 * DAY])
    below = []
    for sample in range(20 * DAY, 39 * DAY):
        below.append(y[sample : sample + DAY] < outlook.quantiles(DAY, [0.1, 0.5, 0.9]))
        outlook.step(float(y[sample]))
    shares = np.mean(below, axis=(0, 2))
    # Nineteen days, of which neighbouring forecasts overlap.
    assert np.abs(shares - [0.1, 0.5, 0.9]).max() < 0.05
    assert outlook.seen == DAY
    assert outlook.season is not None and outlook.season > 0.7


def test_what_varies_by_a_share_is_on_a_log_scale() -> None:
    outlook = foretop.Outlook([DAY], DAY, non_negative=True)
    assert outlook.scale == "linear"
    outlook.step(np.exp(made(20) / 5))
    assert outlook.scale == "log"


def test_paths_are_distributed_as_the_quantiles_say() -> None:
    outlook = foretop.Outlook([DAY], DAY, non_negative=True)
    outlook.step(made(20))
    paths = outlook.paths(2000, DAY, seed=3)
    assert paths.shape == (2000, DAY)
    assert (paths >= 0).all()
    shares = (paths <= outlook.quantiles(DAY, [0.25])[0]).mean(axis=0)
    assert np.abs(shares - 0.25).max() < 0.05
    np.testing.assert_array_equal(paths, outlook.paths(2000, DAY, seed=3))


def test_steps_of_several_lengths_say_nearly_the_same() -> None:
    away = []
    for seed in range(1, 7):
        y = made(20, seed)
        short, long = foretop.Outlook.agreeing(y, [1, 6], [DAY, 7 * DAY], DAY)
        apart = foretop.Outlook([DAY, 7 * DAY], DAY)
        apart.step(y)
        means = [outlook.quantiles(DAY, [0.5]).reshape(-1, 6).mean(axis=1) for outlook in (short, apart)]
        away.append([np.abs(mean - long.quantiles(DAY // 6, [0.5])[0]).max() for mean in means])
    # By what they usually differ beyond chance they may differ still: by less than a tenth of the noise.
    together, alone = np.mean(away, axis=0)
    assert together < min(0.1, 0.6 * alone)
    assert foretop.Outlook.agreeing(y, [], [DAY], DAY) == []


def test_without_samples_nothing_is_said() -> None:
    outlook = foretop.Outlook([], 10)
    assert np.isnan(outlook.quantiles(10, [0.5])).all()
    assert outlook.paths(5, 10).shape == (0, 10)
    assert outlook.season is None


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: foretop.Outlook([24, 30], 24), "at least twice"),
        (lambda: foretop.Outlook([1], 24), "from 4 to"),
        (lambda: foretop.Outlook([24], 0), "from 1 to 65536"),
        (lambda: foretop.Record(0), "from 1 to"),
        (lambda: foretop.Outlook([24], 24).quantiles(24, [1.0]), "above 0 and below 1"),
        (lambda: foretop.Outlook([24], 24).paths(10**9, 24), "too many"),
        (lambda: foretop.Outlook([24], 24, bounds=(2, 1)), "bounds"),
        (lambda: foretop.Outlook.agreeing([1.0], [2, 3], [24], 24), "a step of 3 samples; each must be"),
        (lambda: foretop.Outlook.agreeing([1.0], [0], [24], 24), "a step of 0 samples"),
        (lambda: foretop.Outlook.agreeing([1.0], [2, 2], [24], 24), "a step of 2 samples"),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], match: str) -> None:
    with pytest.raises(foretop.InputError, match=match):
        make()


def test_what_is_overstated_again_and_again_is_told_as_it_comes() -> None:
    record = foretop.Record(12)
    assert record.told(0, 0.0004) == 0.0004 and len(record) == 0
    for at in range(0, 2400, 12):
        record.add(at, 0.99, at % 120 == 0)
    assert record.told(2412, 0.99) == pytest.approx(0.1, abs=0.05)
    # Of the first answer the time is not over.
    assert record.told(11, 0.99) == 0.99
    assert len(record) == 200 and record.brier < 0.15
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: record.add(2388, 1.5, True), "1.5 is no share of futures"),
        (lambda: record.told(2400, float("nan")), "no share of futures"),
        (lambda: record.add(12, 0.5, True), "the answer of step 12 comes after that of step 2388"),
    ]
    for wrong, said in refused:
        with pytest.raises(foretop.InputError, match=said):
            wrong()
    assert record.told(2**64 - 1, 0.5) < 0.5
