//! Faults of a file that is to hold a secret. No message shows anything of its contents.

use std::io;
use std::path::PathBuf;

use crate::token::LENGTH_MIN;

/// Reasons why a file gives no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// A file that cannot be opened or read.
    #[error("cannot read the secret in `{}`{}", path.display(), remedy(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that is there already; somebody may rely on its contents.
    #[error("`{}` is there already, and is left as it is; name another file, or remove this one first", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file that cannot be made or written.
    #[error("cannot write the secret to `{}`", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that others than its owner may read or change.
    #[error(transparent)]
    Exposed(Exposed),
    /// A file that is longer than any secret.
    #[error("`{}` is too long for a secret: the limit is {n_bytes_max} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        n_bytes_max: u64,
    },
    /// A file that is not UTF-8.
    #[error("`{}` is not text; save it as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file without contents.
    #[error("the secret in `{}` is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Characters that no header can carry.
    #[error("`{}` holds no token: one line of visible ASCII characters is needed", path.display())]
    NotAToken {
        /// The file.
        path: PathBuf,
    },
    /// A token that is too short to be shared.
    #[error("the token in `{}` has {length} characters; it needs at least {LENGTH_MIN}", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// The number of characters that it has, space at both ends left out.
        length: usize,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => " (`foretop token new FILE` makes a token)",
        _ => "",
    }
}

/// A secret that is not its owner's alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Exposed {
    /// The file's mode lets its group or everybody in.
    #[error("the secret in `{}` can be read by others (mode {mode:03o}); run: chmod 600 '{}'", path.display(), path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file belongs to somebody who is neither who runs this nor root.
    #[error("the secret in `{}` belongs to user {owner}, who can read and change it; make it your own", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// The owner of the file.
        owner: u32,
    },
}
