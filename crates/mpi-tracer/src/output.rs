//! The trace file of a rank.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, mem};

use mpi_job::{JobError, RingFile};
use mpi_trace::file::{Moment, Note, RingNote, TreeNote, Writer};
use mpi_trace::{Drain, RingKind};

use crate::job::{Job, absolute, read};

/// Where files go unless told otherwise, in the folder that the program is started in.
const FOLDER: &str = "foretop-trace";
/// Records that are taken out of a ring at a time.
const N_AT_ONCE: usize = 4_096;

#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the rings")]
    Rings(#[from] JobError),
}

/// Where this rank's file goes. None with `--keep all`: then the sidecar files records as they come.
pub(crate) fn folder() -> Option<PathBuf> {
    let keeps_all = read("FORETOP_MPI_KEEP", "latest or all", |text| match text {
        "latest" => Some(false),
        "all" => Some(true),
        _ => None,
    });
    let folder = env::var_os("FORETOP_MPI_TRACE").filter(|path| !path.is_empty());
    (keeps_all != Some(true)).then(|| absolute(Path::new(&folder.unwrap_or_else(|| FOLDER.into()))))
}

/// Writes all that the rings of this rank hold, also those of its collectives.
pub(crate) fn write(job: &Job, folder: &Path) -> Result<(), OutputError> {
    let path = folder.join(format!("{}.{}.ftrace", job.head.host, job.head.rank));
    let rings = own_rings(job)?;
    write_file(job, folder, &path, &rings).map_err(|source| OutputError::Write { path, source })
}

fn own_rings(job: &Job) -> Result<Vec<RingFile>, JobError> {
    let is_own = |ring: &RingFile| ring.header.rank == job.head.rank && ring.process() == job.process;
    Ok(job.folder.rings()?.into_iter().flatten().filter(is_own).collect())
}

fn write_file(job: &Job, folder: &Path, path: &Path, rings: &[RingFile]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut writer = Writer::new(BufWriter::new(File::create(path)?), &job.head)?;
    for note in job.notes() {
        writer.note(&note)?;
    }
    if let Some(tree) = rings.iter().find(|ring| ring.header.kind == RingKind::Stages).map(|ring| ring.header.tree) {
        match fs::read_to_string(job.folder.path().join("tree.toml")) {
            Ok(text) => writer.note(&Note::Tree(TreeNote { tree, text }))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let mut events = Vec::new();
    for (ring, number) in rings.iter().zip(0..) {
        writer.note(&RingNote::of(number, &ring.header).into())?;
        let mut drain = Drain::new(ring.ring());
        let mut n_lost = 0;
        while !drain.is_dry() {
            n_lost += drain.take(N_AT_ONCE, &mut events);
            writer.events(number, mem::take(&mut n_lost), &events)?;
            events.clear();
        }
    }
    let mpi_trace::Reading { ticks, monotonic_ns } = job.reading();
    writer.note(&Moment { ticks, monotonic_ns }.into())?;
    writer.finish().map(drop)
}

/// Removes what this rank has in a folder that nobody looks after, and the folder after the last rank.
pub(crate) fn remove_rings(job: &Job) {
    let folder = job.folder.path();
    let rank = job.head.rank;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_own = name.starts_with(&format!("calls-{rank}-"))
            || name.starts_with(&format!("stages-{rank}-"))
            || name == format!("rank-{rank}.jsonl");
        if is_own {
            // What stays is a dead job's, which `foretop mpi trace jobs --clean` removes.
            let _ = fs::remove_file(entry.path());
        }
    }
    // It is not empty while others have files in it.
    let _ = fs::remove_dir(folder);
}
