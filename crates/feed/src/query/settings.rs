//! Settings of a query to a Prometheus server: the expression, and limits.

use std::time::Duration;

use http_client::{Address, AddressError, Login, LoginError, Trust};

/// Longer names would leave little of an id.
const NAME_BYTES_MAX: usize = 64;

/// Longer units would leave little of a line.
const UNIT_BYTES_MAX: usize = 32;

/// Expressions that people write are far shorter.
const EXPRESSION_BYTES_MAX: usize = 16 << 10;

/// The most steps of history: ten weeks of minutes.
const N_STEPS_MAX: u128 = 100_000;

/// The settings of a query to a Prometheus server.
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySettings {
    /// The address of the server: `http://host:9090`, with the path that its own page has, if any.
    pub server: Address,
    /// The name of the query's signals, before their labels.
    pub name: String,
    /// The expression, in PromQL: its value is a scalar or an instant vector.
    pub expression: String,
    /// The unit of the values, if that is known.
    pub unit: Option<String>,
    /// Whether the values are never negative, so that no forecast is. A negative one is taken for 0.
    pub is_non_negative: bool,
    /// The greatest number of signals, 1 or more. The series that come first are kept until they were silent for an
    /// hour and others need their place.
    pub n_signals_max: usize,
    /// The longest time for a request from its first byte to the answer's last.
    pub timeout: Duration,
    /// The greatest length of an answer, unpacked.
    pub answer_bytes_max: u64,
    /// The length of the history that is requested at the start; zero for none.
    pub history: Duration,
    /// The credentials of the log-in.
    pub login: Login,
    /// The certificate authorities that are trusted.
    pub trust: Trust,
}

/// Settings that cannot be met. Each message says what could.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuerySettingsError {
    /// The name would not do as that of a signal and of a metric.
    #[error(
        "`{}` cannot be a query's name: it has 1 to 64 letters, digits, dots and underscores, and begins with no digit",
        given.escape_debug()
    )]
    Name {
        /// The name given.
        given: String,
    },
    /// There is no expression, or a very long one.
    #[error("an expression of {given} bytes has the wrong length: it must be 1 to {max}")]
    Expression {
        /// The length given.
        given: usize,
        /// The greatest length.
        max: usize,
    },
    /// The unit would break a line.
    #[error("`{}` cannot be a unit: it has 32 bytes at most and no control characters", given.escape_debug())]
    Unit {
        /// The unit given.
        given: String,
    },
    /// A limit is 0.
    #[error("{limit} of a query must be 1 or more")]
    Nothing {
        /// The name of the limit.
        limit: &'static str,
    },
    /// The history has more steps than are asked for at once.
    #[error("a history of {given} steps is too long: the limit is {max}; ask for less of it, or less often")]
    History {
        /// The number of steps given.
        given: u128,
        /// The greatest number of steps.
        max: u128,
    },
    /// The name to log in with cannot be sent.
    #[error(transparent)]
    Login(#[from] LoginError),
}

impl QuerySettings {
    /// The defaults for `expression` at `server`: 200 signals, 10 seconds, 16 MiB, 6 hours of history and no log-in.
    ///
    /// # Errors
    /// When `server` is no address.
    pub fn new(
        server: &str,
        name: impl Into<String>,
        expression: impl Into<String>,
    ) -> Result<QuerySettings, AddressError> {
        Ok(QuerySettings {
            server: server.parse()?,
            name: name.into(),
            expression: expression.into(),
            unit: None,
            is_non_negative: false,
            n_signals_max: 200,
            timeout: Duration::from_secs(10),
            answer_bytes_max: 16 << 20,
            history: Duration::from_secs(6 * 3600),
            login: Login::None,
            trust: Trust::System,
        })
    }

    /// Checks that all settings can be met, for a query that is sent at every `step`.
    ///
    /// # Errors
    /// [`QuerySettingsError`].
    pub fn check(&self, step: Duration) -> Result<(), QuerySettingsError> {
        let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let name = self.name.as_str();
        let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(is_in_name)
            && !name.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
        if !is_name {
            return Err(QuerySettingsError::Name { given: name.to_owned() });
        }
        if !(1..=EXPRESSION_BYTES_MAX).contains(&self.expression.len()) {
            return Err(QuerySettingsError::Expression { given: self.expression.len(), max: EXPRESSION_BYTES_MAX });
        }
        let is_unit = |unit: &String| unit.len() <= UNIT_BYTES_MAX && !unit.contains(char::is_control);
        if let Some(given) = self.unit.clone().filter(|unit| !is_unit(unit)) {
            return Err(QuerySettingsError::Unit { given });
        }
        let limits = [
            ("the greatest number of signals", self.n_signals_max == 0),
            ("the time-out", self.timeout.is_zero()),
            ("the greatest length of an answer", self.answer_bytes_max == 0),
            ("the step", step.is_zero()),
        ];
        if let Some(&(limit, _)) = limits.iter().find(|(_, is_zero)| *is_zero) {
            return Err(QuerySettingsError::Nothing { limit });
        }
        match self.history.as_nanos() / step.as_nanos() {
            given if given > N_STEPS_MAX => Err(QuerySettingsError::History { given, max: N_STEPS_MAX }),
            _ => Ok(self.login.check()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut QuerySettings), message: &str) {
        let mut settings = QuerySettings::new("http://a:9090", "busy.now", "up").unwrap();
        settings.check(Duration::from_secs(15)).unwrap();
        change(&mut settings);
        assert_eq!(settings.check(Duration::from_secs(15)).unwrap_err().to_string(), message);
    }

    #[test]
    fn what_cannot_be_met_is_refused_with_what_can() {
        for name in ["", "1a", "a b", "a{}", ".a"] {
            let message = "cannot be a query's name: it has 1 to 64 letters, digits, dots and underscores, and begins with no digit";
            check_refused(|to| to.name = name.to_owned(), &format!("`{name}` {message}"));
        }
        check_refused(
            |to| to.expression.clear(),
            "an expression of 0 bytes has the wrong length: it must be 1 to 16384",
        );
        check_refused(|to| to.n_signals_max = 0, "the greatest number of signals of a query must be 1 or more");
        check_refused(
            |to| to.history = Duration::from_secs(18 * 86_400),
            "a history of 103680 steps is too long: the limit is 100000; ask for less of it, or less often",
        );
    }
}
