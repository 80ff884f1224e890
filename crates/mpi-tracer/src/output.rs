//! The trace file of a rank, and what it leaves in memory.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use mpi_job::{Filing, JobError};

use crate::job::Job;

/// The folder of the files if no other is given, in the folder that the program is started in.
const FOLDER: &str = "foretop-trace";

/// Returns the folder of the files. The program may go elsewhere later.
pub(crate) fn folder() -> PathBuf {
    let given = env::var_os("FORETOP_MPI_TRACE").filter(|path| !path.is_empty());
    let folder = PathBuf::from(given.unwrap_or_else(|| FOLDER.into()));
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Writes all that the rings of this rank hold, also those of its collectives, unless a sidecar does.
pub(crate) fn write(job: &Job) -> Result<(), JobError> {
    match Filing::begin(&job.folder, job.head.rank, &job.out)? {
        Some(filing) => filing.finish(&job.folder).map(drop),
        None => Ok(()),
    }
}

/// Removes what this rank has in a folder that nobody looks after, and the folder after the last rank. What stays is a
/// dead job's, which `foretop mpi trace jobs --clean` removes.
pub(crate) fn remove(job: &Job) {
    let own = ["calls", "stages"].map(|kind| format!("{kind}-{}-", job.head.rank));
    let definitions = format!("rank-{}.", job.head.rank);
    let is_own = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        own.iter().chain([&definitions]).any(|start| name.starts_with(start.as_str()))
    };
    for entry in fs::read_dir(job.folder.path()).into_iter().flatten().flatten() {
        if is_own(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    // It is not empty while others have files in it.
    let _ = fs::remove_dir(job.folder.path());
}
