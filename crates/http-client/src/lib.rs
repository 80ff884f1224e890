//! Common parts of all HTTP clients of the workspace: an address without secrets, a log-in, trusted certificates, a
//! client with limits.

mod trust;

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use secret::{Exposed, Form, Found, Privacy, SecretError};
use ureq::{
    Agent,
    http::{HeaderValue, Uri},
};

pub use trust::{Trust, TrustError};

/// Address of a server: `http://host:port/path` or `https://…`, with a host and without a name to log in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Uri);

/// A text that is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no address of a server: it is `http://host:port/path` or `https://host:port/path`, and who logs in is said elsewhere"
)]
pub struct AddressError {
    /// The text given, without what stands before an `@`.
    pub given: String,
}

/// Log-in to a server. Secrets are in files, which are read for each request, so that they can be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// Not at all.
    #[default]
    None,
    /// Log-in by a token (RFC 6750).
    Bearer {
        /// The file with the token: one line of visible ASCII characters, blanks around it left out.
        token_file: PathBuf,
    },
    /// Log-in by a name and a password (RFC 7617).
    Basic {
        /// The name, without a colon.
        user: String,
        /// The file with the password, line ends after it left out.
        password_file: PathBuf,
    },
}

/// The reason why nobody can be logged in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The name to log in with cannot be sent.
    #[error("`{}` cannot be a name to log in with: it has no colon and no control characters", given.escape_debug())]
    User {
        /// The name given.
        given: String,
    },
    /// The file has no secret to log in with.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// The reason why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The server is not trusted.
    #[error(transparent)]
    Untrusted(Box<tls::Complaint>),
    /// Anything else.
    #[error(transparent)]
    Client(Box<ureq::Error>),
}

/// A client of one server that gives up after `timeout`, from a request's first byte to the answer's last, follows no
/// redirect by itself, and takes answers of any status.
#[must_use]
pub fn agent(timeout: Duration, accept: &'static str, server: &Address, trust: &Trust) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // Who is asked is a neighbour. What the environment says is for the way out.
        .proxy(None)
        .user_agent(concat!("foretop/", env!("CARGO_PKG_VERSION")))
        .accept(accept);
    // The system's certificates take time and memory, which who speaks in the clear does not spend.
    let config = if server.is_https() { config.tls_config(trust.config()).https_only(true) } else { config };
    config.build().new_agent()
}

/// A client for bodies without an end, at servers anywhere: it gives up when nothing comes for `silence`, follows five
/// redirects, and takes answers of any status.
#[must_use]
pub fn media_agent(silence: Duration, trust: &Trust) -> Agent {
    Agent::config_builder()
        .timeout_connect(Some(silence))
        .timeout_recv_response(Some(silence))
        .timeout_per_read(Some(silence))
        .http_status_as_error(false)
        .max_redirects(5)
        .user_agent(concat!("foretop/", env!("CARGO_PKG_VERSION")))
        .tls_config(trust.config())
        .build()
        .new_agent()
}

impl Address {
    /// The address as the client takes it.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.0
    }

    /// Host and port: what to call a server that was not given a name.
    #[must_use]
    pub fn host_and_port(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }

    /// Whether what is sent there is encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// Whether what is sent there leaves this host unencrypted, as far as the address tells.
    #[must_use]
    pub fn is_in_the_clear(&self) -> bool {
        let host = self.0.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        let is_loopback =
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address: IpAddr| address.is_loopback());
        !self.is_https() && !is_loopback
    }

    /// The address of `path` below this one, whatever query this one has.
    ///
    /// # Panics
    /// When `path` is no path of an address; it is a constant of whoever calls.
    #[must_use]
    pub fn join(&self, path: &'static str) -> Address {
        let base = self.0.path().trim_end_matches('/');
        let scheme = self.0.scheme_str().unwrap_or("http");
        let text = format!("{scheme}://{}{base}{path}", self.host_and_port());
        Address(text.parse().expect("a path after an address is an address"))
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let uri = text.parse::<Uri>().ok().filter(|uri| {
            let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
                && !has_user
        });
        // What stands before an `@` may be a password.
        let shown = match text.rsplit_once('@') {
            Some((_, host)) => format!("\u{2026}@{}", host.escape_debug()),
            None => text.escape_debug().to_string(),
        };
        uri.map(Address).ok_or(AddressError { given: shown })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl From<ureq::Error> for RequestError {
    fn from(error: ureq::Error) -> Self {
        let complaint = match &error {
            ureq::Error::Io(error) => tls::Complaint::of_io(error),
            ureq::Error::Rustls(error) => tls::Complaint::of(error),
            _ => None,
        };
        complaint.map_or_else(|| Self::Client(Box::new(error)), |complaint| Self::Untrusted(Box::new(complaint)))
    }
}

impl Login {
    /// Checks that the name can be sent. Secrets are looked at when they are needed.
    ///
    /// # Errors
    /// [`LoginError::User`].
    pub fn check(&self) -> Result<(), LoginError> {
        match self {
            Login::Basic { user, .. } if user.contains(|c: char| c == ':' || c.is_control()) => {
                Err(LoginError::User { given: user.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The value of the header `Authorization`; `None` where nobody logs in.
    ///
    /// # Errors
    /// [`LoginError::Secret`].
    pub fn authorization(&self) -> Result<Option<HeaderValue>, LoginError> {
        let Some(found) = self.secret()? else { return Ok(None) };
        let text = match self {
            Login::Basic { user, .. } => {
                format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{}", found.secret.reveal())))
            }
            _ => format!("Bearer {}", found.secret.reveal()),
        };
        let mut value = HeaderValue::try_from(text).expect("base64 and what is read as a token can be sent");
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Returns the warning about the file that the secret is in, where the file is there already.
    #[must_use]
    pub fn exposed(&self) -> Option<Exposed> {
        self.secret().ok()??.exposed
    }

    fn secret(&self) -> Result<Option<Found>, SecretError> {
        let (path, form) = match self {
            Login::None => return Ok(None),
            Login::Bearer { token_file } => (token_file, Form::Token),
            Login::Basic { password_file, .. } => (password_file, Form::Password),
        };
        secret::read(path, form, Privacy::Advised).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_or_with_a_password_is_refused_and_the_password_not_shown() {
        for refused in ["ftp://a/", "http:///write", "a:9090", "", "https:///"] {
            assert!(refused.parse::<Address>().is_err(), "{refused}");
        }
        let error = "http://me:secret@host/".parse::<Address>().unwrap_err();
        assert!(error.given.contains("host") && !error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn what_leaves_the_host_without_encryption_is_known() {
        for (address, is_clear) in [
            ("http://db1:7311", true),
            ("http://10.0.0.1", true),
            ("http://localhost.example", true),
            ("https://db1", false),
            ("http://LOCALHOST:7311", false),
            ("http://127.0.0.2", false),
            ("http://[::1]:7311", false),
        ] {
            assert_eq!(address.parse::<Address>().unwrap().is_in_the_clear(), is_clear, "{address}");
        }
    }

    #[test]
    fn a_path_is_put_below_the_path_of_the_address() {
        for (address, joined) in [
            ("http://a:9090", "http://a:9090/api/v1/query"),
            ("http://a:9090/", "http://a:9090/api/v1/query"),
            ("https://a", "https://a/api/v1/query"),
            ("http://a/prometheus/?x=y", "http://a/prometheus/api/v1/query"),
        ] {
            assert_eq!(address.parse::<Address>().unwrap().join("/api/v1/query").to_string(), joined);
        }
    }
}
