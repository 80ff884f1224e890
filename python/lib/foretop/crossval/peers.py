"""Forecasters of other libraries in a campaign: what is asked of them, and adapters for a few.

A peer is judged on every window, on the same samples and by the same scores as the models of the template, and its rows stand
beside theirs. It cannot see what is to come: ``fit`` gets a copy of the samples up to the origin, and each later sample is handed to ``step``
after the forecast before it was taken. An exception fails the case, and is counted and named in the results.

Peers are written in Python and take turns at its interpreter: ``run(..., client="local")`` gives each process its own. They are
pickled for that, so a class of your own has to be importable by the workers, or defined in ``__main__``. Where a file is to be the same to the
byte, a peer has to forecast the same every time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    Row: TypeAlias = NDArray[np.float64]
    Forecast: TypeAlias = tuple[ArrayLike, ArrayLike | None]

__all__ = ["Arima", "AtEachOrigin", "AutoReg", "Model", "Peer", "River", "Skaters", "StatsForecast"]

# Half the width of a normal interval of 95 %, in standard errors.
_HALF_WIDTH_95 = 1.959963984540054


class Model(Protocol):
    """What a peer makes of samples."""

    def step(self, sample: float) -> None:
        """Take the next sample, NaN for a gap."""

    def forecast(self, n_leads: int) -> Forecast:
        """Return means for leads 1 to `n_leads`, and their standard errors or None."""
        ...


class Peer(Protocol):
    """A forecaster that takes part in campaigns; it may also say by ``n_coefficients`` how many a fit estimates."""

    @property
    def name(self) -> str:
        """What results call it, such as ``statsmodels:AutoReg(16)``."""
        ...

    def fit(self, samples: Row) -> Model:
        """Return a model of the samples, oldest first, NaN for a gap."""
        ...


@dataclass(frozen=True)
class AtEachOrigin:
    """A function that starts from the samples at every origin.

    Attributes
    ----------
    name : str
        What results call it.
    function : callable
        Takes all samples up to the origin and a number of leads; returns means, and standard errors or None.
    n_coefficients : int
        How many coefficients it estimates each time.
    """

    name: str
    function: Callable[[Row, int], Forecast]
    n_coefficients: int = 0

    def fit(self, samples: Row) -> Model:
        """Return a model that remembers the samples."""
        return _Remembered(self.function, samples.tolist())


@dataclass
class _Remembered:
    function: Callable[[Row, int], Forecast]
    samples: list[float]

    def step(self, sample: float) -> None:
        self.samples.append(sample)

    def forecast(self, n_leads: int) -> Forecast:
        return self.function(np.array(self.samples), n_leads)


@dataclass(frozen=True)
class AutoReg:
    """``statsmodels.tsa.ar_model.AutoReg``, fitted once; it takes no gaps.

    Attributes
    ----------
    lags : int
        The order.
    """

    lags: int

    @property
    def name(self) -> str:
        """As in ``statsmodels:AutoReg(16)``."""
        return f"statsmodels:AutoReg({self.lags})"

    @property
    def n_coefficients(self) -> int:
        """The order, and the constant."""
        return self.lags + 1

    def fit(self, samples: Row) -> Model:
        """Fit by conditional least squares."""
        from statsmodels.tsa.ar_model import AutoReg as Statsmodels

        return _Fitted(Statsmodels(samples, self.lags).fit(), lambda fitted, row: fitted.append(row), len(samples))


@dataclass(frozen=True)
class Arima:
    """``statsmodels.tsa.arima.model.ARIMA``, fitted once by exact likelihood.

    Attributes
    ----------
    order : tuple of int
        p, d and q.
    """

    order: tuple[int, int, int]

    @property
    def name(self) -> str:
        """As in ``statsmodels:ARIMA(2,0,1)``."""
        return "statsmodels:ARIMA({},{},{})".format(*self.order)

    @property
    def n_coefficients(self) -> int:
        """Those of both polynomials, and the mean where nothing is differenced."""
        p, d, q = self.order
        return p + q + (d == 0)

    def fit(self, samples: Row) -> Model:
        """Fit by exact likelihood."""
        from statsmodels.tsa.arima.model import ARIMA

        with warnings.catch_warnings():
            # What it warns of, such as a start that was not stationary, is in its scores.
            warnings.simplefilter("ignore")
            fitted = ARIMA(samples, order=self.order).fit()
        return _Fitted(fitted, lambda fitted, row: fitted.extend(row), None)


@dataclass
class _Fitted:
    """Results of statsmodels, and how they take a row of samples."""

    results: Any
    extended: Callable[[Any, Row], Any]
    # Where the next sample stands, of results that count from the first one.
    n_past: int | None

    def step(self, sample: float) -> None:
        self.results = self.extended(self.results, np.array([sample]))
        if self.n_past is not None:
            self.n_past += 1

    def forecast(self, n_leads: int) -> Forecast:
        if self.n_past is None:
            found = self.results.get_forecast(n_leads)
        else:
            found = self.results.get_prediction(start=self.n_past, end=self.n_past + n_leads - 1)
        return found.predicted_mean, found.se_mean


@dataclass(frozen=True)
class StatsForecast:
    """A model of statsforecast such as ``AutoETS()``, fitted once and led on by its ``forward``.

    Attributes
    ----------
    model : object
        The model; it is copied for each fit.
    """

    model: Any

    @property
    def name(self) -> str:
        """As in ``statsforecast:AutoETS``."""
        return f"statsforecast:{self.model}"

    def fit(self, samples: Row) -> Model:
        """Fit to the samples."""
        return _Forwarded(deepcopy(self.model).fit(samples), samples.tolist())


@dataclass
class _Forwarded:
    fitted: Any
    samples: list[float]

    def step(self, sample: float) -> None:
        self.samples.append(sample)

    def forecast(self, n_leads: int) -> Forecast:
        found = self.fitted.forward(np.array(self.samples), h=n_leads, level=[95])
        return found["mean"], (found["hi-95"] - found["mean"]) / _HALF_WIDTH_95


@dataclass(frozen=True)
class River:
    """A time series model of river such as ``SNARIMAX(p=2, d=0, q=1)``, which learns at each step; it says nothing of its errors.

    Gaps are passed over.

    Attributes
    ----------
    model : object
        The model; it is copied for each fit.
    label : str
        What results call it after ``river:``; the name of its class unless given.
    """

    model: Any
    label: str = field(default="")

    @property
    def name(self) -> str:
        """As in ``river:SNARIMAX``."""
        return f"river:{self.label or type(self.model).__name__}"

    def fit(self, samples: Row) -> Model:
        """Learn the samples one by one."""
        learner = _Learner(deepcopy(self.model))
        for sample in samples.tolist():
            learner.step(sample)
        return learner


@dataclass
class _Learner:
    model: Any

    def step(self, sample: float) -> None:
        if np.isfinite(sample):
            self.model.learn_one(sample)

    def forecast(self, n_leads: int) -> Forecast:
        return self.model.forecast(horizon=n_leads), None


@dataclass(frozen=True)
class Skaters:
    """A forecaster of skaters such as ``laplace``, which learns at each step. Gaps are passed over.

    Attributes
    ----------
    make : callable
        Takes a number of leads and returns the skater.
    label : str
        What results call it after ``skaters:``; the name of `make` unless given.
    """

    make: Callable[[int], Any]
    label: str = field(default="")

    @property
    def name(self) -> str:
        """As in ``skaters:laplace``."""
        return f"skaters:{self.label or self.make.__name__}"

    def fit(self, samples: Row) -> Model:
        """Remember the samples until a forecast says how far it looks, for a skater has to know."""
        return _Skater(self.make, samples.tolist())


@dataclass
class _Skater:
    make: Callable[[int], Any]
    # Those that the skater has not seen.
    waiting: list[float]
    n_leads: int = 0
    skater: Any = None
    state: Any = None
    said: Any = None

    def step(self, sample: float) -> None:
        self.waiting.append(sample)

    def forecast(self, n_leads: int) -> Forecast:
        if self.skater is None:
            self.n_leads, self.skater = n_leads, self.make(n_leads)
        if n_leads != self.n_leads:
            raise ValueError(f"a skater of {self.n_leads} leads does not forecast {n_leads}")
        for sample in filter(np.isfinite, self.waiting):
            self.said, self.state = self.skater(sample, self.state)
        self.waiting.clear()
        return [said.mean for said in self.said], [said.std for said in self.said]
