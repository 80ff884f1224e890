//! The file of rules, which is read again when it has changed.

use std::fs;
use std::path::{Path, PathBuf};

use warn::{Rules, RulesError};

/// Rules and the file that they are from.
#[derive(Clone, Debug)]
pub struct RulesFile {
    path: PathBuf,
    text: String,
    rules: Rules,
}

/// The reason why there are no rules.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesFileError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason why not.
        source: std::io::Error,
    },
    /// It has no rules.
    #[error("`{}` is no file of rules", path.display())]
    Rules {
        /// The file.
        path: PathBuf,
        /// The reason why not.
        source: RulesError,
    },
}

impl RulesFile {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of rules.
    pub fn open(path: &Path) -> Result<Self, RulesFileError> {
        let path = path.to_owned();
        match fs::read_to_string(&path) {
            Err(source) => Err(RulesFileError::Read { path, source }),
            Ok(text) => match text.parse() {
                Ok(rules) => Ok(Self { path, text, rules }),
                Err(source) => Err(RulesFileError::Rules { path, source }),
            },
        }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the rules in the file.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Takes what is in the file now, and says whether that is something else. When it is of no use, what was there
    /// before stays.
    pub(super) fn refresh(&mut self) -> Result<bool, RulesFileError> {
        let fresh = Self::open(&self.path)?;
        let has_changed = fresh.text != self.text;
        *self = fresh;
        Ok(has_changed)
    }
}
