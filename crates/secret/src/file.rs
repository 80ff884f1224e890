//! Reading a secret from the file that holds it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::error::{Exposed, SecretError};
use crate::{Secret, token};

/// The most that is read: whoever names a log by mistake is told so.
const BYTES_MAX: u64 = 64 << 10;

/// Form of a file's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line of visible ASCII characters, as a header carries it; space around it is no part of it.
    Token,
    /// Any text but none at all; line ends after it are no part of it.
    Passphrase,
    /// Any text, which may be empty; line ends after it are no part of it.
    Password,
}

/// Treatment of a file whose mode lets others read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// The file is refused.
    Required,
    /// The file is taken, and [`Found::exposed`] reports it.
    Advised,
}

/// A secret, and what is wrong with its file.
#[derive(Clone, Debug)]
pub struct Found {
    /// The secret.
    pub secret: Secret,
    /// Fault of the file that a person should be shown.
    pub exposed: Option<Exposed>,
}

/// Reads the secret in the file at `path`, which may be a pipe.
///
/// A file of another user is never refused, because root reads those of others by intent; [`Found::exposed`] says so.
///
/// # Errors
/// [`SecretError`], which names the file and nothing that is in it.
pub fn read(path: &Path, form: Form, privacy: Privacy) -> Result<Found, SecretError> {
    let unreadable = |source| SecretError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let exposed = exposure(path, &file.metadata().map_err(unreadable)?);
    if privacy == Privacy::Required
        && let Some(exposed @ Exposed::Mode { .. }) = exposed
    {
        return Err(SecretError::Exposed(exposed));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(SecretError::TooLong { path: path.to_owned(), n_bytes_max: BYTES_MAX });
    }
    let text = String::from_utf8(bytes).map_err(|_| SecretError::NotText { path: path.to_owned() })?;
    let text = match form {
        Form::Token => text.trim(),
        Form::Passphrase | Form::Password => text.trim_end_matches(['\r', '\n']),
    };
    if text.is_empty() && form != Form::Password {
        return Err(SecretError::Empty { path: path.to_owned() });
    }
    if form == Form::Token && !token::is_sendable(text) {
        return Err(SecretError::NotAToken { path: path.to_owned() });
    }
    Ok(Found { secret: Secret::new(text), exposed })
}

/// Makes the file at `path`, of mode 600, with `secret` in it.
///
/// # Errors
/// [`SecretError::Exists`] for a file that is there, which is left as it is; [`SecretError::Unwritable`] when it cannot
/// be made.
pub fn create(path: &Path, secret: &Secret) -> Result<(), SecretError> {
    let unwritable = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => SecretError::Exists { path: path.to_owned() },
        _ => SecretError::Unwritable { path: path.to_owned(), source },
    };
    // The mode is there from the first moment, so that nobody can open the file before it is changed.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(unwritable)?;
    writeln!(file, "{}", secret.reveal()).and_then(|()| file.sync_all()).map_err(unwritable)
}

fn exposure(path: &Path, file: &Metadata) -> Option<Exposed> {
    let (mode, owner) = (file.mode() & 0o777, file.uid());
    if mode & 0o077 != 0 {
        return Some(Exposed::Mode { path: path.to_owned(), mode });
    }
    let is_trusted = owner == 0 || owner == rustix::process::geteuid().as_raw();
    (!is_trusted).then(|| Exposed::Owner { path: path.to_owned(), owner })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A file of mode `mode` that holds `bytes`, read as `form`.
    fn read_as(form: Form, privacy: Privacy, bytes: &[u8], mode: u32) -> Result<Found, SecretError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("the-file");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        read(&path, form, privacy)
    }

    fn revealed(form: Form, text: &str) -> String {
        read_as(form, Privacy::Required, text.as_bytes(), 0o600).unwrap().secret.reveal().to_owned()
    }

    #[test]
    fn what_is_no_part_of_a_secret_depends_on_what_it_is() {
        assert_eq!(revealed(Form::Token, " open-sesame \r\n\n"), "open-sesame");
        assert_eq!(revealed(Form::Passphrase, " open sesame \r\n\n"), " open sesame ");
        assert_eq!(revealed(Form::Password, "\n"), "");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_or_told_of() {
        let error = read_as(Form::Token, Privacy::Required, b"open-sesame", 0o640).unwrap_err();
        assert!(matches!(error, SecretError::Exposed(Exposed::Mode { mode: 0o640, .. })), "{error}");
        assert!(error.to_string().contains("chmod 600"), "{error}");
        let found = read_as(Form::Token, Privacy::Advised, b"open-sesame", 0o644).unwrap();
        assert!(matches!(found.exposed, Some(Exposed::Mode { mode: 0o644, .. })), "{found:?}");
        assert_eq!(read_as(Form::Token, Privacy::Advised, b"open-sesame", 0o400).unwrap().exposed, None);
    }

    #[test]
    fn what_is_no_secret_is_refused_by_the_name_of_its_file_alone() {
        let long = vec![b'x'; 70_000];
        for (form, bytes, reason) in [
            (Form::Token, &b"two words"[..], "visible ASCII"),
            (Form::Token, b" \n", "empty"),
            (Form::Passphrase, b"\r\n", "empty"),
            (Form::Password, b"two\xff", "UTF-8"),
            (Form::Password, &long, "65536 bytes"),
        ] {
            let message = read_as(form, Privacy::Required, bytes, 0o600).unwrap_err().to_string();
            assert!(message.contains("the-file") && message.contains(reason), "{message}");
            assert!(!message.contains("two") && !message.contains("xxx"), "{message}");
        }
        let error = read(Path::new("/nonexistent"), Form::Token, Privacy::Advised).unwrap_err();
        assert!(matches!(error, SecretError::Unreadable { .. }), "{error}");
    }

    #[test]
    fn a_file_that_was_made_is_its_owner_s_alone_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        create(&path, &Secret::new("open-sesame")).unwrap();
        let found = read(&path, Form::Token, Privacy::Required).unwrap();
        assert_eq!((found.secret.reveal(), found.exposed), ("open-sesame", None));
        let error = create(&path, &Secret::new("another")).unwrap_err();
        assert!(matches!(error, SecretError::Exists { .. }), "{error}");
        assert_eq!(read(&path, Form::Token, Privacy::Required).unwrap().secret.reveal(), "open-sesame");
        let error = create(Path::new("/nonexistent/token"), &Secret::new("x")).unwrap_err();
        assert!(matches!(error, SecretError::Unwritable { .. }), "{error}");
    }

    #[test]
    fn the_mode_is_that_of_the_file_that_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "open-sesame").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let error = read(&link, Form::Token, Privacy::Required).unwrap_err();
        assert!(matches!(error, SecretError::Exposed(_)), "{error}");
    }
}
