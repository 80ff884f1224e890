//! Tokens, passwords and passphrases: how they are held in memory, the one reader of files that hold them, and
//! [`proof`]s that two sides have the same token.
//!
//! [`read`] opens a file once and checks the very file that it has open, so nothing can be swapped in between the
//! check and the read. This is I/O on a low floor: streams, HTTP clients and feeds need the same reader and may not
//! use each other. No other crate opens a file with a secret in it.
#![forbid(unsafe_code)]

mod error;
mod file;
pub mod proof;
mod token;

use std::fmt;

use subtle::ConstantTimeEq;

pub use error::{Exposed, SecretError};
pub use file::{Form, Found, Privacy, create, read};
pub use token::{Token, TokenTooShort};

/// A text that nothing shows: its `Debug` says nothing of it, and comparing it takes the same time wherever two differ.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// The secret that `text` is.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for those whom it is shared with and nobody else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this secret.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_matches_itself_only_and_is_not_printed() {
        let secret = Secret::new("open sesame");
        assert!(secret.matches("open sesame") && secret == secret.clone());
        for wrong in ["", "open sesamE", "open sesam", "open sesame0"] {
            assert!(!secret.matches(wrong), "{wrong} was taken");
        }
        assert!(!format!("{secret:?}").contains("sesame"));
    }
}
