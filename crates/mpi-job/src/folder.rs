//! Contents of a job's folder, by name.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use mpi_trace::RingHeader;
use mpi_trace::file::Head;

use crate::ring_file::rank_of_ring;
use crate::{JobError, Process, RingFile, filing};

/// The tree file in force: `docs/formats/mpi-tree.md`.
const TREE_FILE: &str = "tree.toml";
/// The file that says who looks after a job.
const KEEPER: &str = "keeper";
/// A tree over as many ranks as there can be takes about a tenth of it.
const TREE_BYTES_MAX: u64 = 16 << 20;
/// The first line of a rank's definitions names a host, a program and a library.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// A folder of definitions, rings and segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, and makes it and those above it if there are none. Others cannot enter it.
    ///
    /// # Errors
    /// If it cannot be made, is somebody else's, or is open to others.
    pub fn create(path: &Path) -> Result<Self, JobError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(JobError::file("make the folder", path))?;
        Self::open(path)
    }

    /// Opens a folder that is there.
    ///
    /// # Errors
    /// If there is none, or it is somebody else's or open to others.
    pub fn open(path: &Path) -> Result<Self, JobError> {
        own_file::check_folder(path).map_err(JobError::file("use the folder", path))?;
        Ok(Self { path: path.to_owned() })
    }

    /// All folders right below `root`, by name. There are none if it is not there.
    ///
    /// # Errors
    /// If `root` cannot be read. Folders that cannot be used are left out.
    pub fn all(root: &Path) -> Result<Vec<Self>, JobError> {
        let mut folders: Vec<Self> = names(root)?.iter().filter_map(|name| Self::open(&root.join(name)).ok()).collect();
        folders.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(folders)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a ring for this process, in the place of one with the same name.
    ///
    /// # Errors
    /// If there is no room for it in memory, or the file cannot be made.
    pub fn create_ring(&self, capacity: u64, header: &RingHeader) -> Result<RingFile, JobError> {
        RingFile::create(&self.path, capacity, header)
    }

    /// All rings, by name. A file that is none, or that vanished meanwhile, is an entry of its own.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn rings(&self) -> Result<Vec<Result<RingFile, JobError>>, JobError> {
        self.rings_but(|_| false)
    }

    /// Opens rings as [`Folder::rings`] does, but for those that `is_known`.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn rings_but(&self, is_known: impl Fn(&Path) -> bool) -> Result<Vec<Result<RingFile, JobError>>, JobError> {
        let paths = self.ring_paths(|_| true)?;
        Ok(paths.iter().filter(|path| !is_known(path)).map(|path| RingFile::open(path)).collect())
    }

    /// Returns the paths of the rings of some ranks, by name.
    pub(crate) fn ring_paths(&self, is_wanted: impl Fn(u32) -> bool) -> Result<Vec<PathBuf>, JobError> {
        let mut names = names(&self.path)?;
        names.retain(|name| rank_of_ring(name).is_some_and(&is_wanted));
        names.sort();
        Ok(names.iter().map(|name| self.path.join(name)).collect())
    }

    /// Appends a line to the definitions of a rank. Others may do so at the same time.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn define(&self, rank: u32, line: &str) -> Result<(), JobError> {
        let path = self.path.join(format!("rank-{rank}.jsonl"));
        let append = || own_file::append(&path)?.write_all(format!("{line}\n").as_bytes());
        append().map_err(JobError::file("write", &path))
    }

    /// Removes what an earlier process left as this rank.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn forget(&self, rank: u32) -> Result<(), JobError> {
        let is_of_this = |path: &PathBuf| RingFile::open(path).is_ok_and(|ring| ring.process() == Process::this());
        let mut stale = self.ring_paths(|other| other == rank)?;
        stale.retain(|path| !is_of_this(path));
        stale.extend(["jsonl", "filed"].map(|end| self.path.join(format!("rank-{rank}.{end}"))));
        stale.iter().try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(JobError::file("remove", path)(error)),
            _ => Ok(()),
        })
    }

    /// Whether the file of a rank is the caller's to write: once for each rank, whoever asks.
    ///
    /// # Errors
    /// If the system does not let it be said.
    pub fn claim(&self, rank: u32) -> Result<bool, JobError> {
        let path = self.path.join(format!("rank-{rank}.filed"));
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(JobError::file("make", &path)(error)),
        }
    }

    /// The definitions of all ranks of this host, by rank.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn definitions(&self) -> Result<Vec<(u32, String)>, JobError> {
        let rank_of = |name: &String| name.strip_prefix("rank-")?.strip_suffix(".jsonl")?.parse::<u32>().ok();
        let mut ranks: Vec<u32> = names(&self.path)?.iter().filter_map(rank_of).collect();
        ranks.sort_unstable();
        ranks
            .into_iter()
            .map(|rank| Ok((rank, self.read(&format!("rank-{rank}.jsonl"))?.unwrap_or_default())))
            .collect()
    }

    /// Returns the heads of the ranks of this host, by rank. Those of which nothing can be made are left out.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn heads(&self) -> Result<Vec<Head>, JobError> {
        let head = |name: &String| -> Option<Head> {
            name.strip_prefix("rank-")?.strip_suffix(".jsonl")?.parse::<u32>().ok()?;
            let mut line = String::new();
            let file = own_file::open(&self.path.join(name)).ok()?;
            BufReader::new(file.take(HEAD_BYTES_MAX)).read_line(&mut line).ok()?;
            filing::head_of(&line)
        };
        let mut heads: Vec<Head> = names(&self.path)?.iter().filter_map(head).collect();
        heads.sort_by_key(|head| head.rank);
        Ok(heads)
    }

    /// A text file in it; none if it is not there.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, JobError> {
        self.read_up_to(name, u64::MAX)
    }

    fn read_up_to(&self, name: &str, n_bytes_max: u64) -> Result<Option<String>, JobError> {
        let path = self.path.join(name);
        let read = |file: fs::File| {
            if file.metadata()?.len() > n_bytes_max {
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    format!("it has more than {n_bytes_max} bytes"),
                ));
            }
            io::read_to_string(file.take(n_bytes_max))
        };
        match own_file::open(&path).and_then(read) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(JobError::file("read", &path)(error)),
        }
    }

    /// The text of the tree file in force; none where no collective goes over a tree.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn tree(&self) -> Result<Option<String>, JobError> {
        self.read_up_to(TREE_FILE, TREE_BYTES_MAX)
    }

    /// Puts a tree file in force. Whoever reads it gets this text or the one before, whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_tree(&self, text: &str) -> Result<(), JobError> {
        let path = self.path.join(TREE_FILE);
        let beside = self.path.join(format!(".{TREE_FILE}.{}", std::process::id()));
        let write = || {
            let mut file = own_file::create(&beside)?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&beside, &path)
        };
        write().map_err(JobError::file("write", &path))
    }

    /// Says that this process looks after the job: as long as it runs, the job is alive.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn look_after(&self) -> Result<(), JobError> {
        let path = self.path.join(KEEPER);
        let Process { pid, started } = Process::this();
        let write = || own_file::create(&path)?.write_all(format!("{pid} {started}\n").as_bytes());
        write().map_err(JobError::file("write", &path))
    }

    fn keeper(&self) -> Result<Option<Process>, JobError> {
        let process = |text: String| {
            let (pid, started) = text.trim_end().split_once(' ')?;
            Some(Process { pid: pid.parse().ok()?, started: started.parse().ok()? })
        };
        Ok(self.read(KEEPER)?.and_then(process))
    }

    /// Whether a process that made one of the rings, or looks after the job, still runs.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn is_alive(&self) -> Result<bool, JobError> {
        let is_kept = self.keeper()?.is_some_and(Process::is_running);
        Ok(is_kept || self.rings()?.into_iter().flatten().any(|ring| ring.process().is_running()))
    }

    /// Removes it and all that is in it.
    ///
    /// # Errors
    /// If something in it cannot be removed.
    pub fn remove(self) -> Result<(), JobError> {
        fs::remove_dir_all(&self.path).map_err(JobError::file("remove", &self.path))
    }
}

