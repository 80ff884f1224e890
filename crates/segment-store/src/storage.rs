//! Storage of containers: a handful of calls, so that files of a folder and a browser's private file system both do.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Named blobs, of which few grow.
///
/// Any call may fail at any time; whatever was stored may be gone, cut or altered when it is read.
pub trait Storage: Send {
    /// Creates `name` with these parts one after the other. After an error there is nothing of that name.
    ///
    /// # Errors
    /// When it cannot be written.
    fn create(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()>;

    /// Fills `bytes` with what begins at `offset`.
    ///
    /// # Errors
    /// When there is not that much, or it cannot be read.
    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Returns the number of bytes of `name`; none where there is no such thing.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn size(&mut self, name: &str) -> io::Result<u64>;

    /// Cuts off what `name` has beyond `n_bytes`.
    ///
    /// # Errors
    /// When it cannot be changed.
    fn cut(&mut self, name: &str, n_bytes: u64) -> io::Result<()>;

    /// Gives `name` another name, in place of what has that: at any moment one of the two is there, and whole.
    ///
    /// # Errors
    /// When it cannot be changed.
    fn rename(&mut self, name: &str, to: &str) -> io::Result<()>;

    /// Adds to the end of `name`.
    ///
    /// # Errors
    /// When it cannot be written. A part of it may be.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Removes `name`, if there is such a thing.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// All names.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn names(&mut self) -> io::Result<Vec<String>>;
}

/// Files of a folder, which this process alone uses while it has it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
    /// The file that was read last, with its name.
    open: Option<(String, File)>,
}

/// A folder that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Somebody else has it.
    #[error("another process uses the store in `{}`; end it, or give this one a folder of its own", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
    },
    /// It cannot be made or opened.
    #[error("cannot open the store in `{}`", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

const LOCK: &str = "lock";

impl Folder {
    /// Opens the folder, which is made, for this user alone, where there is none.
    ///
    /// # Errors
    /// When somebody else uses it, or it cannot be made.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let cannot = |source| FolderError::Io { path: path.to_owned(), source };
        make_private(path).map_err(cannot)?;
        let lock = OpenOptions::new().create(true).append(true).open(path.join(LOCK)).map_err(cannot)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock, open: None }),
            Err(TryLockError::WouldBlock) => Err(FolderError::Taken { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(cannot(source)),
        }
    }
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

impl Storage for Folder {
    fn create(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let path = self.path.join(name);
        let write = || {
            let mut file = File::create(&path)?;
            parts.iter().try_for_each(|part| file.write_all(part))
        };
        write().inspect_err(|_| {
            // What is left of it is found to be damaged when it is read.
            let _ = fs::remove_file(&path);
        })
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|(open, _)| open != name) {
            self.open = Some((name.to_owned(), File::open(self.path.join(name))?));
        }
        let (_, file) = self.open.as_mut().expect("the file was opened");
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    fn size(&mut self, name: &str) -> io::Result<u64> {
        match fs::metadata(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            found => Ok(found?.len()),
        }
    }

    fn cut(&mut self, name: &str, n_bytes: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.path.join(name))?.set_len(n_bytes)
    }

    fn rename(&mut self, name: &str, to: &str) -> io::Result<()> {
        self.open = None;
        fs::rename(self.path.join(name), self.path.join(to))
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().create(true).append(true).open(self.path.join(name))?.write_all(bytes)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|(open, _)| open == name) {
            self.open = None;
        }
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.filter(|name| !matches!(name, Ok(name) if name == LOCK)).collect()
    }
}
