//! Policies as text: `FACTORING(2)`, `PREDICTED(q=0.8,tail=0.2)`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A policy as a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Spec {
    /// An equal number of units for each worker, at once.
    Equal,
    /// Work in proportion to benchmarked speed, at once.
    Speed,
    /// Unit by unit, to workers whose availability is at least that share, as GNU parallel and Condor do.
    Threshold(f64),
    /// A fixed number of units to each idle worker.
    SelfScheduled(usize),
    /// An equal part of what is left to whoever is idle, but no fewer units than that (Polychronopoulos and Kuck 1987).
    Guided(usize),
    /// Rounds that give away a part of what is left, one in so many, in equal chunks (Hummel, Schonberg and Flynn
    /// 1992).
    Factoring(f64),
    /// The same, in chunks by speed (Hummel and others 1996).
    WeightedFactoring(f64),
    /// All are forecast to end at one time with probability `q` each; the last part, `tail`, is self-scheduled.
    Predicted {
        /// Probability of the forecast that counts.
        q: f64,
        /// A share of the work.
        tail: f64,
    },
    /// A predicted split that is corrected while it runs: work moves where forecasts change, last units run twice.
    Corrected(f64),
    /// The split whose makespan has the least `q`-quantile, over joint draws.
    Risk(f64),
    /// A predicted split with forecasts that come true: the bound for all.
    Oracle,
}

/// Reasons why a text names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No such name.
    #[error(
        "there is no policy `{0}`: they are EQUAL, SPEED, THRESHOLD(a), SELF(n), GUIDED(n), FACTORING(x), WFACTORING(x), PREDICTED(q=,tail=), \
         CORRECTED(q), RISK(q) and ORACLE"
    )]
    Name(String),
    /// An argument that cannot be.
    #[error("`{argument}` in `{text}` is not {wanted}")]
    Argument {
        /// The whole text.
        text: String,
        /// The argument.
        argument: String,
        /// Description of a valid argument.
        wanted: &'static str,
    },
    /// More arguments than there are.
    #[error("`{0}` has more arguments than its policy takes")]
    TooMany(String),
}

impl Spec {
    /// One of each kind, with the arguments that the literature and this project use.
    pub const ALL: [Self; 13] = [
        Self::Equal,
        Self::Speed,
        Self::Threshold(0.5),
        Self::SelfScheduled(1),
        Self::SelfScheduled(10),
        Self::Guided(1),
        Self::Factoring(2.0),
        Self::WeightedFactoring(2.0),
        Self::Predicted { q: 0.5, tail: 0.0 },
        Self::Predicted { q: 0.5, tail: 0.2 },
        Self::Risk(0.9),
        Self::Corrected(0.5),
        Self::Oracle,
    ];

