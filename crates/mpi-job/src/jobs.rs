//! The jobs of a user, also of another than the one who runs this, looked at without trust.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use crate::ring_file::rank_of_ring;
use crate::{JobError, PREFIX, RingReader};

/// Folders of a user, and files of a job, that are looked at: more than any host has cores.
const N_NAMES_MAX: usize = 4096;

/// A folder with those of a user's jobs.
///
/// What is in it may be a trap if that user is another: no symbolic link is followed, no FIFO waited for, and no file
/// opened but the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    path: PathBuf,
    user: u32,
}

impl Jobs {
    /// Returns the folders of all users who have a folder `foretop-UID` in `memory`, by path. Which of them may be read
    /// shows when they are.
    #[must_use]
    pub fn below(memory: &Path) -> Vec<Self> {
        let entries = fs::read_dir(memory).into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries
            .filter_map(|entry| {
                let user = entry.file_name().to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
                Some(Self { path: entry.path(), user })
            })
            .collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens rings of all jobs but those that `is_known`, at most `n_max`. A file that is none, or that vanished
    /// meanwhile, is an entry of its own. There are none where this user may not look.
    pub fn rings_but(&self, n_max: usize, is_known: impl Fn(&Path) -> bool) -> Vec<Result<RingReader, JobError>> {
        let Ok(root) = self.folder(CWD, self.path.as_os_str()) else { return Vec::new() };
        let jobs = names(&root).filter_map(|name| Some((self.folder(&root, OsStr::from_bytes(&name)).ok()?, name)));
        let rings = jobs.flat_map(|(folder, job)| {
            let path = self.path.join(OsStr::from_bytes(&job));
            let names =
                names(&folder).filter(|name| str::from_utf8(name).is_ok_and(|name| rank_of_ring(name).is_some()));
            let unknown =
                names.map(|name| (path.join(OsStr::from_bytes(&name)), name)).filter(|(path, _)| !is_known(path));
            unknown.map(|(path, name)| self.ring(&folder, &name, path)).take(n_max).collect::<Vec<_>>()
        });
        rings.take(n_max).collect()
    }

    fn ring(&self, folder: &OwnedFd, name: &[u8], path: PathBuf) -> Result<RingReader, JobError> {
        match self.open(folder, OsStr::from_bytes(name), OFlags::NONBLOCK, fs::Metadata::is_file) {
            Ok(file) => RingReader::new(file, self.user, path),
            Err(error) => Err(JobError::file("open", &path)(error)),
        }
    }

    fn folder(&self, beside: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<OwnedFd> {
        self.open(beside, name, OFlags::DIRECTORY, fs::Metadata::is_dir).map(OwnedFd::from)
    }

    /// Something of this user's, and of that kind.
    fn open(
        &self,
        beside: impl std::os::fd::AsFd,
        name: &OsStr,
        flags: OFlags,
        is_right: impl Fn(&fs::Metadata) -> bool,
    ) -> io::Result<File> {
        let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(beside, name, flags, Mode::empty())?);
        let found = file.metadata()?;
        if found.uid() == self.user && is_right(&found) {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is another user's, or of another kind"))
        }
    }
}

fn names(folder: &OwnedFd) -> impl Iterator<Item = Vec<u8>> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_bytes().to_vec());
    names.filter(|name| !name.starts_with(b".")).take(N_NAMES_MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::{TempDir, tempdir};

    use super::*;
    use crate::Folder;
    use crate::folder::tests::header;

    /// A place for folders of jobs, those of this user, and one of them.
    fn memory() -> (TempDir, Jobs, Folder) {
        let memory = tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let folder = Folder::create(&memory.path().join(format!("foretop-{user}/job"))).unwrap();
        let jobs = Jobs::below(memory.path()).remove(0);
        (memory, jobs, folder)
    }

    fn ranks(found: Vec<Result<RingReader, JobError>>) -> Vec<Option<u32>> {
        let mut ranks: Vec<Option<u32>> = found.into_iter().map(|ring| Some(ring.ok()?.header.rank)).collect();
        ranks.sort_unstable();
        ranks
    }

    #[test]
    fn rings_are_found_and_known_ones_left_out() {
        let (_memory, jobs, folder) = memory();
        let known = folder.create_ring(8, &header(0)).unwrap().path;
        folder.create_ring(8, &header(1)).unwrap();
        fs::write(folder.path().join("calls-9-9.ring"), [7; 4000]).unwrap();
        fs::write(folder.path().join("other"), "").unwrap();
        assert_eq!(ranks(jobs.rings_but(9, |_| false)), [None, Some(0), Some(1)]);
        assert_eq!(ranks(jobs.rings_but(9, |path| path == known)), [None, Some(1)]);
        assert_eq!(jobs.rings_but(2, |_| false).len(), 2);
    }

    #[test]
    fn traps_are_left_alone() {
        let (memory, jobs, folder) = memory();
        folder.create_ring(8, &header(1)).unwrap();
        let elsewhere = Folder::create(&memory.path().join("elsewhere")).unwrap();
        let ring = elsewhere.create_ring(8, &header(2)).unwrap().path;
        symlink(elsewhere.path(), jobs.path().join("link")).unwrap();
        symlink(&ring, folder.path().join("calls-2-0.ring")).unwrap();
        fs::create_dir(folder.path().join("calls-3-0.ring")).unwrap();
        let fifo = folder.path().join("calls-4-0.ring");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(ranks(jobs.rings_but(9, |_| false)), [None, None, None, Some(1)]);

        symlink(jobs.path(), memory.path().join(format!("foretop-{}", u32::MAX - 1))).unwrap();
        fs::create_dir(memory.path().join(format!("foretop-{}", u32::MAX - 2))).unwrap();
        let others = Jobs::below(memory.path());
        assert_eq!(others.len(), 3);
        assert!(others.iter().filter(|other| **other != jobs).all(|other| other.rings_but(9, |_| false).is_empty()));
        let of_another = Jobs { user: jobs.user + 1, ..jobs };
        assert!(of_another.rings_but(9, |_| false).is_empty());
    }
}