pub(crate) fn names(folder: &Path) -> Result<Vec<String>, JobError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(JobError::file("read the folder", folder))?,
    };
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use mpi_trace::{Cursor, Event, Level, Operation, Peer, Reading, RingKind, Subject};
    use tempfile::tempdir;

    use super::*;

    /// Returns the header of a ring of this process, of rank `rank` of two.
    pub(crate) fn header(rank: u32) -> RingHeader {
        let this = Process::this();
        RingHeader {
            kind: RingKind::Calls,
            rank,
            n_ranks: 2,
            pid: this.pid,
            pid_started: this.started,
            thread: 0,
            is_counter: false,
            reading: Reading::default(),
            tree: 0,
            host: "here".into(),
        }
    }

    #[test]
    fn what_one_mapping_writes_another_reads_and_the_level_goes_back() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("foretop-0/job")).unwrap();
        let written = folder.create_ring(8, &header(1)).unwrap();
        let subject = Subject::Call { communicator: 0, peer: Peer::None, tag: None };
        let event = Event { start: 1, end: 2, bytes: 0, operation: Operation::BARRIER, is_failed: false, subject };
        written.ring().writer().write(event.to_records());

        let read = folder.rings().unwrap().pop().unwrap().unwrap();
        let (mut cursor, mut records) = (Cursor::default(), Vec::new());
        read.ring().read(&mut cursor, 10, &mut records);
        assert_eq!((read.header.clone(), records[0].event(None)), (header(1), Some(event)));
        read.ring().set_level(Level::Off);
        assert_eq!(written.ring().level(), Level::Off);
        assert!(folder.is_alive().unwrap());
    }

    #[test]
    fn other_files_with_the_name_of_a_ring_are_told_and_hide_nothing() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        fs::write(folder.path().join("calls-0-0.ring"), [7; 4000]).unwrap();
        fs::write(folder.path().join("calls-0-1.ring"), "").unwrap();
        folder.create_ring(1, &header(1)).unwrap();
        let found: Vec<bool> = folder.rings().unwrap().iter().map(Result::is_ok).collect();
        assert_eq!(found, [false, false, true]);
    }

    #[test]
    fn definitions_are_lines_by_rank() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        for (rank, line) in [(10, "a"), (9, "b"), (10, "c")] {
            folder.define(rank, line).unwrap();
        }
        assert_eq!(folder.definitions().unwrap(), [(9, "b\n".to_owned()), (10, "a\nc\n".to_owned())]);
        (0..2).for_each(|_| folder.forget(9).unwrap());
        assert_eq!(folder.definitions().unwrap().len(), 1);
    }

    #[test]
    fn a_tree_file_is_replaced_as_a_whole() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        assert_eq!(folder.tree().unwrap(), None);
        for text in ["a longer one", "short"] {
            folder.set_tree(text).unwrap();
            assert_eq!(folder.tree().unwrap().as_deref(), Some(text));
        }
        assert_eq!(names(folder.path()).unwrap(), [TREE_FILE]);
    }

    #[test]
    fn jobs_are_listed_and_removed() {
        let root = tempdir().unwrap();
        for job in ["b", "a"] {
            Folder::create(&root.path().join(job)).unwrap().create_ring(2, &header(0)).unwrap();
        }
        let jobs = Folder::all(root.path()).unwrap();
        assert_eq!(jobs.iter().map(|job| job.path().file_name().unwrap()).collect::<Vec<_>>(), ["a", "b"]);
        jobs.into_iter().for_each(|job| job.remove().unwrap());
        assert_eq!(Folder::all(root.path()).unwrap(), []);
        assert_eq!(Folder::all(&root.path().join("none")).unwrap(), []);
        let fresh = Folder::create(&root.path().join("c")).unwrap();
        assert!(!fresh.is_alive().unwrap());
        fresh.look_after().unwrap();
        assert!(fresh.is_alive().unwrap());
    }
}
