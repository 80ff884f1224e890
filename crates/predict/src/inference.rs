//! What a fit says of itself: how sure its coefficients are, how likely the samples, and how it ranks.

/// A coefficient, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `phi1`, …, `theta1`, …, `d`, `mean`; the names of other models are their own.
    pub name: String,
    /// The estimate.
    pub value: f64,
    /// Its standard error, in the estimate's unit; `None` where none is known.
    pub standard_error: Option<f64>,
}

/// How sure a fitted model is, given the samples that it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// The coefficients, the autoregressive ones first, the mean last.
    pub parameters: Vec<Parameter>,
    /// The covariances of `parameters`, row after row; empty where they are not known.
    pub covariances: Vec<f64>,
    /// The logarithm of the Gaussian likelihood of the samples; `None` for a model that has none.
    pub log_likelihood: Option<f64>,
    /// How many samples the likelihood is of.
    pub n_samples: usize,
}

impl Inference {
    /// How many numbers the fit estimated: the parameters and the innovation variance.
    #[must_use]
    pub fn n_estimated(&self) -> usize {
        self.parameters.len() + 1
    }

    /// Akaike's criterion (1974), -2 log L + 2 k with k of [`Inference::n_estimated`], as R counts.
    #[must_use]
    pub fn aic(&self) -> Option<f64> {
        self.log_likelihood.map(|log_likelihood| -2.0 * log_likelihood + 2.0 * self.n_estimated() as f64)
    }

    /// Akaike's criterion corrected for few samples (Hurvich and Tsai 1989); `None` where the samples are too few for it.
    #[must_use]
    pub fn aicc(&self) -> Option<f64> {
        let (k, n) = (self.n_estimated() as f64, self.n_samples as f64);
        (n > k + 1.0).then(|| self.aic().map(|aic| aic + 2.0 * k * (k + 1.0) / (n - k - 1.0))).flatten()
    }

    /// Schwarz's criterion (1978), -2 log L + k log n.
    #[must_use]
    pub fn bic(&self) -> Option<f64> {
        let penalty = self.n_estimated() as f64 * (self.n_samples as f64).ln();
        self.log_likelihood.map(|log_likelihood| -2.0 * log_likelihood + penalty)
    }
}
