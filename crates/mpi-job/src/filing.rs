//! Rings become trace files: at the end of a process, after its death, or while it runs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clock::{Ticks, monotonic_ns};
use mpi_trace::file::{Head, Moment, Note, RingNote, TreeNote, VERSION, Writer};
use mpi_trace::{Cursor, Drain, Event, RingHeader, RingKind};

use crate::{Folder, JobError, RingFile, kernel_of};

/// Records that are taken from a ring at a time.
const N_AT_ONCE: usize = 1 << 16;

/// The file of one rank, as it is written.
///
/// Whoever makes one has [claimed](Folder::claim) the rank: the process itself when it ends, or a [`Sidecar`].
#[derive(Debug)]
pub struct Filing {
    rank: u32,
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    n_lines: usize,
    rings: Vec<Ring>,
    trees: Vec<u64>,
    events: Vec<Event>,
}

#[derive(Debug)]
struct Ring {
    file: RingFile,
    cursor: Cursor,
}

/// Files the rings of all ranks of this host, and notes what the kernel says of them.
#[derive(Debug)]
pub struct Sidecar {
    folder: Folder,
    into: PathBuf,
    filings: BTreeMap<u32, Filing>,
    n_samples: u32,
    next_sample_ns: u64,
}

/// Interval between samples of the kernel's counts at first, in nanoseconds.
const SAMPLE_NS: u64 = 250_000_000;
/// Number of samples after which only half as many are taken: a rank that runs for a day leaves a megabyte of them.
const N_AT_A_RATE: u32 = 1_024;

/// Returns the name of a rank's trace file. A host's name may come from anywhere.
#[must_use]
pub fn file_name(host: &str, rank: u32) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let host: String = host.trim_start_matches('.').chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{}.{rank}.ftrace", if host.is_empty() { "host" } else { &host })
}

impl Filing {
    /// Begins the file of a rank in the folder `into`, which is made if it is not there; a file of that name is
    /// replaced. None if another has claimed the rank, or has not said yet who it is.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(folder: &Folder, rank: u32, into: &Path) -> Result<Option<Self>, JobError> {
        let head = folder.read(&definitions_name(rank))?.and_then(|text| head_of(&text));
        let head_of_dead = || {
            let paths = folder.ring_paths(|other| other == rank).ok()?;
            let ring = paths.iter().find_map(|path| RingFile::open(path).ok())?;
            (!ring.process().is_running()).then(|| head_of_ring(&ring.header))
        };
        let Some(head) = head.or_else(head_of_dead) else { return Ok(None) };
        if !folder.claim(rank)? {
            return Ok(None);
        }
        fs::create_dir_all(into).map_err(JobError::file("make the folder", into))?;
        let path = into.join(file_name(&head.host, rank));
        let out = File::create(&path).map_err(JobError::file("make", &path))?;
        let writer = Writer::new(BufWriter::new(out), &head).map_err(JobError::file("write", &path))?;
        let (rings, trees, events) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Some(Self { rank, path, writer, n_lines: 1, rings, trees, events }))
    }

    /// Writes what is new since the last time, and passes it on to the file. Gives how many events that were.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn follow(&mut self, folder: &Folder) -> Result<usize, JobError> {
        self.follow_definitions(folder)?;
        self.find_rings(folder)?;
        let mut n_events = 0;
        for (number, Ring { file, cursor }) in (0..).zip(&mut self.rings) {
            let mut drain = Drain::from(file.ring(), *cursor);
            // What is written while this reads waits for the next time, so that a quick writer does not keep a slow
            // reader here.
            let until = file.ring().n_written();
            while drain.cursor().position < until && !drain.is_dry() {
                self.events.clear();
                let n_lost = drain.take(N_AT_ONCE, &mut self.events);
                if n_lost > 0 || !self.events.is_empty() {
                    n_events += self.events.len();
                    let written = self.writer.events(number, n_lost, &self.events);
                    written.map_err(JobError::file("write", &self.path))?;
                }
            }
            *cursor = drain.cursor();
        }
        self.writer.flush().map_err(JobError::file("write", &self.path))?;
        Ok(n_events)
    }

    /// Writes the rest, and ends the file.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn finish(mut self, folder: &Folder) -> Result<PathBuf, JobError> {
        self.follow(folder)?;
        if self.rings.iter().any(|ring| ring.file.header.is_counter) {
            let reading = Ticks::Counter.reading();
            self.note(Moment { ticks: reading.ticks, monotonic_ns: reading.monotonic_ns }.into())?;
        }
        self.writer.flush().map_err(JobError::file("write", &self.path))?;
        Ok(self.path)
    }

    fn follow_definitions(&mut self, folder: &Folder) -> Result<(), JobError> {
        let Some(text) = folder.read(&definitions_name(self.rank))? else { return Ok(()) };
        for line in whole_lines(&text).skip(self.n_lines) {
            self.n_lines += 1;
            // A line that is no note was written by a process that broke; the others are of use without it.
            if let Ok(note) = serde_json::from_str::<Note>(line) {
                self.note(note)?;
            }
        }
        Ok(())
    }

    fn find_rings(&mut self, folder: &Folder) -> Result<(), JobError> {
        let rank = self.rank;
        for path in folder.ring_paths(|other| other == rank)? {
            if self.rings.iter().any(|known| known.file.path == path) {
                continue;
            }
            // A file that is no ring was told when somebody listed them; here it hides nothing.
            let Ok(file) = RingFile::open(&path) else { continue };
            self.note(RingNote::of(self.rings.len() as u32, &file.header).into())?;
            let tree = file.header.tree;
            if file.header.kind == RingKind::Stages && !self.trees.contains(&tree) {
                self.trees.push(tree);
                if let Some(text) = folder.tree()? {
                    self.note(TreeNote { tree, text }.into())?;
                }
            }
            self.rings.push(Ring { file, cursor: Cursor::default() });
        }
        Ok(())
    }

    fn note(&mut self, note: Note) -> Result<(), JobError> {
        self.writer.note(&note).map_err(JobError::file("write", &self.path))
    }
}

