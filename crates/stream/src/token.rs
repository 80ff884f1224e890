//! The secret that is shown wherever something listens beyond its own machine.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

/// Fewer characters can be guessed over a network in time.
const LENGTH_MIN: usize = 16;

/// No header that carries a longer one gets through a proxy.
const LENGTH_MAX: u64 = 4096;

/// A shared secret. It is never printed, and comparing it takes the same time wherever two differ.
#[derive(Clone)]
pub struct Token(String);

/// Why a file holds no usable token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It cannot be read.
    #[error("cannot read the token file `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may read it.
    #[error("the token file `{}` can be read by others (mode {mode:03o}); run: chmod 600 '{}'", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Empty, or too short to be a secret.
    #[error("the token in `{}` has {length} characters; it needs {LENGTH_MIN} at least", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// How many it has, space at both ends left out.
        length: usize,
    },
    /// Characters that no `Authorization` header can carry, or too many.
    #[error("the token in `{}` has to be one line of letters, digits and punctuation, up to {LENGTH_MAX} of them", path.display())]
    NotAToken {
        /// The file.
        path: PathBuf,
    },
}

impl Token {
    /// Reads a token from a file of its owner's alone; space and line ends around it are left out.
    ///
    /// # Errors
    /// [`TokenError`] when the file cannot be read, may be read by others, or holds no token of 16 characters or more.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |source| TokenError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Exposed { path: path.to_owned(), mode });
        }
        let mut text = String::new();
        let n_bytes = file.take(LENGTH_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
        let token = text.trim();
        if n_bytes as u64 > LENGTH_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotAToken { path: path.to_owned() });
        }
        if token.len() < LENGTH_MIN {
            return Err(TokenError::TooShort { path: path.to_owned(), length: token.len() });
        }
        Ok(Self(token.to_owned()))
    }

    /// The secret itself, to be shown to whom it is shared with and to nobody else.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this token.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn read(text: &str, mode: u32) -> Result<Token, TokenError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Token::from_file(&path)
    }

    #[test]
    fn a_token_matches_itself_only() {
        let token = read(&format!(" {SECRET}\n"), 0o600).unwrap();
        assert!(token.matches(SECRET));
        for wrong in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            assert!(!token.matches(wrong), "{wrong} was taken");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert!(!format!("{:?}", read(SECRET, 0o400).unwrap()).contains(SECRET));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let error = read(SECRET, 0o640).unwrap_err();
        assert!(matches!(error, TokenError::Exposed { mode: 0o640, .. }), "{error}");
        assert!(error.to_string().contains("chmod 600"));
    }

    #[test]
    fn short_and_broken_tokens_are_refused() {
        assert!(matches!(read("", 0o600), Err(TokenError::TooShort { length: 0, .. })));
        assert!(matches!(read("0123456789abcde\n", 0o600), Err(TokenError::TooShort { length: 15, .. })));
        assert!(matches!(read("two words of some length", 0o600), Err(TokenError::NotAToken { .. })));
        assert!(matches!(read(&"x".repeat(5000), 0o600), Err(TokenError::NotAToken { .. })));
        assert!(matches!(Token::from_file(Path::new("/nonexistent")), Err(TokenError::Unreadable { .. })));
    }
}
