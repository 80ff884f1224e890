//! A fitted model: its coefficients, and how it came about.

pub(crate) mod ar;
pub(crate) mod arfima;
pub(crate) mod arma;
pub(crate) mod ets;
pub(crate) mod linear;
pub(crate) mod mean;
pub(crate) mod nws;
mod ring;
mod sample;
pub(crate) mod seasonal;
pub(crate) mod tar;
pub(crate) mod window;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::auto::{Auto, SeasonStanding, Standing};
use crate::inference::Parameter;
use crate::outlook::UNBOUNDED;
use crate::predictor::Predictor;
use crate::spec::{Orders, Spec};
use linear::{Estimates, Fraction};

/// The result of a fit. Prints as a line: text, coefficients, mean, innovation variance, samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub(crate) spec: Spec,
    pub(crate) fitted: Fitted,
    pub(crate) n_samples: usize,
    /// Gaps at the end of the samples.
    pub(crate) n_missing: usize,
    /// The samples themselves, for a `REFIT` only, whose predictor goes on from them.
    pub(crate) recent: Vec<f64>,
}

/// The estimates of each kind of model, and the end of the samples that they came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Fitted {
    Mean(mean::Mean),
    Window(window::Window),
    Linear(linear::Linear),
    Nws(nws::Nws),
    Ets(ets::Ets),
    Tar(tar::Tar),
    #[serde(deserialize_with = "crate::auto::outermost")]
    Auto(Box<Auto>),
    Seasonal(Box<seasonal::Seasonal>),
}

impl Model {
    /// Returns the specification that was asked for.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The weights of past deviations from the mean, newest first (of the differenced series where there are
    /// differences); empty for MEAN, NWS, ETS, TAR and SEASONAL, `N` times `1/N` for a window.
    #[must_use]
    pub fn coefficients(&self) -> Vec<f64> {
        match &self.fitted {
            Fitted::Mean(_)
            | Fitted::Nws(_)
            | Fitted::Ets(_)
            | Fitted::Tar(_)
            | Fitted::Auto(_)
            | Fitted::Seasonal(_) => Vec::new(),
            Fitted::Window(window) => vec![1.0 / window.length() as f64; window.length()],
            Fitted::Linear(linear) => linear.estimates().phi.clone(),
        }
    }

    /// theta(1), …, theta(q): the weights of past one-step errors, newest first, with the signs of R; empty for a model
    /// without.
    #[must_use]
    pub fn moving_average(&self) -> &[f64] {
        match &self.fitted {
            Fitted::Linear(linear) => &linear.estimates().theta,
            _ => &[],
        }
    }

    /// The fraction d, -0.5 < d < 0.5, by which the series is differenced; `None` for a model without.
    #[must_use]
    pub fn fraction(&self) -> Option<f64> {
        match &self.fitted {
            Fitted::Linear(linear) => linear.estimates().fraction.map(|fraction| fraction.d),
            _ => None,
        }
    }

