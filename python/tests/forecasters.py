"""Peers for tests, in a module that workers can import."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foretop
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Own:
    """A model of foretop in the guise of a peer."""

    spec: str

    @property
    def name(self) -> str:
        """Which model it is, and that it is not counted as one."""
        return f"own:{self.spec}"

    def fit(self, samples: NDArray[np.float64]) -> "OwnModel":
        """Fit as the campaign would."""
        return OwnModel(foretop.fit(samples, self.spec))


@dataclass
class OwnModel:
    """A predictor."""

    model: foretop.Model

    def step(self, sample: float) -> None:
        """Hand it on."""
        self.model.step(sample)

    def forecast(self, n_leads: int) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Hand it back."""
        found = self.model.forecast(n_leads)
        return found.mean, found.standard_error


@dataclass(frozen=True)
class Lethal(Own):
    """Kills the process that it is in, in the middle of its second fit, unless that was done before."""

    mark: Path

    def fit(self, samples: NDArray[np.float64]) -> OwnModel:
        """Fit, or die."""
        started = self.mark.with_suffix(".started")
        if started.exists() and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        started.touch()
        return super().fit(samples)


class Deadly(Own):
    """Kills every process that it is in."""

    def fit(self, samples: NDArray[np.float64]) -> OwnModel:
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(samples)


class Forgetful:
    """Forecasts what it is told to, whatever came before."""

    name = "forgetful"

    def __init__(self, forecast: Callable[[int], Any]) -> None:
        self.forecast = forecast

    def fit(self, samples: NDArray[np.float64]) -> "Forgetful":
        """Take nothing from the samples."""
        return self

    def step(self, sample: float) -> None:
        """Take nothing from the sample."""
