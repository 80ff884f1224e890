"""What a fit says of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Inference:
    """How sure a fitted model is, given the samples that it was fitted to.

    Attributes
    ----------
    parameters : dict of str to float
        The estimates by name: ``phi1``, ..., ``theta1``, ..., ``d``, ``mean``; other models have names of their own.
    standard_errors : dict of str to float
        Theirs, in the same order; NaN where none is known.
    covariance : numpy.ndarray
        The covariance matrix of the parameters, in the same order; empty where it is not known.
    log_likelihood : float or None
        The logarithm of the Gaussian likelihood of the samples; None for a model that has none.
    n_samples : int
        How many samples the likelihood is of.
    aic, aicc, bic : float or None
        Akaike's criterion, the same corrected for few samples, and Schwarz's: the lower the better.
    """

    parameters: dict[str, float]
    standard_errors: dict[str, float]
    covariance: NDArray[np.float64]
    log_likelihood: float | None
    n_samples: int
    aic: float | None
    aicc: float | None
    bic: float | None
