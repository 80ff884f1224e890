//! The folder beside a result file in which parts of an unfinished run wait.
//!
//! A part is a pair of files whose names end in their digests: whatever became of a disk, a file that does not have its
//! digest is no part. Every file is written under another name, brought to the disk, and renamed, so that nobody ever
//! sees half of one.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::identity::Identity;
use crate::rows::Part;
use crate::run::RunError;
use crate::trace::hexadecimal;

const IDENTITY: &str = "campaign.json";
const LOCK: &str = "lock";
/// The number of digits of a digest in a file's name; enough that no accident repeats it.
const N_HEX: usize = 32;

/// A folder of parts that nobody else writes to.
#[derive(Debug)]
pub(crate) struct Parts {
    folder: PathBuf,
    /// Files by what their names begin with.
    names: BTreeMap<String, String>,
    /// Held as long as this lives.
    _lock: File,
}

/// One of the two files of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Results,
    Timings,
}

/// The state of a part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    Whole,
    Absent,
    /// A file of it is not what it was when it was written.
    Broken(PathBuf),
}

impl Parts {
    /// Opens the parts of a campaign; a folder that is there already has to be of the same one.
    pub(crate) fn open(folder: PathBuf, identity: &Identity) -> Result<Self, RunError> {
        let failed_at = |path: &Path| {
            let path = path.to_owned();
            move |source| RunError::Io { doing: "make", path, source }
        };
        fs::create_dir_all(&folder).map_err(failed_at(&folder))?;
        let lock_path = folder.join(LOCK);
        let lock = own_file::create(&lock_path).map_err(failed_at(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunError::Busy { folder }),
            Err(TryLockError::Error(source)) => return Err(RunError::Io { doing: "lock", path: lock_path, source }),
        }
        let mut parts = Self { folder, names: BTreeMap::new(), _lock: lock };
        let path = parts.folder.join(IDENTITY);
        match fs::read(&path) {
            Ok(bytes) => {
                let known: Identity = serde_json::from_slice(&bytes)
                    .map_err(|source| RunError::Identity { path: path.clone(), source })?;
                match known.difference(identity) {
                    Some(what) => return Err(RunError::OtherCampaign { folder: parts.folder, what }),
                    None => parts.look()?,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let bytes = serde_json::to_vec_pretty(identity).expect("names and numbers can be written");
                parts.write(IDENTITY, &bytes)?;
            }
            Err(source) => return Err(RunError::Io { doing: "read", path, source }),
        }
        Ok(parts)
    }

    /// Takes note of the files there are, and away what a run that was killed left unfinished. What stays of that does
    /// no harm.
    fn look(&mut self) -> Result<(), RunError> {
        let failed = |source| RunError::Io { doing: "list", path: self.folder.clone(), source };
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if name.starts_with(".tmp") {
                let _ = fs::remove_file(self.folder.join(&name));
            } else if let Some((beginning, _)) = name.split_once('.') {
                self.names.insert(beginning.to_owned(), name);
            }
        }
        Ok(())
    }

    /// Returns the state of the part with these cases. Every byte of the part is read.
    pub(crate) fn state(&self, cases: &Range<u64>) -> Result<State, RunError> {
        for kind in [Kind::Results, Kind::Timings] {
            let Some(path) = self.find(cases, kind) else { return Ok(State::Absent) };
            let bytes = read(&path)?;
            let is_whole = path.file_name().is_some_and(|name| *name == *file_name(cases, kind, &bytes));
            if !is_whole {
                return Ok(State::Broken(path));
            }
        }
        Ok(State::Whole)
    }

    fn find(&self, cases: &Range<u64>, kind: Kind) -> Option<PathBuf> {
        self.names.get(&beginning(cases, kind)).map(|name| self.folder.join(name))
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<(), RunError> {
        fs::remove_file(path).map_err(|source| RunError::Io { doing: "remove", path: path.to_owned(), source })
    }

    /// The timings first, so that where the results are the timings are too.
    pub(crate) fn add(&mut self, cases: &Range<u64>, part: &Part) -> Result<(), RunError> {
        for (kind, bytes) in [(Kind::Timings, &part.timings), (Kind::Results, &part.results)] {
            let name = file_name(cases, kind, bytes);
            self.write(&name, bytes)?;
            self.names.insert(beginning(cases, kind), name);
        }
        Ok(())
    }

    /// The bytes of a part that is there.
    pub(crate) fn read(&self, cases: &Range<u64>, kind: Kind) -> Result<Vec<u8>, RunError> {
        let absent = || RunError::Io {
            doing: "read",
            path: self.folder.join(beginning(cases, kind)),
            source: io::ErrorKind::NotFound.into(),
        };
        read(&self.find(cases, kind).ok_or_else(absent)?)
    }

    /// A file in the folder that is to be moved somewhere else on the same disk.
    pub(crate) fn temporary(&self) -> Result<NamedTempFile, RunError> {
        let failed = |source| RunError::Io { doing: "write to", path: self.folder.clone(), source };
        // What others may read is for the user's mask to say; a temporary file is private otherwise.
        let everybody = fs::Permissions::from_mode(0o666);
        tempfile::Builder::new().permissions(everybody).tempfile_in(&self.folder).map_err(failed)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        let path = self.folder.join(name);
        let failed = |source| RunError::Io { doing: "write", path: path.clone(), source };
        let mut file = self.temporary()?;
        file.write_all(bytes).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Takes the folder away with all that is in it.
    pub(crate) fn discard(self) -> Result<(), RunError> {
        fs::remove_dir_all(&self.folder).map_err(|source| RunError::Io {
            doing: "remove",
            path: self.folder.clone(),
            source,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    fs::read(path).map_err(|source| RunError::Io { doing: "read", path: path.to_owned(), source })
}

fn beginning(Range { start, end }: &Range<u64>, kind: Kind) -> String {
    let kind = match kind {
        Kind::Results => "results",
        Kind::Timings => "timings",
    };
    format!("{kind}-{start:012}-{end:012}")
}

fn file_name(cases: &Range<u64>, kind: Kind, bytes: &[u8]) -> String {
    format!("{}.{}.parquet", beginning(cases, kind), &hexadecimal(&Sha256::digest(bytes))[..N_HEX])
}
