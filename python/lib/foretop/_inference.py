"""What a fit says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from foretop._native import Forecast, Model
    from foretop._samples import Samples


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
    model : Model
        The model that this is of.
    """

    parameters: dict[str, float]
    standard_errors: dict[str, float]
    covariance: NDArray[np.float64]
    log_likelihood: float | None
    n_samples: int
    aic: float | None
    aicc: float | None
    bic: float | None
    model: Model = field(repr=False)

    def widen(self, forecast: Forecast, y: Samples | None = None) -> Forecast:
        """Return a forecast whose errors include how unsure the coefficients are.

        As with R and statsmodels, the standard errors of a forecast take the coefficients for known. This adds what their sampling
        errors make the means uncertain by (the delta method): at one step about (p + q + 1) / n of the variance, which matters for
        short series.

        Parameters
        ----------
        forecast : Forecast
            One that :attr:`model` made.
        y : array_like or pandas.Series, optional
            The samples up to where the forecast begins; those that the model was fitted to unless given.

        Returns
        -------
        Forecast
            The same means with larger standard errors, and wider intervals. The same as it was for a model whose covariances are not known,
            and for MEAN, whose errors include it already.

        Raises
        ------
        InputError
            If the forecast does not begin where the samples of the fit end, and `y` is not given.
        """
        return forecast._widened(self, self.model, y)
