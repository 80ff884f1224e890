//! Files that several processes have mapped, as words that any of them may change at any time.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};

use crate::{JobError, Process};

const WORD_BYTES: usize = size_of::<AtomicU64>();

/// A mapped file. It stays mapped when the file is removed.
#[derive(Debug)]
pub struct Segment {
    start: NonNull<AtomicU64>,
    n_words: usize,
}

// SAFETY: it is memory of which only atomics are given out.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// Access to a mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads. A store would end the process.
    Read,
    /// Loads and stores.
    ReadWrite,
}

impl Segment {
    /// Makes a file of so many words, zero but for what `prepare` writes, in the place of whatever is at `path`.
    /// Whoever finds it there finds it prepared.
    ///
    /// All of its memory is taken at once, so that a full file system is an error here, not the end of the process at a
    /// later store.
    ///
    /// # Errors
    /// If there is no room, or the file cannot be made; and what `prepare` fails with.
    pub fn create(
        path: &Path,
        n_words: usize,
        prepare: impl FnOnce(&[AtomicU64]) -> Result<(), JobError>,
    ) -> Result<Self, JobError> {
        // One process may make several, from several threads.
        static N_MADE: AtomicU64 = AtomicU64::new(0);
        let this = Process::this();
        let number = N_MADE.fetch_add(1, Ordering::Relaxed);
        let scratch = path.with_file_name(format!(".{}-{}-{number}", this.pid, this.started));
        let make = || {
            let n_bytes = (n_words * WORD_BYTES) as u64;
            // Beyond that limit the kernel does not refuse, but ends the process.
            if getrlimit(Resource::Fsize).current.is_some_and(|limit| n_bytes > limit) {
                return Err(JobError::file("find room for", path)(io::ErrorKind::FileTooLarge.into()));
            }
            let file = own_file::create(&scratch).map_err(JobError::file("make", path))?;
            fallocate(&file, FallocateFlags::empty(), 0, n_bytes)
                .map_err(|error| JobError::file("find room for", path)(error.into()))?;
            let segment = Self::map(&file, n_words, Access::ReadWrite).map_err(JobError::file("map", path))?;
            prepare(segment.words())?;
            fs::rename(&scratch, path).map_err(JobError::file("name", path))?;
            Ok(segment)
        };
        make().inspect_err(|_| {
            // It may not be there yet.
            let _ = fs::remove_file(&scratch);
        })
    }

    /// Maps all whole words of a file that somebody made.
    ///
    /// # Errors
    /// If it is not there, is empty or cannot be mapped.
    pub fn open(path: &Path, access: Access) -> Result<Self, JobError> {
        let open = || {
            let file = match access {
                Access::Read => own_file::open(path)?,
                Access::ReadWrite => own_file::open_to_write(path)?,
            };
            let n_words = file.metadata()?.len() as usize / WORD_BYTES;
            if n_words == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"));
            }
            Self::map(&file, n_words, access)
        };
        open().map_err(JobError::file("map", path))
    }

    fn map(file: &fs::File, n_words: usize, access: Access) -> io::Result<Self> {
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: the kernel chooses a place where nothing else is.
        let start = unsafe { mmap(std::ptr::null_mut(), n_words * WORD_BYTES, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, n_words })
    }

    /// All of it.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: that many words are mapped from there until `self` is dropped, on a page's start. Other processes
        // change them only as this one does, by atomic operations; no file of ours is ever cut.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.n_words) }
    }

    /// All of it, mapped until this process ends.
    #[must_use]
    pub fn leak(self) -> &'static [AtomicU64] {
        let segment = ManuallyDrop::new(self);
        // SAFETY: as in `words`, and it is never dropped.
        unsafe { std::slice::from_raw_parts(segment.start.as_ptr(), segment.n_words) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has borrowed it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.n_words * WORD_BYTES) };
        debug_assert!(unmapped.is_ok(), "a segment is mapped until it is dropped");
    }
}
