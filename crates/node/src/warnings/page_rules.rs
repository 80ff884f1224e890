//! The rules that were made on the page, and the file of the data directory that keeps them.

use std::io;
use std::path::{Path, PathBuf};

use warn::{Rule, Rules};

use super::whole;

const NAME: &str = "rules.toml";

/// Rules of the page, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct PageRules {
    /// `None` where they are kept in memory alone.
    path: Option<PathBuf>,
    rules: Vec<Rule>,
}

impl PageRules {
    /// Returns the path of the rules in a data directory.
    pub(super) fn place(directory: &Path) -> PathBuf {
        directory.join(NAME)
    }

    /// Those of a data directory. A file that cannot be read is moved out of the way, and said so.
    pub(super) fn open(directory: &Path) -> Self {
        let path = Self::place(directory);
        let rules = whole::read(&path, "the rules that were made on the page", |bytes| {
            let text = str::from_utf8(bytes).map_err(io::Error::other)?;
            // A file of rules has some; the page may have none.
            if text.trim().is_empty() {
                return Ok(Vec::new());
            }
            text.parse::<Rules>().map(|rules| rules.rules().to_vec()).map_err(io::Error::other)
        });
        Self { path: Some(path), rules }
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether they outlive a restart.
    pub(crate) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// Has these in place of those before, once they are written.
    pub(crate) fn replace(&mut self, rules: Vec<Rule>) -> io::Result<()> {
        if let Some(path) = &self.path {
            whole::write(path, Rules::to_toml(&rules).as_bytes())?;
        }
        self.rules = rules;
        Ok(())
    }
}