impl Sidecar {
    /// Builds the sidecar of a job, with files in the folder `into`.
    #[must_use]
    pub fn new(folder: Folder, into: PathBuf) -> Self {
        Self { folder, into, filings: BTreeMap::new(), n_samples: 0, next_sample_ns: 0 }
    }

    /// The job's folder.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Files what is new of all ranks that nobody else has claimed. Gives how many events that were.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn follow(&mut self) -> Result<usize, JobError> {
        for rank in self.folder.ranks()? {
            if !self.filings.contains_key(&rank)
                && let Some(filing) = Filing::begin(&self.folder, rank, &self.into)?
            {
                self.filings.insert(rank, filing);
            }
        }
        self.filings.values_mut().map(|filing| filing.follow(&self.folder)).sum()
    }

    /// Notes what the kernel says of each rank, if it is time again: four times a second, and half as often after each
    /// 1,024 times. To be called more often than that.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn sample(&mut self) -> Result<(), JobError> {
        let now_ns = monotonic_ns();
        if now_ns < self.next_sample_ns {
            return Ok(());
        }
        self.next_sample_ns = now_ns + (SAMPLE_NS << (self.n_samples / N_AT_A_RATE).min(16));
        self.n_samples = self.n_samples.saturating_add(1);
        for Head { rank, pid, .. } in self.folder.heads()? {
            if let Some(sample) = kernel_of(pid) {
                self.folder.define(rank, &serde_json::to_string(&Note::from(sample)).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Files the rest, also of ranks that died before they could. Gives the files.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, JobError> {
        self.follow()?;
        self.filings.into_values().map(|filing| filing.finish(&self.folder)).collect()
    }
}

/// Lines that have their end: the last one may be half written.
pub(crate) fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

fn definitions_name(rank: u32) -> String {
    format!("rank-{rank}.jsonl")
}

pub(crate) fn head_of(definitions: &str) -> Option<Head> {
    serde_json::from_str(whole_lines(definitions).next()?).ok()
}

/// Builds the head of a rank that wrote none, from the header of its ring.
pub(crate) fn head_of_ring(header: &RingHeader) -> Head {
    let RingHeader { rank, n_ranks, pid, .. } = *header;
    let (host, unknown) = (header.host.clone(), String::new());
    Head { version: VERSION, rank, n_ranks, host, pid, program: unknown.clone(), library: unknown }
}

#[cfg(test)]
mod tests {
    use mpi_trace::{Operation, Peer, Reading, Recording, RingKind, Subject};
    use tempfile::{TempDir, tempdir};

    use super::*;
    use crate::{Process, read};

    /// A job of two ranks, of which the second is a process that has ended.
    fn job() -> (TempDir, Folder, [RingFile; 2]) {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        let this = Process::this();
        let ring = |rank, started| {
            let header = RingHeader {
                kind: RingKind::Calls,
                rank,
                n_ranks: 2,
                pid: this.pid,
                pid_started: started,
                thread: 0,
                is_counter: false,
                reading: Reading::default(),
                tree: 0,
                host: "../h ost".into(),
            };
            folder.create_ring(16, &header).unwrap()
        };
        let rings = [ring(0, this.started), ring(1, this.started - 1)];
        (root, folder, rings)
    }

    fn call(ring: &RingFile, at: u64) {
        // Too large for one record.
        let subject = Subject::Call { communicator: 0, peer: Peer::None, tag: None };
        let event =
            Event { start: at, end: at + 1, bytes: 1 << 40, operation: Operation::BCAST, is_failed: false, subject };
        ring.ring().writer().write(event.to_records());
    }

    fn head(rank: u32) -> String {
        let (host, program, library) = ("here".to_owned(), "heat".to_owned(), "MPICH".to_owned());
        serde_json::to_string(&Head { version: VERSION, rank, n_ranks: 2, host, pid: 1, program, library }).unwrap()
    }

    fn starts(recording: &Recording) -> Vec<u64> {
        recording.rings.iter().flat_map(|ring| ring.events.iter().map(|event| event.start)).collect()
    }

    #[test]
    fn a_sidecar_files_all_while_a_ring_would_hold_the_last_only() {
        let (root, folder, [ring, dead]) = job();
        folder.define(0, &head(0)).unwrap();
        call(&dead, 7);
        let into = root.path().join("out");
        let mut sidecar = Sidecar::new(folder.clone(), into.clone());
        for at in 0..30 {
            call(&ring, at);
            assert_eq!(sidecar.follow().unwrap(), if at == 0 { 2 } else { 1 });
        }
        folder.define(0, r#"{"communicator":2,"id":"00000000000000ff","ranks":[1,0]}"#).unwrap();
        let files = sidecar.finish().unwrap();
        assert_eq!(files, [into.join("here.0.ftrace"), into.join("_h_ost.1.ftrace")]);
        let recordings = read(&into).unwrap();
        assert_eq!(recordings.iter().map(starts).collect::<Vec<_>>(), [(0..30).collect(), vec![7]]);
        assert_eq!((recordings[0].n_lost(RingKind::Calls), recordings[0].communicator_id(2)), (0, Some(255)));
        // The ring itself holds less, and knows how much.
        let live = read(folder.path()).unwrap();
        assert_eq!((starts(&live[0]).len(), live[0].n_lost(RingKind::Calls)), (7, 60 - 14));
    }

    #[test]
    fn a_rank_is_filed_once_and_a_process_that_has_not_said_who_it_is_later() {
        let (root, folder, _rings) = job();
        assert!(Filing::begin(&folder, 0, root.path()).unwrap().is_none(), "it runs, and has no head");
        folder.define(0, &head(0)).unwrap();
        assert!(Filing::begin(&folder, 0, root.path()).unwrap().is_some());
        assert!(Filing::begin(&folder, 0, root.path()).unwrap().is_none());
    }

    #[test]
    fn a_folder_without_traces_is_told() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        let told = read(folder.path()).unwrap_err().to_string();
        assert!(told.starts_with("there are neither trace files (*.ftrace) nor rings (*.ring) in `"), "{told}");
        fs::write(folder.path().join("x.ftrace"), "rank,start_ns").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().ends_with("x.ftrace` is no trace file"));
    }
}
