//! The secret that is shown wherever something listens beyond its own machine.

use std::path::Path;

use crate::{Form, Privacy, Secret, SecretError, read};

/// Fewer characters can be guessed over a network in time.
pub(crate) const LENGTH_MIN: usize = 16;

/// No header that carries a longer one gets through a proxy.
const LENGTH_MAX: usize = 4096;

/// A secret that both ends of a connection share, long enough not to be guessed.
#[derive(Clone, Debug)]
pub struct Token(Secret);

/// A secret that could be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token of {n_bytes} bytes can be guessed; it needs at least {LENGTH_MIN}")]
pub struct TokenTooShort {
    /// The number of bytes of the token.
    pub n_bytes: usize,
}

impl Token {
    /// The token that `text` is.
    ///
    /// # Errors
    /// When it has fewer than 16 bytes.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, TokenTooShort> {
        let text = text.into();
        match text.len() {
            n_bytes @ ..LENGTH_MIN => Err(TokenTooShort { n_bytes }),
            _ => Ok(Self(Secret::new(text))),
        }
    }

    /// Reads a token from a file of its owner's alone; space and line ends around it are left out.
    ///
    /// # Errors
    /// [`SecretError`] when the file cannot be read, may be read by others, or holds no token of 16 characters or more.
    pub fn from_file(path: &Path) -> Result<Self, SecretError> {
        let secret = read(path, Form::Token, Privacy::Required)?.secret;
        match secret.reveal().len() {
            length @ ..LENGTH_MIN => Err(SecretError::TooShort { path: path.to_owned(), length }),
            _ => Ok(Self(secret)),
        }
    }

    /// The secret itself, to be shown to whom it is shared with and to nobody else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }

    /// Whether `given` is this token.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.0.matches(given)
    }
}

/// Whether a header can carry it.
pub(crate) fn is_sendable(text: &str) -> bool {
    text.len() <= LENGTH_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn token(text: &str, mode: u32) -> Result<Token, SecretError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Token::from_file(&path)
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        assert!(token(" 0123456789abcdef\n", 0o600).unwrap().matches("0123456789abcdef"));
        assert!(matches!(token("0123456789abcdef", 0o640), Err(SecretError::Exposed(_))));
    }

    #[test]
    fn short_and_broken_tokens_are_refused() {
        assert!(matches!(token("0123456789abcde\n", 0o600), Err(SecretError::TooShort { length: 15, .. })));
        assert!(matches!(token("two words of some length", 0o600), Err(SecretError::NotAToken { .. })));
        assert!(matches!(token(&"x".repeat(5000), 0o600), Err(SecretError::NotAToken { .. })));
    }
}
