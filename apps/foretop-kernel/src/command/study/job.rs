//! Sorts under MPI, by `foretop mpi sort`, and what their files of records say.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use kernel_study::machine::Lost;
use program::Failure;
use record::{Items, Value};
use units::ByteCount;
use workload::ShortGroup;

use super::tool::last_words;

/// MPI libraries that there are programs for.
pub const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

/// Starts sorts.
pub struct Jobs {
    foretop: PathBuf,
}

/// A sort to be run.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub library: &'static str,
    /// Whether ranks talk by TCP where they could share memory.
    pub is_tcp: bool,
    pub n_ranks: u64,
    pub size: ByteCount,
}

/// A sort that was run: its file of records is in a folder of its own, which goes with this.
pub struct Sorted {
    folder: tempfile::TempDir,
}

/// Sorts that take longer are given up.
const GIVE_UP: Duration = Duration::from_secs(90);
const NAP: Duration = Duration::from_millis(20);

impl Jobs {
    /// Finds the program `foretop` beside this one, or wherever programs are.
    pub fn new() -> Self {
        let beside = std::env::current_exe().ok().map(|own| own.with_file_name("foretop"));
        Self { foretop: beside.filter(|path| path.is_file()).unwrap_or_else(|| "foretop".into()) }
    }

    /// The libraries that a sort can be run with, and why others cannot, as they are tried.
    pub fn libraries<'a>(&'a self, scratch: &'a Path) -> impl Iterator<Item = Result<&'static str, String>> + 'a {
        LIBRARIES.into_iter().map(move |library| {
            let least = Job { library, is_tcp: false, n_ranks: 1, size: ByteCount::new(4096) };
            self.run(least, scratch, None).map(|_| library).map_err(|failure| format!("{library}: {}", failure.message))
        })
    }

    /// The first of them.
    pub fn library(&self, scratch: &Path) -> Result<&'static str, Failure> {
        let mut missing = Vec::new();
        for library in self.libraries(scratch) {
            match library {
                Ok(library) => return Ok(library),
                Err(why) => missing.push(why),
            }
        }
        Err(Failure::work(missing.join("; ")))
    }

    /// Runs a sort, in a group that is short of memory where one is given.
    pub fn run(&self, job: Job, scratch: &Path, group: Option<&ShortGroup>) -> Result<Result<Sorted, Lost>, Failure> {
        let folder = tempfile::tempdir_in(scratch).map_err(Failure::of)?;
        let mut command = match group {
            Some(group) => group.command(&self.foretop),
            None => Command::new(&self.foretop),
        };
        command.args(["mpi", "sort", "--mpi", job.library, "--ranks", &job.n_ranks.to_string()]);
        command.args(job.is_tcp.then_some("--tcp")).args(["--size", &format!("{}B", job.size.bytes())]);
        for option in ["--folder", "--out"] {
            command.arg(option).arg(folder.path());
        }
        let n_killed = group.map_or(0, ShortGroup::n_killed);
        let said = File::create(folder.path().join("said")).map_err(Failure::of)?;
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
        let cannot = |error| Failure::work(format!("cannot run `{}`: {error}", self.foretop.display()));
        let mut child = started.map_err(cannot)?;
        let watch = clock::Stopwatch::start();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(cannot)? {
                break status;
            }
            if watch.elapsed() > GIVE_UP {
                // The launcher takes its ranks with it.
                rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
                    .map_err(Failure::of)?;
                child.wait().map_err(cannot)?;
                return Ok(Err(Lost::GivenUp));
            }
            clock::sleep(NAP);
        };
        let sorted = Sorted { folder };
        if status.success() {
            return Ok(Ok(sorted));
        }
        if group.is_some_and(|group| group.n_killed() > n_killed) {
            return Ok(Err(Lost::Killed));
        }
        // MPICH before 4.2 may break off over TCP as it ends, when all results are in the file.
        if sorted.ranks(["end_ns"]).is_ok_and(|ranks| ranks.len() as u64 == job.n_ranks) {
            return Ok(Ok(sorted));
        }
        let said = std::fs::read_to_string(sorted.folder.path().join("said")).unwrap_or_default();
        Err(Failure::work(format!("{status}: {}", last_words(&said))))
    }
}

impl Sorted {
    /// Its file of records.
    pub fn file(&self) -> Result<PathBuf, Failure> {
        let files = std::fs::read_dir(self.folder.path()).map_err(Failure::of)?;
        let mut files = files.filter_map(|entry| Some(entry.ok()?.path()));
        files
            .find(|path| path.extension().is_some_and(|ending| ending == "sort"))
            .ok_or_else(|| Failure::work("the sort left no file of records"))
    }

    /// Whole numbers of these fields, a row for each rank.
    pub fn ranks<const N: usize>(&self, fields: [&str; N]) -> Result<Vec<[u64; N]>, Failure> {
        let rows = record_view::rows(items(&self.file()?)?, "sort-summary", &fields).map_err(Failure::of)?;
        let whole = |value: &Value| value.number().unwrap_or(0.0) as u64;
        Ok(rows.iter().map(|row| std::array::from_fn(|place| whole(&row[place]))).collect())
    }
}

/// Reads the items of a file of records.
pub fn items(path: &Path) -> Result<Items<'static>, Failure> {
    let file = File::open(path).map_err(Failure::of)?;
    record::read(BufReader::new(file)).map_err(Failure::of)
}
