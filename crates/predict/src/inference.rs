//! Inference from a fit: the standard errors of its coefficients, the likelihood of the samples, and its rank.

mod widen;

use crate::model::{Fitted, Model, arfima, arma, ets, mean, tar};

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

/// Uncertainty of a fitted model, given the samples that it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// The coefficients, the autoregressive ones first, the mean last.
    pub parameters: Vec<Parameter>,
    /// The covariances of `parameters`, row after row; empty where they are not known.
    pub covariances: Vec<f64>,
    /// The logarithm of the Gaussian likelihood of the samples; `None` for a model that has none.
    pub log_likelihood: Option<f64>,
    /// Number of samples that the likelihood is of.
    pub n_samples: usize,
}

impl Inference {
    /// Computes the inference on `model` from `samples`, those that `model` was fitted to. `None` for a model that
    /// assumes no distribution (LAST, BM, NWS, AUTO, SEASONAL), and for samples that it cannot have been fitted to.
    ///
    /// ETS and TAR have likelihoods that are conditional: on the state before the first sample, which counts among the
    /// parameters, and on the first p samples. Of them and of the standard errors see the models.
    ///
    /// The likelihood of the others is the exact one of a Gaussian process with the model's coefficients, however they
    /// were found, and with the innovation variance that makes it greatest: the criteria that follow from it compare
    /// models of all methods. They do not compare ARIMA models that difference a different number of times, because
    /// those are likelihoods of different samples. Standard errors are those of the model's own method: from the normal
    /// equations for least squares, from the curvature of the likelihood for maximum likelihood (as R's `arima`), and
    /// those of a long series for Yule-Walker and Burg (as R's `ar`). They are absent where the samples do not
    /// determine the coefficients.
    #[must_use]
    pub fn of(model: &Model, samples: &[f64]) -> Option<Self> {
        let samples = model.spec().latest(samples);
        if samples.iter().any(|sample| sample.is_infinite()) {
            return None;
        }
        match &model.fitted {
            Fitted::Mean(_) => mean::inference(samples),
            Fitted::Window(_) | Fitted::Nws(_) | Fitted::Auto(_) | Fitted::Seasonal(_) => None,
            Fitted::Ets(ets) => ets::inference::of(ets, samples),
            Fitted::Tar(tar) => tar::inference::of(tar, samples),
            Fitted::Linear(linear) => match linear.estimates().fraction {
                None => arma::inference::of(model.spec().inner(), linear.estimates(), samples),
                Some(_) => arfima::inference::of(model.spec().inner(), linear.estimates(), samples),
            },
        }
    }

    /// Returns the number of values that the fit estimated: the parameters and the innovation variance.
    #[must_use]
    pub fn n_estimated(&self) -> usize {
        self.parameters.len() + 1
    }

    /// Akaike's criterion (1974), -2 log L + 2 k with k of [`Inference::n_estimated`], as R counts.
    #[must_use]
    pub fn aic(&self) -> Option<f64> {
        self.log_likelihood.map(|log_likelihood| -2.0 * log_likelihood + 2.0 * self.n_estimated() as f64)
    }

    /// Akaike's criterion corrected for few samples (Hurvich and Tsai 1989); `None` where the samples are too few for
    /// it.
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
