//! Recordings: in trace files, or in the rings of a job that runs.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clock::Ticks;
use mpi_trace::file::{FileError, Moment, Note, RingNote, TreeNote};
use mpi_trace::{Drain, Recording, RingKind};

use crate::filing::{head_of, head_of_ring, whole_lines};
use crate::folder::names;
use crate::ring_file::rank_of_ring;
use crate::{Folder, JobError};

/// Reasons why there is nothing to read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A job's folder, or something in it.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A file that is no trace.
    #[error("`{}` is no trace file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        source: FileError,
    },
    /// A folder without traces.
    #[error("there are neither trace files (*.ftrace) nor rings (*.ring) in `{}`", path.display())]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
}

/// Reads a trace file, all trace files of a folder, or what the rings of a job's folder hold at this moment; by rank.
///
/// # Errors
/// If there is nothing to read, or a file does not begin as a trace. Files that are cut off or damaged later are read
/// up to there: [`Recording::fault`].
pub fn read(path: &Path) -> Result<Vec<Recording>, ReadError> {
    let mut recordings = if path.is_dir() {
        let names = names(path)?;
        let mut files: Vec<&String> = names.iter().filter(|name| name.ends_with(".ftrace")).collect();
        files.sort();
        if files.is_empty() && names.iter().any(|name| rank_of(name).is_some()) {
            Folder::open(path)?.recordings()?
        } else {
            let read = files.iter().map(|name| read_file(&path.join(name)));
            read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
    } else {
        read_file(path)?
    };
    if recordings.is_empty() {
        return Err(ReadError::Nothing { path: path.to_owned() });
    }
    recordings.sort_by_key(|recording: &Recording| recording.head.rank);
    Ok(recordings)
}

fn read_file(path: &Path) -> Result<Vec<Recording>, ReadError> {
    let file = File::open(path).map_err(JobError::file("open", path))?;
    Recording::read(BufReader::new(file)).map_err(|source| ReadError::File { path: path.to_owned(), source })
}

/// Returns the rank of a ring or a file of definitions.
fn rank_of(name: &str) -> Option<u32> {
    let defined = || name.strip_prefix("rank-")?.strip_suffix(".jsonl")?.parse().ok();
    rank_of_ring(name).or_else(defined)
}

impl Folder {
    /// Ranks of this host, in order: those that have said who they are or made a ring.
    pub(crate) fn ranks(&self) -> Result<Vec<u32>, JobError> {
        let mut ranks: Vec<u32> = names(self.path())?.iter().filter_map(|name| rank_of(name)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Ok(ranks)
    }

    /// Returns the contents of the rings at this moment, by rank. Nothing is taken out of them.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn recordings(&self) -> Result<Vec<Recording>, JobError> {
        let mut recordings: Vec<Recording> = Vec::new();
        for (_, text) in self.definitions()? {
            let Some(head) = head_of(&text) else { continue };
            let mut recording = Recording::new(head);
            let notes = whole_lines(&text).skip(1).filter_map(|line| serde_json::from_str::<Note>(line).ok());
            notes.for_each(|note| recording.note(note));
            recordings.push(recording);
        }
        for file in self.rings()?.into_iter().flatten() {
            let header = &file.header;
            let place = recordings.iter().position(|recording| recording.head.rank == header.rank);
            let place = place.unwrap_or_else(|| {
                recordings.push(Recording::new(head_of_ring(header)));
                recordings.len() - 1
            });
            let recording = &mut recordings[place];
            let number = recording.rings.len() as u32;
            recording.note(RingNote::of(number, header).into());
            let mut events = Vec::new();
            let n_lost = Drain::new(file.ring()).take(usize::MAX, &mut events);
            recording.events(number, n_lost, events).expect("the ring was noted right before");
            if header.kind == RingKind::Stages
                && recording.trees.iter().all(|tree| tree.tree != header.tree)
                && let Some(text) = self.tree()?
            {
                recording.note(TreeNote { tree: header.tree, text }.into());
            }
            if header.is_counter {
                let reading = Ticks::Counter.reading();
                recording.note(Moment { ticks: reading.ticks, monotonic_ns: reading.monotonic_ns }.into());
            }
        }
        Ok(recordings)
    }
}
