//! Settings of a writer.

use std::collections::BTreeMap;
use std::time::Duration;

use http_client::{Address, AddressError, Login, Trust};
use ureq::http::{HeaderName, HeaderValue};

use crate::error::SettingsError;

/// Headers that the protocol, the log-in or the connection set.
const OWN_HEADERS: [&str; 9] = [
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-prometheus-remote-write-version",
];

/// The longest batch: a request of Prometheus itself has 2,000 samples, and receivers have limits.
const BATCH_SAMPLES_MAX: usize = 100_000;

/// The smallest buffer: less would not hold a batch.
const BUFFER_BYTES_MIN: u64 = 64 << 10;

/// Settings of a writer.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Address to which samples are written: `http://host:9090/api/v1/write`.
    pub address: Address,
    /// Headers beside those of the protocol, such as the tenant of a server that has several.
    pub headers: BTreeMap<String, String>,
    /// Login at the server.
    pub login: Login,
    /// Certificate authorities that are trusted.
    pub trust: Trust,
    /// The most time between two requests while there is something to send.
    pub batch_every: Duration,
    /// A request is made earlier when so many samples wait, and has about as many at most, 1 to 100,000.
    pub batch_samples: usize,
    /// Length limit of the buffer, 64 KiB or more. When it is full, the oldest samples are given up.
    pub buffer_bytes: u64,
    /// Time limit of a request, from its first byte to the answer's last.
    pub timeout: Duration,
    /// Seed of the random numbers that spread retries.
    pub seed: u64,
}

impl Settings {
    /// Returns the defaults for the server at `url`: batches of 5 s or 2,000 samples, 256 MiB of buffer, 30 s for a
    /// request, no log-in.
    ///
    /// # Errors
    /// When it is no address of a server.
    pub fn new(url: &str) -> Result<Settings, AddressError> {
        Ok(Settings {
            address: url.parse()?,
            headers: BTreeMap::new(),
            login: Login::None,
            trust: Trust::System,
            batch_every: Duration::from_secs(5),
            batch_samples: 2_000,
            buffer_bytes: 256 << 20,
            timeout: Duration::from_secs(30),
            seed: 0,
        })
    }

    /// Checks that everything is in range and can be sent.
    ///
    /// # Errors
    /// [`SettingsError`], which states what would be right.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.login.check()?;
        if !(1..=BATCH_SAMPLES_MAX).contains(&self.batch_samples) {
            return Err(SettingsError::BatchSamples { given: self.batch_samples, max: BATCH_SAMPLES_MAX });
        }
        if self.buffer_bytes < BUFFER_BYTES_MIN {
            return Err(SettingsError::BufferTooSmall { given: self.buffer_bytes, min: BUFFER_BYTES_MIN });
        }
        for (setting, span) in [("batch_every", self.batch_every), ("timeout", self.timeout)] {
            if span.is_zero() {
                return Err(SettingsError::NoTime { setting });
            }
        }
        self.headers().map(drop)
    }

    /// Returns the headers as they are sent.
    pub(crate) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, SettingsError> {
        let parse = |(name, value): (&String, &String)| {
            let refused = || SettingsError::Header { name: name.clone() };
            let parsed = HeaderName::try_from(name).ok().filter(|name| !OWN_HEADERS.contains(&name.as_str()));
            Ok((parsed.ok_or_else(refused)?, HeaderValue::try_from(value).map_err(|_| refused())?))
        };
        self.headers.iter().map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut Settings), message: &str) {
        let mut settings = Settings::new("http://a:9090/api/v1/write").unwrap();
        settings.check().unwrap();
        change(&mut settings);
        assert_eq!(settings.check().unwrap_err().to_string(), message);
    }

    #[test]
    fn what_cannot_be_met_is_refused_with_what_can() {
        check_refused(|to| to.batch_samples = 0, "a batch of 0 samples is out of range: it must be 1 to 100000");
        check_refused(|to| to.buffer_bytes = 1, "a buffer of 1 bytes is too small: the minimum is 65536");
        check_refused(|to| to.timeout = Duration::ZERO, "`timeout` must be longer than 0");
        let header = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let message =
            "cannot be an extra header: it needs a name and a value of visible characters, and some names are reserved";
        check_refused(|to| to.headers = header("Authorization", "x"), &format!("`Authorization` {message}"));
        check_refused(|to| to.headers = header("a b", "x"), &format!("`a b` {message}"));
        check_refused(|to| to.headers = header("X-Tenant", "a\nb"), &format!("`X-Tenant` {message}"));
    }
}