    /// The mean of the samples fitted to, in their unit.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.fitted {
            Fitted::Mean(mean) => mean.mean(),
            Fitted::Window(window) => window.mean(),
            Fitted::Nws(nws) => nws.mean(),
            Fitted::Tar(tar) => tar.mean(),
            Fitted::Ets(ets) => ets.mean(),
            Fitted::Auto(auto) => auto.mean(),
            Fitted::Seasonal(seasonal) => seasonal.mean(),
            Fitted::Linear(linear) => linear.estimates().mean,
        }
    }

    /// The variance of one-step errors as the fit estimates it, in squared units of the series.
    #[must_use]
    pub fn innovation_variance(&self) -> f64 {
        match &self.fitted {
            Fitted::Mean(mean) => mean.variance(),
            Fitted::Window(window) => window.innovation_variance(),
            Fitted::Nws(nws) => nws.innovation_variance(),
            Fitted::Tar(tar) => tar.innovation_variance(),
            Fitted::Ets(ets) => ets.innovation_variance(),
            Fitted::Auto(auto) => auto.innovation_variance(),
            Fitted::Seasonal(seasonal) => seasonal.innovation_variance(),
            Fitted::Linear(linear) => linear.estimates().innovation_variance,
        }
    }

    /// Returns the member that gives the forecast, for a model that chooses among several; `None` for any other. Of an
    /// `AUTO` it is the candidate with the greatest weight for the next sample.
    #[must_use]
    pub fn speaking(&self) -> Option<String> {
        match &self.fitted {
            Fitted::Nws(nws) => Some(nws.speaker()),
            Fitted::Auto(auto) => auto.leading(1).map(|spec| spec.to_string()),
            _ => None,
        }
    }

    /// The estimates by their names: `phi1`, …, `theta1`, …, `d`, `mean`; the constants of ETS and TAR have names of
    /// their own, a `window` is the length of the one in use, and `period1` and `found1` are lengths of seasons in
    /// steps. Empty for LAST, and for NWS and AUTO, which have members instead.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let plain = |name: &str, value: f64| Parameter { name: name.to_owned(), value, standard_error: None };
        match &self.fitted {
            Fitted::Mean(mean) => vec![plain("mean", mean.mean())],
            Fitted::Window(window) if *self.spec.inner() == Spec::Last => Vec::new(),
            Fitted::Window(window) => vec![plain("window", window.length() as f64)],
            Fitted::Linear(linear) => match linear.estimates().fraction {
                None => arma::inference::parameters(linear.estimates(), &[]),
                Some(_) => arfima::inference::parameters(linear.estimates(), &[]).unwrap_or_default(),
            },
            Fitted::Ets(ets) => ets.parameters().into_iter().map(|(name, value)| plain(name, value)).collect(),
            Fitted::Tar(tar) => tar.parameters().into_iter().map(|(name, value)| plain(&name, value)).collect(),
            Fitted::Seasonal(seasonal) => {
                seasonal.parameters().into_iter().map(|(name, value)| plain(&name, value)).collect()
            }
            Fitted::Nws(_) | Fitted::Auto(_) => Vec::new(),
        }
    }

    /// Returns the standings of the candidates of an `AUTO`; empty for other models.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        match &self.fitted {
            Fitted::Auto(auto) => auto.standings(),
            _ => Vec::new(),
        }
    }

    /// Those of [`Model::standings`] that have a word in the forecast of some lead; the heaviest at the next sample
    /// first.
    #[must_use]
    pub fn speakers(&self) -> Vec<Standing> {
        match &self.fitted {
            Fitted::Auto(auto) => auto.speakers(),
            _ => Vec::new(),
        }
    }

    /// The season that an `AUTO` found, and what the model that knows it is worth; `None` where none was found, and for
    /// other models.
    #[must_use]
    pub fn season(&self) -> Option<SeasonStanding> {
        match &self.fitted {
            Fitted::Auto(auto) => auto.season(),
            _ => None,
        }
    }

    /// Returns the number of known samples that the fit used; of an `AUTO`, whose candidates are fitted again and
    /// again, the most that one of them was fitted to since, if these are more.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        match &self.fitted {
            Fitted::Auto(auto) => auto.n_samples().max(self.n_samples),
            _ => self.n_samples,
        }
    }

    /// Returns the difference of each sample from the forecast that a predictor with these coefficients made one step
    /// before, if it has seen `samples` from their start and nothing else. NaN where there was no forecast yet, and in
    /// gaps.
    #[must_use]
    pub fn one_step_errors(&self, samples: &[f64]) -> Vec<f64> {
        match &self.fitted {
            Fitted::Mean(_) => mean::one_step_errors(samples),
            Fitted::Window(window) => window.one_step_errors(samples),
            Fitted::Linear(linear) => linear.one_step_errors(samples),
            Fitted::Nws(nws) => nws.one_step_errors(samples),
            Fitted::Ets(ets) => ets.one_step_errors(samples),
            Fitted::Tar(tar) => tar.one_step_errors(samples),
            Fitted::Auto(_) => {
                let settings = self.spec.auto_settings().expect("an AUTO has settings");
                Auto::new(settings, self.range()).one_step_errors(samples)
            }
            Fitted::Seasonal(seasonal) => seasonal.one_step_errors(samples),
        }
    }

    /// A predictor that goes on where the samples of the fit end.
    #[must_use]
    pub fn predictor(&self) -> Predictor {
        Predictor::new(self.clone())
    }
}

impl Model {
    /// Range of values that the quantity can have, as far as the model knows it.
    pub(crate) fn range(&self) -> (f64, f64) {
        match &self.fitted {
            Fitted::Auto(auto) => auto.range(),
            Fitted::Seasonal(seasonal) => seasonal.range(),
            _ => UNBOUNDED,
        }
    }