    /// Whether it goes by forecasts.
    #[must_use]
    pub fn uses_forecasts(&self) -> bool {
        matches!(self, Self::Predicted { .. } | Self::Corrected(_) | Self::Risk(_))
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("EQUAL"),
            Self::Speed => f.write_str("SPEED"),
            Self::Threshold(least) => write!(f, "THRESHOLD({least})"),
            Self::SelfScheduled(n_units) => write!(f, "SELF({n_units})"),
            Self::Guided(n_units) => write!(f, "GUIDED({n_units})"),
            Self::Factoring(factor) => write!(f, "FACTORING({factor})"),
            Self::WeightedFactoring(factor) => write!(f, "WFACTORING({factor})"),
            Self::Predicted { q, tail: 0.0 } => write!(f, "PREDICTED(q={q})"),
            Self::Predicted { q, tail } => write!(f, "PREDICTED(q={q},tail={tail})"),
            Self::Corrected(q) => write!(f, "CORRECTED(q={q})"),
            Self::Risk(q) => write!(f, "RISK(q={q})"),
            Self::Oracle => f.write_str("ORACLE"),
        }
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<String> for Spec {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

impl FromStr for Spec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, inside) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(|| PolicyError::Name(text.to_owned()))?),
            None => (text, ""),
        };
        let mut arguments =
            Arguments { text, left: inside.split(',').map(str::trim).filter(|one| !one.is_empty()).collect() };
        let spec = match name.trim().to_ascii_uppercase().as_str() {
            "EQUAL" => Self::Equal,
            "SPEED" => Self::Speed,
            "THRESHOLD" => Self::Threshold(arguments.share("a", 0.5)?),
            "SELF" => Self::SelfScheduled(arguments.count()?),
            "GUIDED" => Self::Guided(arguments.count()?),
            "FACTORING" => Self::Factoring(arguments.factor()?),
            "WFACTORING" => Self::WeightedFactoring(arguments.factor()?),
            "PREDICTED" => Self::Predicted { q: arguments.share("q", 0.5)?, tail: arguments.tail()? },
            "CORRECTED" => Self::Corrected(arguments.share("q", 0.5)?),
            "RISK" => Self::Risk(arguments.share("q", 0.9)?),
            "ORACLE" => Self::Oracle,
            _ => return Err(PolicyError::Name(text.to_owned())),
        };
        if arguments.left.is_empty() { Ok(spec) } else { Err(PolicyError::TooMany(text.to_owned())) }
    }
}

struct Arguments<'a> {
    text: &'a str,
    left: Vec<&'a str>,
}

impl Arguments<'_> {
    /// The argument of that name, or the next that has none.
    fn take<T: FromStr>(
        &mut self,
        name: &str,
        wanted: &'static str,
        is_one: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, PolicyError> {
        let named = |one: &str| one.split_once('=').is_none_or(|(key, _)| key.trim() == name);
        let Some(at) = self.left.iter().position(|one| named(one)) else { return Ok(None) };
        let argument = self.left.remove(at);
        let value = argument.split_once('=').map_or(argument, |(_, value)| value);
        let found = value.trim().parse().ok().filter(is_one);
        let wrong = || PolicyError::Argument { text: self.text.to_owned(), argument: argument.to_owned(), wanted };
        found.ok_or_else(wrong).map(Some)
    }

    fn share(&mut self, name: &str, default: f64) -> Result<f64, PolicyError> {
        let found = self.take(name, "strictly between 0 and 1", |share| *share > 0.0 && *share < 1.0)?;
        Ok(found.unwrap_or(default))
    }

    fn tail(&mut self) -> Result<f64, PolicyError> {
        Ok(self.take("tail", "at least 0 and below 1", |share| (0.0..1.0).contains(share))?.unwrap_or(0.0))
    }

    fn count(&mut self) -> Result<usize, PolicyError> {
        Ok(self.take("n", "a number of units from 1", |n_units| *n_units > 0)?.unwrap_or(1))
    }

    fn factor(&mut self) -> Result<f64, PolicyError> {
        Ok(self.take("x", "a number from 1", |factor: &f64| *factor >= 1.0 && factor.is_finite())?.unwrap_or(2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for spec in Spec::ALL {
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
        assert_eq!("predicted(tail=0.1)".parse(), Ok(Spec::Predicted { q: 0.5, tail: 0.1 }));
        assert_eq!("SELF".parse(), Ok(Spec::SelfScheduled(1)));
    }

    #[test]
    fn what_is_no_policy_is_named() {
        for (text, wanted) in [
            ("BEST", "there is no policy `BEST`"),
            ("SELF(0)", "`0` in `SELF(0)` is not a number of units from 1"),
            ("PREDICTED(q=1)", "`q=1` in `PREDICTED(q=1)` is not strictly between 0 and 1"),
            ("FACTORING(NaN)", "is not a number from 1"),
            ("EQUAL(2)", "more arguments"),
            ("SELF(2", "there is no policy"),
        ] {
            let told = text.parse::<Spec>().unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }
}
