//! Errors of a journal and of a study.

use std::{io, path::PathBuf};

use sensor::{HybridError, OpenError};

use crate::SettingsError;

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refused.
    #[error("cannot {doing} the journal `{}`", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
        /// The reason why the action failed.
        source: io::Error,
    },
    /// A line that is none, with others after it.
    #[error("line {line} of the journal `{}` is not a line of a study", path.display())]
    Line {
        /// The journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The problem with the line.
        source: serde_json::Error,
    },
    /// Another file, or a journal whose start was lost.
    #[error("the journal `{}` does not begin with a header: it is not the journal of a study", path.display())]
    NoHeader {
        /// The journal.
        path: PathBuf,
    },
    /// Written by another version of the program.
    #[error("the journal `{}` has format {given}; this program reads format {known}", path.display())]
    Format {
        /// The journal.
        path: PathBuf,
        /// Its format.
        given: u32,
        /// The one that is known.
        known: u32,
    },
    /// Its settings make no study.
    #[error("the settings in the journal `{}` are not valid", path.display())]
    Settings {
        /// The journal.
        path: PathBuf,
        /// The reason why the settings cannot be used.
        source: SettingsError,
    },
    /// Another study is writing it.
    #[error("the journal `{}` is being written by another study: wait for its end, or choose another folder", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// There is nothing to report of.
    #[error("there is no journal `{}`: run a study in this folder first", path.display())]
    Missing {
        /// The journal.
        path: PathBuf,
    },
    /// Studies that were made in different ways say nothing together.
    #[error("the journal `{}` has {name} {given}, and the first one {expected}: such studies cannot be joined", path.display())]
    Unlike {
        /// The journal.
        path: PathBuf,
        /// Name of the setting that differs, as it is called in the journal.
        name: String,
        /// Its value there.
        given: String,
        /// The value of the first journal.
        expected: String,
    },
}

/// A study that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The settings make no study.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The folder holds a study of another kind.
    #[error(
        "the study in `{}` was started with {name} {recorded}, not {given}: use the same settings, or choose another folder",
        dir.display()
    )]
    OtherSettings {
        /// The folder.
        dir: PathBuf,
        /// The first setting that differs.
        name: String,
        /// Its value in the journal.
        recorded: String,
        /// Its value as given.
        given: String,
    },
    /// The folder holds a study of another host.
    #[error(
        "the study in `{}` was started on {recorded}, but this is {given}: choose another folder",
        dir.display()
    )]
    OtherHost {
        /// The folder.
        dir: PathBuf,
        /// The host in the journal.
        recorded: String,
        /// This one.
        given: String,
    },
    /// The host has no `/proc`.
    #[error(transparent)]
    Host(#[from] OpenError),
    /// The hybrid sensor cannot be started so.
    #[error(transparent)]
    Hybrid(#[from] HybridError),
    /// The number of cores cannot be told.
    #[error("cannot find out how many cores this host has")]
    Cores {
        /// The reason why the cores cannot be counted.
        source: io::Error,
    },
}
