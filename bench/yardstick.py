"""One measure for the estimates of all packages, which count likelihoods and sums of squares each in their own way.

Signs are those of R's `arima`: x(t) = phi(1) x(t-1) + … + e(t) + theta(1) e(t-1) + …, x the deviations from the mean.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import fftconvolve, lfilter
from scipy.special import gammaln
from timing import Samples

# Autocovariances of the fits at hand have fallen below rounding by then, roots of 0.998 included.
N_WEIGHTS = 20_000


def sum_of_squares(samples: Samples, phi: ArrayLike, theta: ArrayLike, mean: float) -> float:
    """Return the sum of squared one-step errors, those before the first predictable sample taken as 0."""
    phi, theta = np.asarray(phi, dtype=float), np.asarray(theta, dtype=float)
    regressed = np.convolve(samples - mean, np.r_[1.0, -phi], mode="valid")
    return float(np.sum(lfilter([1.0], np.r_[1.0, theta], regressed) ** 2))


def log_likelihood(samples: Samples, phi: ArrayLike, theta: ArrayLike, d: float, mean: float) -> float:
    """Return the exact Gaussian log-likelihood of an ARFIMA, at the innovation variance at which it is greatest.

    Errors and their variances come from Durbin's and Levinson's recursion (Brockwell and Davis 1991, proposition 5.2.1).
    """
    x = samples - mean
    n = len(x)
    gamma = _autocovariances(np.asarray(phi, dtype=float), np.asarray(theta, dtype=float), d, n)
    coefficients = np.zeros(0)
    variance, squares, log_determinant = gamma[0], 0.0, 0.0
    for t in range(n):
        error = x[t] - coefficients @ x[:t][::-1]
        squares += error**2 / variance
        log_determinant += np.log(variance)
        if t + 1 < n:
            reflection = (gamma[t + 1] - coefficients @ gamma[1 : t + 1][::-1]) / variance
            coefficients = np.r_[coefficients - reflection * coefficients[::-1], reflection]
            variance *= 1.0 - reflection**2
    return float(-0.5 * (n * (np.log(2.0 * np.pi * squares / n) + 1.0) + log_determinant))


def _autocovariances(phi: Samples, theta: Samples, d: float, n: int) -> Samples:
    """Convolve those of the ARMA part with those of fractional noise; unit innovations."""
    impulse = np.zeros(N_WEIGHTS)
    impulse[0] = 1.0
    psi = lfilter(np.r_[1.0, theta], np.r_[1.0, -phi], impulse)
    arma = fftconvolve(psi, psi[::-1])
    if d == 0.0:
        return arma[N_WEIGHTS - 1 :][:n]
    lags = np.arange(1, n + N_WEIGHTS)
    start = np.exp(gammaln(1.0 - 2.0 * d) - 2.0 * gammaln(1.0 - d))
    noise = start * np.r_[1.0, np.cumprod((lags - 1.0 + d) / (lags - d))]
    both_sides = np.r_[noise[:0:-1], noise]
    # Lag 0 of the convolution lies where both middles meet.
    middle = (N_WEIGHTS - 1) + (len(noise) - 1)
    return fftconvolve(arma, both_sides)[middle : middle + n]
