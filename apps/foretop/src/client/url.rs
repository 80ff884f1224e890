//! Where a node is.

use std::fmt;
use std::str::FromStr;

use ureq::http::Uri;

/// `http://HOST:PORT`, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUrl(String);

/// A text that says not where a node is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not the address of a node: write http://HOST:PORT or HOST:PORT")]
pub struct NodeUrlError {
    given: String,
}

impl Default for NodeUrl {
    fn default() -> Self {
        Self("http://127.0.0.1:7311".to_owned())
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::net::SocketAddr> for NodeUrl {
    fn from(address: std::net::SocketAddr) -> Self {
        Self(format!("http://{address}"))
    }
}

impl FromStr for NodeUrl {
    type Err = NodeUrlError;

    /// A path may follow the port, for a node behind something that hands requests on.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NodeUrlError { given: text.to_owned() };
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = with_scheme.parse().map_err(|_| refused())?;
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if uri.scheme_str() != Some("http") || !has_host || uri.query().is_some() || with_scheme.contains('@') {
            return Err(refused());
        }
        Ok(Self(with_scheme.trim_end_matches('/').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(given.parse::<NodeUrl>().unwrap().to_string(), expected);
    }

    #[test]
    fn the_scheme_may_be_left_out() {
        check("db1:7311", "http://db1:7311");
        check("http://[::1]:7311/", "http://[::1]:7311");
        check("http://proxy/foretop/", "http://proxy/foretop");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for given in ["", "https://db1", "http://", "db1 7311", "http://user:secret@db1", "http://db1?x=1", "ftp://db1"]
        {
            assert!(given.parse::<NodeUrl>().is_err(), "{given} was taken");
        }
    }
}
