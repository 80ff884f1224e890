"""What a fitted model is like, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretop import _native
from foretop._tables import Table

if TYPE_CHECKING:
    from foretop._native import Model

# The longest lag of residuals that are looked at, if there are samples enough.
_N_LAGS = 10


@dataclass(frozen=True)
class Summary:
    """What a fitted model is like; prints as text.

    Attributes
    ----------
    facts : dict of str to float, int, str or None
        ``model``, ``n_samples``, ``intervals``, ``mean``, ``innovation_variance``, ``log_likelihood``, ``aic``, ``aicc`` and ``bic``.
    coefficients : Table or None
        Columns ``parameter``, ``estimate``, ``standard_error`` and ``z``, their quotient; None of a model that has no parameters.
    speakers : Table or None
        Of an ``AUTO``, columns ``model``, ``n_fits``, ``weight_1``, ``weight_8`` and ``weight_32``: the share of each model in the forecasts of
        these leads.
    residuals : dict of str to float
        ``mean``, ``deviation``, ``least`` and ``greatest`` of the one-step errors of the fit's samples, and their autocorrelation at lag 1,
        ``acf_1``, and greatest at lags up to 10, ``acf_greatest``, to be held against ``noise``, within which 95 % of those of noise are.
    """

    facts: dict[str, float | int | str | None]
    coefficients: Table | None
    speakers: Table | None
    residuals: dict[str, float]

    def __str__(self) -> str:
        parts = [_lines(self.facts)]
        parts += [str(table) for table in (self.coefficients, self.speakers) if table is not None]
        parts.append("residuals\n" + _lines(self.residuals, indent="  "))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return str(self)


def summary_of(model: Model) -> Summary:
    """Return a summary; called by :meth:`Model.summary`."""
    facts: dict[str, float | int | str | None] = {
        "model": model.spec,
        "n_samples": model.n_samples,
        "intervals": model.intervals,
        "mean": model.mean,
        "innovation_variance": model.innovation_variance,
        "log_likelihood": model.log_likelihood,
        "aic": model.aic,
        "aicc": model.aicc,
        "bic": model.bic,
    }
    return Summary(facts, _coefficients(model), _speakers(model), _residuals(model))


def _coefficients(model: Model) -> Table | None:
    inference, params = model.inference(), model.params
    if not params:
        return None
    # A window is found by a search, and has no error.
    errors = inference.standard_errors if inference is not None else {}
    estimates = np.array(list(params.values()), dtype=np.float64)
    standard_errors = np.array([errors.get(name, np.nan) for name in params])
    columns = {
        "parameter": np.array(list(params)),
        "estimate": estimates,
        "standard_error": standard_errors,
        "z": estimates / standard_errors,
    }
    return Table(columns)


def _speakers(model: Model) -> Table | None:
    speakers = model.speakers
    if speakers is None:
        return None
    shown = ("model", "n_fits", "weight_1", "weight_8", "weight_32")
    return Table({name: column for name, column in speakers.items() if name in shown})


def _residuals(model: Model) -> dict[str, float]:
    residuals = model.residuals
    known = residuals[~np.isnan(residuals)]
    if len(known) == 0:
        return {}
    correlations = _native.acf(residuals, min(_N_LAGS, len(residuals) - 1))[1:]
    greatest = correlations[np.argmax(np.abs(correlations))] if len(correlations) else np.nan
    return {
        "mean": float(known.mean()),
        "deviation": float(known.std()),
        "least": float(known.min()),
        "greatest": float(known.max()),
        "acf_1": float(correlations[0]) if len(correlations) else np.nan,
        "acf_greatest": float(greatest),
        "noise": float(1.96 / np.sqrt(len(known))),
    }


def _lines(values: dict[str, float | int | str | None] | dict[str, float], indent: str = "") -> str:
    width = max(map(len, values), default=0)
    known = {name: value for name, value in values.items() if value is not None}
    return "\n".join(f"{indent}{name.replace('_', ' '):<{width}}  {_text(value)}" for name, value in known.items())


def _text(value: float | int | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
