//! Settings of an exporter: its address, the chosen series, and limits.

use std::time::Duration;

use http_client::{Address, AddressError, Login, LoginError, Trust};

/// The settings of an exporter.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterSettings {
    /// The address of the exporter's page: `http://host:9100/metrics` or `https://…`.
    pub url: String,
    /// The name of the exporter, if its signals are to carry the name: they get it as label `instance`. Needed if
    /// several exporters offer series of the same names.
    pub name: Option<String>,
    /// The patterns of the chosen series: any that one of these matches, or all if there is no pattern. A pattern is a
    /// regular expression for the whole name of a series or of its family, with conditions on labels behind it in
    /// braces if wanted: `node_cpu_.*{mode=~"idle|iowait"}`. At most 64.
    pub patterns: Vec<String>,
    /// The patterns, as above, of the names of series that are never negative and have no negative forecast either,
    /// beside the series that the page describes so. A negative value of such a series is taken for 0.
    pub non_negative: Vec<String>,
    /// The quantiles of histograms, each from 0 to 1. None by default.
    pub quantiles: Vec<f64>,
    /// The greatest number of signals, 1 or more. The series that come first on the page are kept until they were
    /// silent for an hour and others need their place.
    pub n_signals_max: usize,
    /// The longest time for a request from its first byte to the answer's last.
    pub timeout: Duration,
    /// The greatest length of the page, unpacked.
    pub page_bytes_max: u64,
    /// The credentials of the log-in.
    pub login: Login,
    /// The certificate authorities that are trusted.
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
        /// The error in the expression.
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
        /// The number of patterns given.
        given: usize,
        /// The greatest number of patterns.
        max: usize,
    },
    /// A quantile is no share.
    #[error("{given} is not a quantile: it is from 0 to 1")]
    Quantile {
        /// The value given.
        given: f64,
    },
    /// A limit is 0.
    #[error("{limit} of an exporter must be 1 or more")]
    Nothing {
        /// The name of the limit.
        limit: &'static str,
    },
    /// The name would not do as a label.
    #[error("`{}` cannot be an exporter's name: it is 1 to 64 bytes without control characters", given.escape_debug())]
    Name {
        /// The name given.
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

    /// Returns the address of the exporter's page.
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
