//! What can be wrong with a file that is to hold a secret. No message says anything of what is in it.

use std::io;
use std::path::PathBuf;

use crate::token::LENGTH_MIN;

/// Why a file gives no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It cannot be opened or read.
    #[error("cannot read the secret in `{}`{}", path.display(), remedy(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is there already, and somebody may rely on what is in it.
    #[error("`{}` is there already, and is left as it is; name another file, or remove this one first", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be made or written.
    #[error("cannot write the secret to `{}`", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may read or change it.
    #[error(transparent)]
    Exposed(Exposed),
    /// Longer than any secret.
    #[error("`{}` is too long for a secret: the limit is {n_bytes_max} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        n_bytes_max: u64,
    },
    /// Not UTF-8.
    #[error("`{}` is not text; save it as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing in it.
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
    /// Too short to be shared.
    #[error("the token in `{}` has {length} characters; it needs at least {LENGTH_MIN}", path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// How many it has, space at both ends left out.
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
        /// Whose it is.
        owner: u32,
    },
}
