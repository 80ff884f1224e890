//! The address of a node.

use std::fmt;
use std::str::FromStr;

use http_client::Address;

/// The address of a node: `http://HOST:PORT` or `https://HOST:PORT`, with a path if a proxy before the node forwards
/// requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUrl(Address);

/// Error of a text that is not the address of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not the address of a node: write http://HOST:PORT, https://HOST:PORT or HOST:PORT")]
pub struct NodeUrlError {
    /// The text that was given, without the part before an `@`.
    pub given: String,
}

impl Default for NodeUrl {
    /// A node on this host, as `foretop up` starts it.
    fn default() -> Self {
        Self("http://127.0.0.1:7311".parse().expect("the default is an address"))
    }
}

impl fmt::Display for NodeUrl {
    /// Writes the address without a slash at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.uri().scheme_str().unwrap_or("http");
        write!(f, "{scheme}://{}{}", self.0.host_and_port(), self.0.uri().path().trim_end_matches('/'))
    }
}

impl NodeUrl {
    /// Whether what is sent there leaves this host unencrypted, as far as the address tells.
    #[must_use]
    pub fn is_in_the_clear(&self) -> bool {
        self.0.is_in_the_clear()
    }

    pub(super) fn address(&self) -> &Address {
        &self.0
    }
}

impl From<std::net::SocketAddr> for NodeUrl {
    fn from(address: std::net::SocketAddr) -> Self {
        Self(format!("http://{address}").parse().expect("the address of a socket is an address"))
    }
}

impl FromStr for NodeUrl {
    type Err = NodeUrlError;

    /// The scheme may be left out. A path may follow the port; a query may not.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        match with_scheme.parse::<Address>() {
            Ok(address) if address.uri().query().is_none() => Ok(Self(address)),
            Ok(_) => Err(NodeUrlError { given: text.to_owned() }),
            Err(error) => {
                let given = if text.contains('@') { error.given } else { text.to_owned() };
                Err(NodeUrlError { given })
            }
        }
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
        check("https://db1:7311/", "https://db1:7311");
        check("http://proxy/foretop/", "http://proxy/foretop");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for given in ["", "https://", "http://", "db1 7311", "http://user:secret@db1", "http://db1?x=1", "ftp://db1"] {
            let error = given.parse::<NodeUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
