//! The arm without programs in the kernel: what /proc counts anyway.

use std::fs;
use std::path::{Path, PathBuf};

use crate::control::PointState;
use crate::{Arm, Counters, Error, Reading, Subsystem};

/// The part of a subsystem of the whole host that /proc counts.
#[derive(Clone, Debug)]
pub struct FromProc {
    root: PathBuf,
    subsystem: &'static Subsystem,
}

impl FromProc {
    /// Builds a source that reads below `root`, which is `/proc` but in tests.
    #[must_use]
    pub fn new(root: &Path, subsystem: &'static Subsystem) -> Self {
        Self { root: root.into(), subsystem }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// With its path.
    pub fn text(&self, name: &str) -> Result<String, Error> {
        let path = self.root.join(name);
        fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
    }

    /// Returns the number behind a name at the start of a line.
    ///
    /// # Errors
    /// If there is no such line.
    pub fn number(&self, text: &str, file: &str, name: &'static str) -> Result<u64, Error> {
        let found =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', ':'])?.trim().parse().ok());
        found.ok_or_else(|| Error::Malformed { path: self.root.join(file), what: name })
    }

    /// Returns the folders of all processes.
    #[must_use]
    pub fn processes(&self) -> Vec<PathBuf> {
        let is_process = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
        };
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_process).collect()
    }
}

/// Returns counters of which only the count is known.
#[must_use]
pub(crate) fn counted(count: u64) -> Counters {
    Counters { count: Some(count), sampled: count, ..Counters::default() }
}

impl Arm for FromProc {
    fn name(&self) -> &'static str {
        "proc"
    }

    fn read(&mut self) -> Result<Reading, Error> {
        let mut reading = (self.subsystem.from_proc)(self)?;
        reading.at_ns = clock::monotonic_ns();
        Ok(reading)
    }

    fn set_weight(&mut self, _weight: u32) -> Result<(), Error> {
        Ok(())
    }

    fn set_states(&mut self, _states: &[PointState]) -> Result<(), Error> {
        Ok(())
    }

    fn set_shed(&mut self, _is_shed: bool) -> Result<(), Error> {
        Ok(())
    }

    fn missing(&self) -> Vec<String> {
        match self.subsystem.proc_lacks {
            "" => Vec::new(),
            lacks => vec![format!("{}: /proc lacks {lacks}", self.subsystem.name)],
        }
    }
}
