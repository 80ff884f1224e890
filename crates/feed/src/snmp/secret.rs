//! A community or a passphrase, which nothing shows.

use std::{env, fmt, fs, io, path::Path};

/// A community or a passphrase. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

/// Why a secret is not to be had. Says where it was looked for and nothing of what is there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The file cannot be read, or is no UTF-8.
    #[error("cannot read the secret in `{}`", path.display())]
    Unreadable {
        /// The file.
        path: Box<Path>,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such variable, or it is no UTF-8.
    #[error("there is no secret in the environment variable `{variable}`")]
    NoVariable {
        /// Its name.
        variable: String,
    },
    /// There is nothing in it.
    #[error("the secret in `{place}` is empty")]
    Empty {
        /// The file or the variable.
        place: String,
    },
}

impl Secret {
    /// The secret that `text` is.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Secret {
        Secret(text.into())
    }

    /// What is in the file at `path`, without the ends of lines after it.
    ///
    /// # Errors
    /// When it cannot be read or holds nothing.
    pub fn from_file(path: &Path) -> Result<Secret, SecretError> {
        let text = fs::read_to_string(path).map_err(|source| SecretError::Unreadable { path: path.into(), source })?;
        Secret::not_empty(text.trim_end_matches(['\r', '\n']), || path.display().to_string())
    }

    /// What is in the environment variable called `variable`.
    ///
    /// # Errors
    /// When there is none or it holds nothing.
    pub fn from_environment(variable: &str) -> Result<Secret, SecretError> {
        let text = env::var(variable).map_err(|_| SecretError::NoVariable { variable: variable.to_owned() })?;
        Secret::not_empty(&text, || variable.to_owned())
    }

    fn not_empty(text: &str, place: impl FnOnce() -> String) -> Result<Secret, SecretError> {
        if text.is_empty() {
            return Err(SecretError::Empty { place: place() });
        }
        Ok(Secret::new(text))
    }

    /// The secret itself, for the protocol.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_ends_of_lines_after_a_secret_in_a_file_are_no_part_of_it() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b" open sesame \r\n\n").unwrap();
        assert_eq!(Secret::from_file(file.path()).unwrap().reveal(), " open sesame ");
    }

    #[test]
    fn a_file_without_a_secret_is_refused_by_its_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Secret::from_file(file.path()).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()) && error.contains("empty"), "{error}");
    }

    #[test]
    fn nothing_of_a_secret_is_shown() {
        assert_eq!(format!("{:?}", Secret::new("open sesame")), "Secret(..)");
    }
}
