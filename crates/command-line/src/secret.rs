//! Secrets in files, as commands read them: what is wrong with a file that is used all the same is said on standard
//! error.

use std::path::Path;

use secret::{Exposed, Form, Privacy, Secret, SecretError};

use crate::terminal::say;

/// The token in a file, line ends and spaces around it left out.
///
/// # Errors
/// When the file cannot be read or holds no token.
pub fn read_token(path: &Path) -> Result<Secret, SecretError> {
    read_secret(path, Form::Token)
}

/// The secret in a file. That others can read it too is said on standard error.
///
/// # Errors
/// When the file cannot be read or holds no such secret.
pub fn read_secret(path: &Path, form: Form) -> Result<Secret, SecretError> {
    let found = secret::read(path, form, Privacy::Advised)?;
    warn_of(found.exposed.as_ref());
    Ok(found.secret)
}

/// Says on standard error what is wrong with the file of a secret that is used all the same.
pub fn warn_of(exposed: Option<&Exposed>) {
    if let Some(exposed) = exposed {
        say(&format!("foretop: warning: {exposed}"));
    }
}
