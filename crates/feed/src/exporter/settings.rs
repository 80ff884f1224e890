//! What is asked of an exporter: where it is, which series, and how much of it at most.

use std::time::Duration;

use http_client::{Address, AddressError, Login, LoginError, Trust};

/// What is asked of an exporter.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterSettings {
    /// Where its page is: `http://host:9100/metrics` or `https://…`.
    pub url: String,
    /// What the exporter is called, if its signals are to say so: they get it as label `instance`. Wanted where several exporters
    /// offer series of the same names.
    pub name: Option<String>,
    /// Which series: any that one of these takes, or all if there is none. A regular expression for the whole name of a series or of
    /// its family, with conditions on labels behind it in braces if wanted: `node_cpu_.*{mode=~"idle|iowait"}`. At most 64.
    pub patterns: Vec<String>,
    /// Which series are never negative, so that no forecast is, beside those of which the page says so: patterns as above, of names. A negative value of
    /// them is taken for 0.
    pub non_negative: Vec<String>,
    /// Which quantiles of histograms, each from 0 to 1. None unless asked for.
    pub quantiles: Vec<f64>,
    /// How many signals are made at most, 1 or more. What comes first on the page is kept until it
    /// was silent for an hour and others need its place.
    pub n_signals_max: usize,
    /// How long a request may take from its first byte to the answer's last.
    pub timeout: Duration,
    /// How long the page may be, unpacked.
    pub page_bytes_max: u64,
    /// How to log in.
    pub login: Login,
    /// Whose certificates are believed.
    pub trust: Trust,
}

/// Settings that cannot be met. Each message says what could.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExporterSettingsError {
    /// The address is none of a page.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A regular expression is none.
    #[error("cannot read the pattern `{pattern}`")]
    Pattern {
        /// The whole pattern.
        pattern: String,
        /// What is wrong with it.
        source: regex::Error,
    },
    /// The part of a pattern in braces is no list of conditions.
    #[error(
        "the labels of the pattern `{pattern}` cannot be read: needs conditions such as `name{{label=\"value\",other!~\"a.*\"}}`"
    )]
    Conditions {
        /// The whole pattern.
        pattern: String,
    },
    /// There are more patterns than can be told apart.
    #[error("{given} patterns are too many: the limit is {max}; `|` joins several into one")]
    TooManyPatterns {
        /// How many there are.
        given: usize,
        /// How many there can be.
        max: usize,
    },
    /// A quantile is no share.
    #[error("{given} is not a quantile: it is from 0 to 1")]
    Quantile {
        /// What was given.
        given: f64,
    },
    /// A limit is 0.
    #[error("{limit} of an exporter must be 1 or more")]
    Nothing {
        /// Which limit.
        limit: &'static str,
    },
    /// The name would not do as a label.
    #[error("`{}` cannot be an exporter's name: it is 1 to 64 bytes without control characters", given.escape_debug())]
    Name {
        /// What was given.
        given: String,
    },
    /// The name to log in with cannot be sent.
    #[error(transparent)]
    Login(#[from] LoginError),
}

/// Longer names would leave little of an id.
const NAME_BYTES_MAX: usize = 64;

impl ExporterSettings {
    /// The defaults for the exporter at `url`: everything, 200 signals, 5 seconds, 16 MiB, no quantiles and no log-in.
    #[must_use]
    pub fn new(url: impl Into<String>) -> ExporterSettings {
        ExporterSettings {
            url: url.into(),
            name: None,
            patterns: Vec::new(),
            non_negative: Vec::new(),
            quantiles: Vec::new(),
            n_signals_max: 200,
            timeout: Duration::from_secs(5),
            page_bytes_max: 16 << 20,
            login: Login::None,
            trust: Trust::System,
        }
    }

    /// Where its page is.
    ///
    /// # Errors
    /// When it is no address of a server.
    pub fn address(&self) -> Result<Address, AddressError> {
        self.url.parse()
    }

    pub(super) fn check(&self) -> Result<(), ExporterSettingsError> {
        if let Some(&given) = self.quantiles.iter().find(|quantile| !(0.0..=1.0).contains(*quantile)) {
            return Err(ExporterSettingsError::Quantile { given });
        }
        let limits = [
            ("the greatest number of signals", self.n_signals_max == 0),
            ("the time-out", self.timeout.is_zero()),
            ("the greatest length of the page", self.page_bytes_max == 0),
        ];
        if let Some(&(limit, _)) = limits.iter().find(|(_, is_zero)| *is_zero) {
            return Err(ExporterSettingsError::Nothing { limit });
        }
        let is_name = |name: &str| (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control);
        if let Some(given) = self.name.clone().filter(|name| !is_name(name)) {
            return Err(ExporterSettingsError::Name { given });
        }
        Ok(self.login.check()?)
    }
}
