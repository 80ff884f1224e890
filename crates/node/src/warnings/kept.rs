//! What outlives a restart: which warnings stand, which are silenced, and what nobody was told yet.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use alert::Alert;
use serde::{Deserialize, Serialize};
use units::Timestamp;

const NAME: &str = "warnings.json";

/// The most that is read: ten thousand changes for each of some ways.
const BYTES_MAX: u64 = 64 << 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// By the names of rules.
    pub(super) standing: BTreeMap<String, Stood>,
    /// Rules of which nobody is told, and until when.
    pub(super) silences: BTreeMap<String, Timestamp>,
    /// By the names of ways.
    pub(super) waiting: BTreeMap<String, Vec<Alert>>,
}

/// A warning that stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stood {
    pub(super) since: Timestamp,
    /// What others were told of it; nothing where it was silent.
    pub(super) told: Option<Alert>,
}

/// Where it is, and what is there.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    written: Kept,
}

impl File {
    /// That of a data directory. One that cannot be read is moved out of the way, and said so.
    pub(super) fn open(directory: &Path) -> (Self, Kept) {
        let path = directory.join(NAME);
        let kept = read(&path).unwrap_or_else(|error| {
            let beside = path.with_extension("json.damaged");
            tracing::warn!(path = %path.display(), error = &error as &dyn std::error::Error, beside = %beside.display(),
                "which warnings stood cannot be read; the file is moved, and warnings are raised anew");
            if let Err(error) = fs::rename(&path, &beside) {
                tracing::warn!(path = %path.display(), %error, "it cannot be moved");
            }
            Kept::default()
        });
        (Self { path, written: kept.clone() }, kept)
    }

    /// Writes it, unless it is there already. What was there stays whole whatever happens.
    pub(super) fn write(&mut self, kept: Kept) -> io::Result<()> {
        if kept == self.written {
            return Ok(());
        }
        let part = self.path.with_extension("json.part");
        let mut file = own_file::create(&part)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.sync_all()?;
        fs::rename(&part, &self.path)?;
        self.written = kept;
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Kept> {
    if !path.exists() {
        return Ok(Kept::default());
    }
    let mut text = Vec::new();
    own_file::create(path)?.take(BYTES_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