    /// Whether the parts fit together, as a decoder must check.
    pub(crate) fn is_sound(&self) -> bool {
        let spec_and_fit_agree = match (self.spec.inner(), &self.fitted) {
            (Spec::Mean, Fitted::Mean(_)) => true,
            (Spec::Last, Fitted::Window(window)) => window.length() == 1,
            (Spec::BestMean { window_max }, Fitted::Window(window)) => window.length() <= *window_max,
            (Spec::Nws { loss, recent }, Fitted::Nws(nws)) => nws.is_of(*loss, *recent),
            (Spec::Ets { trend, .. }, Fitted::Ets(ets)) => ets.is_of(*trend),
            (Spec::Tar { order, delay }, Fitted::Tar(tar)) => tar.is_of(*order, *delay),
            (spec, Fitted::Auto(auto)) => spec.auto_settings().is_some_and(|settings| auto.is_sound(settings)),
            (Spec::Seasonal { periods }, Fitted::Seasonal(seasonal)) => seasonal.is_of(*periods),
            (spec, Fitted::Linear(linear)) => {
                let Estimates { phi, theta, n_differences, fraction, .. } = linear.estimates();
                let truncation = fraction.map(|fraction| fraction.truncation);
                spec.orders()
                    == Some(Orders {
                        n_phi: phi.len(),
                        n_differences: *n_differences,
                        n_theta: theta.len(),
                        truncation,
                    })
            }
            _ => false,
        };
        spec_and_fit_agree && self.fitted.is_sound()
    }
}

impl Fitted {
    /// Takes the next sample, NaN for a gap.
    pub(crate) fn step(&mut self, sample: f64) {
        match self {
            Self::Linear(linear) => linear.step(sample),
            Self::Mean(mean) if !sample.is_nan() => mean.step(sample),
            Self::Window(window) => window.step(sample),
            Self::Ets(ets) => ets.step(sample),
            Self::Tar(tar) => tar.step(sample),
            Self::Nws(nws) if !sample.is_nan() => nws.step(sample),
            Self::Auto(auto) => auto.take(sample),
            Self::Seasonal(seasonal) => seasonal.step(sample),
            Self::Mean(_) | Self::Nws(_) => {}
        }
    }

    /// Whether every estimate is a finite number, and the parts fit together.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Mean(mean) => mean.is_sound(),
            Self::Window(window) => window.is_sound(),
            Self::Linear(linear) => linear.is_sound(),
            Self::Nws(nws) => nws.is_sound(),
            Self::Tar(tar) => tar.is_sound(),
            Self::Ets(ets) => ets.is_sound(),
            // What it is made of is known to its specification, with which Model::is_sound compares it.
            Self::Auto(auto) => auto.is_ready(),
            Self::Seasonal(seasonal) => seasonal.is_sound(),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec)?;
        match &self.fitted {
            Fitted::Mean(_) => {}
            Fitted::Window(window) => write!(f, "  window {}", window.length())?,
            Fitted::Ets(ets) => {
                ets.parameters().iter().try_for_each(|(name, value)| write!(f, "  {name} {value:.6}"))?
            }
            Fitted::Auto(auto) => {
                auto.leading(1).map_or(Ok(()), |speaking| write!(f, "  speaking {speaking}"))?;
            }
            Fitted::Tar(tar) => {
                tar.parameters().iter().try_for_each(|(name, value)| write!(f, "  {name} {value:.6}"))?
            }
            Fitted::Seasonal(seasonal) => {
                seasonal.parameters().iter().try_for_each(|(name, value)| write!(f, "  {name} {value:.6}"))?
            }
            Fitted::Nws(nws) => write!(f, "  speaking {}", nws.speaker())?,
            Fitted::Linear(linear) => {
                let Estimates { phi, theta, fraction, .. } = linear.estimates();
                if let Some(Fraction { d, .. }) = fraction {
                    write!(f, "  d {d:.6}")?;
                }
                for (name, coefficients) in [("phi", phi), ("theta", theta)].iter().filter(|(_, them)| !them.is_empty())
                {
                    write!(f, "  {name}")?;
                    coefficients.iter().try_for_each(|coefficient| write!(f, " {coefficient:.6}"))?;
                }
            }
        }
        let (mean, variance, n_samples) = (self.mean(), self.innovation_variance(), self.n_samples());
        write!(f, "  mean {mean:.6}  innovation variance {variance:.6}  from {n_samples} samples")
    }
}
