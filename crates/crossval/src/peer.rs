//! Forecasters of other libraries, judged on the same windows by the same scores.

use std::fmt;
use std::sync::Arc;

use predict::{FitError, Forecast, Forecaster, Spec};

/// A forecaster that takes part in a campaign beside the models of its template.
///
/// It is handed the samples up to the origin, and then one sample after the other, so that it cannot know what is to
/// come.
pub trait Peer: fmt::Debug + Send + Sync {
    /// Returns the name of the peer in results, such as `statsmodels:AutoReg(16)`.
    fn name(&self) -> &str;

    /// Returns the number of coefficients that a fit of the peer estimates.
    fn n_coefficients(&self) -> usize;

    /// A model of the samples, oldest first, gaps as NaN.
    ///
    /// # Errors
    /// [`PeerError`]; the case then counts as failed.
    fn fit(&self, samples: &[f64]) -> Result<Box<dyn Forecaster<Error = PeerError>>, PeerError>;
}

/// The reason why a peer gave up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PeerError {
    /// The message of the peer's library.
    pub message: String,
}

/// The forecaster in a case.
#[derive(Clone, Debug)]
pub enum Contender {
    /// A model of the template, with its numbers drawn.
    Model(Spec),
    /// A forecaster of another library.
    Peer(Arc<dyn Peer>),
}

/// The reason why a case has no scores.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The model could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The peer gave up, in its fit or later.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl Contender {
    /// Returns the number of coefficients that a fit estimates.
    #[must_use]
    pub fn n_coefficients(&self) -> usize {
        match self {
            Self::Model(spec) => spec.n_coefficients(),
            Self::Peer(peer) => peer.n_coefficients(),
        }
    }
}

/// Peers are equal if results cannot tell them apart.
impl PartialEq for Contender {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Model(one), Self::Model(other)) => one == other,
            (Self::Peer(one), Self::Peer(other)) => one.name() == other.name(),
            _ => false,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(spec) => spec.fmt(f),
            Self::Peer(peer) => f.write_str(peer.name()),
        }
    }
}

/// A peer whose forecasts are as long as they have to be.
pub(crate) struct Guarded(pub(crate) Box<dyn Forecaster<Error = PeerError>>);

impl Forecaster for Guarded {
    type Error = PeerError;

    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), PeerError> {
        self.0.forecast_into(n_leads, forecast)?;
        match forecast.n_leads() {
            n if n >= n_leads => Ok(()),
            n => Err(PeerError { message: format!("a forecast of {n} leads, where {n_leads} were asked for") }),
        }
    }

    fn step(&mut self, sample: f64) -> Result<(), PeerError> {
        self.0.step(sample)
    }
}
