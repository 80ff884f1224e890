"""Long work leaves the interpreter to other threads."""

import sys
import threading
from collections.abc import Callable, Iterator

import foretop
import numpy as np
import pytest
from reference import read_trace

TRACE = read_trace("ec2_cpu_utilization_5f5533")
N_TRIES = 300


@pytest.fixture(autouse=True)
def _nobody_is_interrupted() -> Iterator[None]:
    """Make a thread keep the interpreter until it gives it up of its own accord."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600.0)
    yield
    sys.setswitchinterval(interval)


def lets_others_run(work: Callable[[], object]) -> bool:
    """Say whether another thread, ready to run, gets to run while this one does nothing but the work."""
    ready, may_run, has_run = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        ready.set()
        may_run.wait()
        has_run.set()

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    may_run.set()
    # No condition that waits: the other thread runs in the work, or not before the end of this loop.
    tries = (work() for _ in range(N_TRIES))
    ran = any(has_run.is_set() for _ in tries)
    thread.join()
    return ran


def test_work_that_keeps_the_interpreter_would_be_noticed() -> None:
    model = foretop.fit(TRACE[:300], "AR(16)")
    assert not lets_others_run(lambda: model.forecast(300).mean)


def test_a_fit_lets_others_run() -> None:
    assert lets_others_run(lambda: foretop.fit(TRACE[:400], "ARMA(2,2)"))


def test_a_row_of_steps_lets_others_run() -> None:
    model = foretop.fit(TRACE[:300], "AR(64)")
    row = np.tile(TRACE, 4)
    assert lets_others_run(lambda: model.step(row))


def test_a_step_that_refits_lets_others_run() -> None:
    model = foretop.fit(TRACE[:400], "REFIT(ARMA(2,2),every=1,window=400)")
    assert lets_others_run(lambda: model.step(50.0))


def test_a_long_forecast_lets_others_run() -> None:
    model = foretop.fit(TRACE[:300], "AR(64)")
    assert lets_others_run(lambda: model.forecast(10_000))


def test_an_evaluation_lets_others_run() -> None:
    assert lets_others_run(lambda: foretop.evaluate(TRACE[:600], "AR(4)", horizon=4))


def test_a_fleet_lets_others_run() -> None:
    fleet = foretop.Fleet(np.tile(TRACE[:100], (5000, 1)), "AR(4)")
    samples = np.zeros(5000)
    assert lets_others_run(lambda: fleet.step(samples))
    assert lets_others_run(lambda: fleet.forecast(30))


def test_many_threads_step_one_model() -> None:
    model = foretop.fit(TRACE[:300], "MEAN")
    threads = [threading.Thread(target=model.step, args=(TRACE[:1000],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.forecast(1).index[0] == 8300
    expected = (TRACE[:300].sum() + 8 * TRACE[:1000].sum()) / 8300
    np.testing.assert_allclose(model.forecast(1).mean[0], expected, rtol=1e-9)
