"""Time series models that forecast as they go, with a standard error at every lead.

``foretop.fit(y)`` makes a model of a series; the model takes one sample at a time by ``step`` and says what is to come by
``forecast``. Series are rows of evenly spaced samples with NaN for a gap: numpy arrays, lists, or pandas objects, whose index
forecasts continue. ``Fleet`` is the same for many series, from arrays, dictionaries, wide and long frames.

:mod:`foretop.sklearn`, :mod:`foretop.statsforecast` and :mod:`foretop.sktime` have forecasters that look like those of these libraries.
"""

from foretop import crossval, dedup, kernel, mpi_trace, playback, sequences
from foretop._errors import (
    CompareError,
    ConfidenceError,
    Error,
    FitError,
    InputError,
    RestoreError,
    SpecError,
    StatisticError,
)
from foretop._inference import Inference
from foretop._models import Residuals, compare, evaluate, fit, models, residuals, select
from foretop._native import Fleet, FleetForecast, Forecast, Model, Outlook, Predictor, Record, version
from foretop._statistics import Hurst, Kpss, Periodogram, PoxPlot, acf, hurst, kpss, pacf, periodogram, pox_plot
from foretop._summary import Summary
from foretop._tables import Table

__version__ = version()

__all__ = [
    "CompareError",
    "ConfidenceError",
    "Error",
    "FitError",
    "Fleet",
    "FleetForecast",
    "Forecast",
    "Hurst",
    "Inference",
    "InputError",
    "Kpss",
    "Model",
    "Outlook",
    "Periodogram",
    "PoxPlot",
    "Predictor",
    "Record",
    "Residuals",
    "RestoreError",
    "SpecError",
    "StatisticError",
    "Summary",
    "Table",
    "acf",
    "compare",
    "crossval",
    "dedup",
    "evaluate",
    "fit",
    "hurst",
    "kernel",
    "kpss",
    "models",
    "mpi_trace",
    "pacf",
    "periodogram",
    "playback",
    "pox_plot",
    "residuals",
    "select",
    "sequences",
]
