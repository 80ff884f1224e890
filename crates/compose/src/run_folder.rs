//! The folder of one run: sockets and logs, for its owner alone, gone with the run.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::ComposeError;

const PREFIX: &str = "foretop-compose-";

/// Name of the file that is locked as long as the run goes on.
const LOCK_NAME: &str = "lock";

/// The folder of one run. It is removed when this is dropped; that of a run that was killed, by the next run.
#[derive(Debug)]
pub struct RunFolder {
    folder: TempDir,
    _lock: File,
}

impl RunFolder {
    /// Makes a folder in the user's folder for such things, else in that for temporary files.
    ///
    /// # Errors
    /// [`ComposeError::RunFolder`] if it cannot be made.
    pub fn make() -> Result<Self, ComposeError> {
        let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        Self::make_in(&of_user.unwrap_or_else(std::env::temp_dir))
    }

    /// Makes a folder in this folder.
    ///
    /// # Errors
    /// [`ComposeError::RunFolder`] if it cannot be made.
    pub fn make_in(parent: &Path) -> Result<Self, ComposeError> {
        let failed = |source| ComposeError::RunFolder { path: parent.to_owned(), source };
        sweep(parent);
        let owner_only = Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(owner_only).tempdir_in(parent).map_err(failed)?;
        let lock = own_file::create(&folder.path().join(LOCK_NAME)).map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        fs::create_dir(folder.path().join("log")).map_err(failed)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the logs, unless another one is given.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.path().join("log")
    }
}

/// Removes the folders that killed runs of this user left behind. Those that cannot be removed stay, and so do those
/// that are not ours.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let is_left = || -> io::Result<bool> {
            own_file::check_folder(&entry.path())?;
            Ok(own_file::open(&entry.path().join(LOCK_NAME))?.try_lock().is_ok())
        };
        if is_left().unwrap_or(false)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::debug!(path = %entry.path().display(), %error, "a folder of an earlier run stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_folder_goes_with_its_run_and_that_of_a_killed_run_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{PREFIX}left"));
        fs::create_dir(&left).unwrap();
        fs::set_permissions(&left, Permissions::from_mode(0o700)).unwrap();
        File::create(left.join(LOCK_NAME)).unwrap();
        let first = RunFolder::make_in(parent.path()).unwrap();
        assert!(!left.exists());
        let second = RunFolder::make_in(parent.path()).unwrap();
        let (first_path, second_path) = (first.path().to_owned(), second.path().to_owned());
        assert!(first_path.exists() && second_path.exists(), "a run that goes on keeps its folder");
        drop((first, second));
        assert!(!first_path.exists() && !second_path.exists());
    }
    #[test]
    fn what_others_put_beside_a_run_folder_holds_nobody_up() {
        let parent = tempfile::tempdir().unwrap();
        let planted = ["fifo", "link", "open"].map(|name| parent.path().join(format!("{PREFIX}{name}")));
        let [fifo, link, open] = &planted;
        fs::create_dir(fifo).unwrap();
        fs::set_permissions(fifo, Permissions::from_mode(0o700)).unwrap();
        mkfifoat(CWD, fifo.join(LOCK_NAME), Mode::RWXU).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        File::create(elsewhere.path().join(LOCK_NAME)).unwrap();
        symlink(elsewhere.path(), link).unwrap();
        fs::create_dir(open).unwrap();
        fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
        File::create(open.join(LOCK_NAME)).unwrap();
        let run = RunFolder::make_in(parent.path()).unwrap();
        assert!(planted.iter().all(|path| path.exists()) && elsewhere.path().join(LOCK_NAME).exists());
        own_file::check_folder(run.path()).unwrap();
    }
}
