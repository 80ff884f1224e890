//! The file of a host's [`ConcurrencyPage`] in the folder of a job.

use std::fs;
use std::path::PathBuf;

use mpi_trace::{ConcurrencyError, ConcurrencyHeader, ConcurrencyPage, WaitKind, n_concurrency_words};

use crate::{Access, Folder, JobError, Process, Segment};

const NAME: &str = "concurrency.page";

/// The mapped page of a host.
#[derive(Debug)]
pub struct ConcurrencyFile {
    segment: Segment,
    path: PathBuf,
}

impl ConcurrencyFile {
    /// Makes the page of a host, in the place of an earlier one.
    ///
    /// # Errors
    /// If there is no room for it, or the file cannot be made.
    pub fn create(folder: &Folder, header: &ConcurrencyHeader) -> Result<Self, JobError> {
        let path = folder.path().join(NAME);
        let segment = Segment::create(&path, n_concurrency_words(header.n_ranks as usize), |words| {
            let _ = ConcurrencyPage::prepare(words, header);
            Ok(())
        })?;
        Ok(Self { segment, path })
    }

    /// Opens the page of a host.
    ///
    /// # Errors
    /// If there is none, or it is not of this version.
    pub fn open(folder: &Folder, access: Access) -> Result<Self, JobError> {
        let path = folder.path().join(NAME);
        let segment = Segment::open(&path, access)?;
        match ConcurrencyPage::new(segment.words()) {
            Ok(_) => Ok(Self { segment, path }),
            Err(source) => Err(JobError::Concurrency { path, source }),
        }
    }

    /// Returns the page.
    ///
    /// # Errors
    /// If another process has spoiled its header since.
    pub fn page(&self) -> Result<ConcurrencyPage<'_>, ConcurrencyError> {
        ConcurrencyPage::new(self.segment.words())
    }

    /// Returns the positions of ranks that are counted as running, and whose process is no more.
    ///
    /// # Errors
    /// As of [`ConcurrencyFile::page`].
    pub fn dead(&self) -> Result<Vec<usize>, ConcurrencyError> {
        let page = self.page()?;
        let is_dead = |at: &usize| {
            let process = page.rank(*at).map(|rank| Process { pid: rank.pid, started: rank.pid_started });
            page.state(*at).kind == WaitKind::Running && process.is_some_and(|process| !process.is_running())
        };
        Ok((0..page.n_ranks()).filter(is_dead).collect())
    }

    /// Removes the file. Whoever has it mapped keeps the page.
    pub fn remove(&self) {
        // It may be removed with its folder.
        let _ = fs::remove_file(&self.path);
    }

    /// Returns the page, mapped until this process ends.
    ///
    /// # Errors
    /// As of [`ConcurrencyFile::page`].
    pub fn leak(self) -> Result<ConcurrencyPage<'static>, ConcurrencyError> {
        ConcurrencyPage::new(self.segment.leak())
    }
}

#[cfg(test)]
mod tests {
    use mpi_trace::{ConcurrencyRank, WaitMode, WaitState};
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_rank_that_died_while_it_was_running_is_found() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        assert!(ConcurrencyFile::open(&folder, Access::Read).is_err());
        let header =
            ConcurrencyHeader { n_ranks: 3, n_job_ranks: 3, mode: WaitMode::Block, n_processors: 0, made_ns: 5 };
        let made = ConcurrencyFile::create(&folder, &header).unwrap();
        let page = made.page().unwrap();
        let this = Process::this();
        // The second has the number of this process, but was started before it; the third is blocked.
        for (at, started) in [(0, this.started), (1, this.started - 1), (2, this.started - 1)] {
            page.describe(at, &ConcurrencyRank { rank: 0, processor: None, pid: this.pid, pid_started: started });
            page.set_state(at, WaitState::RUNNING);
        }
        page.set_state(2, WaitState { kind: WaitKind::Waiting, is_left: false, awaited: None });
        let read = ConcurrencyFile::open(&folder, Access::Read).unwrap();
        assert_eq!((read.page().unwrap().header(), read.dead().unwrap()), (header, vec![1]));
        made.remove();
        assert!(ConcurrencyFile::open(&folder, Access::Read).is_err() && read.page().is_ok());
    }

    #[test]
    fn another_file_of_that_name_is_refused() {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        fs::write(folder.path().join(NAME), [7; 4096]).unwrap();
        let refused = ConcurrencyFile::open(&folder, Access::ReadWrite).unwrap_err();
        assert!(refused.to_string().contains("is not a page"), "{refused}");
    }
}
