//! Emulated applications as they are asked for: by flags, or by a TOML file.

use std::fmt;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use mpi_trace::Mode;
use serde::{Deserialize, Serialize};
use units::span::{self, SpanError};

use crate::pattern::Pattern;
use crate::sizes::Sizes;

/// Cycles of an application that is told neither how many nor how long: those of the paper.
pub(crate) const N_CYCLES: NonZeroU64 = NonZeroU64::new(1_000).expect("not zero");

/// A set of emulated applications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applications {
    /// Placement of the applications on the ranks.
    #[serde(default)]
    pub placement: Placement,
    /// Each of them.
    #[serde(rename = "application")]
    pub applications: Vec<Application>,
}

/// Placement of applications on the ranks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first ranks are the first application's, and so on.
    #[default]
    Blocked,
    /// Ranks are dealt to the applications in turn.
    Interleaved,
}

/// One emulated application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name of the application in results.
    pub name: String,
    /// Its ranks. Applications without share what the others leave, equally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Pattern of an exchange: which rank sends to which.
    pub pattern: Pattern,
    /// Mode in which point-to-point messages are sent.
    #[serde(default)]
    pub mode: Mode,
    /// Sizes of messages.
    pub size: Sizes,
    /// Share of a cycle that is communication.
    pub load_percent: Load,
    /// Cycles; [`N_CYCLES`] where neither these nor a time are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<NonZeroU64>,
    /// Target length of the run, from which the number of cycles follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Delay of the application's start after the others.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub start_offset: Span,
    /// Waits for all its ranks before the exchange of every so many cycles; 0 for never.
    #[serde(default = "every_cycle")]
    pub synchronize_every: u32,
}

fn every_cycle() -> u32 {
    1
}

/// Percent of a cycle that is communication, from 1 to 95.
///
/// At 0 nothing would be sent, and at 100 nothing computed, so that there were nothing to predict run times from.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Load(f64);

/// A length of time, as text such as `5ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

/// Reasons why applications cannot be emulated as asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplicationError {
    /// A load outside of its range.
    #[error("load {given} is not from 1 to 95 percent of a cycle")]
    Load {
        /// The load as given.
        given: String,
    },
    /// A file that cannot be read.
    #[error("cannot read applications from {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file that does not describe applications.
    #[error("{path} does not describe applications")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, key, and what is wrong.
        source: Box<toml::de::Error>,
    },
    /// Iterations and a time.
    #[error("application `{name}` has both iterations and a time; give only one of them")]
    Contradiction {
        /// The application.
        name: String,
    },
    /// Two applications of one name, or one without.
    #[error("the name `{name}` is empty or used twice; results are identified by it")]
    Name {
        /// The name.
        name: String,
    },
    /// No application.
    #[error("no application is described; each begins with [[application]]")]
    None,
    /// More ranks asked for than there are, or none left.
    #[error("the applications need {needed} ranks, but there are {n_ranks}")]
    Ranks {
        /// The number of ranks that the applications need at least.
        needed: u64,
        /// The number of ranks that there are.
        n_ranks: u32,
    },
}

impl Load {
    /// # Errors
    /// [`ApplicationError::Load`] when it is not from 1 to 95.
    pub fn new(percent: f64) -> Result<Self, ApplicationError> {
        if (1.0..=95.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(ApplicationError::Load { given: percent.to_string() })
        }
    }

    /// Returns the load in percent, from 1 to 95.
    #[must_use]
    pub fn percent(self) -> f64 {
        self.0
    }

    /// Returns the T_comp for a T_comm, so that T_comm is this share of their sum.
    #[must_use]
    pub fn compute_ns(self, communication_ns: f64) -> f64 {
        communication_ns * (100.0 - self.0) / self.0
    }
}

impl FromStr for Load {
    type Err = ApplicationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().trim_end_matches('%').trim_end();
        let percent = number.parse().map_err(|_| ApplicationError::Load { given: text.to_owned() })?;
        Self::new(percent)
    }
}

impl TryFrom<f64> for Load {
    type Error = ApplicationError;

    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        Self::new(percent)
    }
}

impl From<Load> for f64 {
    fn from(load: Load) -> Self {
        load.0
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Span {
    fn is_zero(&self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        span::parse(text).map(Self)
    }
}

impl TryFrom<String> for Span {
    type Error = SpanError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span::format(span.0)
    }
}

impl Applications {
    /// Reads a TOML file; see `docs/howto/ace.md`.
    ///
    /// # Errors
    /// [`ApplicationError`] with the line and key that are wrong, or with what contradicts itself.
    pub fn read(path: &Path) -> Result<Self, ApplicationError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ApplicationError::Read { path: path.to_owned(), source })?;
        let parsed = toml::from_str(&text);
        let applications: Self =
            parsed.map_err(|source| ApplicationError::Parse { path: path.to_owned(), source: Box::new(source) })?;
        applications.check()?;
        Ok(applications)
    }

    /// Whether they make sense, whatever the number of ranks.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), ApplicationError> {
        if self.applications.is_empty() {
            return Err(ApplicationError::None);
        }
        for (idx, application) in self.applications.iter().enumerate() {
            let name = || application.name.clone();
            if application.name.is_empty()
                || self.applications[..idx].iter().any(|other| other.name == application.name)
            {
                return Err(ApplicationError::Name { name: name() });
            }
            if application.iterations.is_some() && application.time.is_some() {
                return Err(ApplicationError::Contradiction { name: name() });
            }
        }
        Ok(())
    }
}
