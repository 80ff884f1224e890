//! Plan of a benchmark, in the words of SESAME's `iow`: its names for them are in brackets.

use std::path::PathBuf;

use crate::Error;

/// The operation on files (`fm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are made anew, and written.
    Create,
    /// They are written over.
    Write,
    /// They are read.
    Read,
}

/// The way in which operations pass the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the page cache.
    Buffered,
    /// Past it.
    Direct,
    /// Through it, each write down to the device before the next.
    Synchronous,
}

/// Records of one size, in some files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The folder of the files (`wd`).
    pub folder: PathBuf,
    /// Numbers of the files, from the first (`bf`) to the last (`ef`), for each task.
    pub files: std::ops::RangeInclusive<u32>,
    /// The operation on the files (`fm`).
    pub mode: Mode,
    /// How.
    pub access: Access,
    /// Operations on each file (`nio`).
    pub n_operations: u64,
    /// The position at which the first operation begins (`bio`).
    pub first_byte: u64,
    /// The length of each operation (`sio`).
    pub size_bytes: u64,
    /// The distance from the begin of one operation to that of the next (`str`).
    pub stride_bytes: u64,
    /// So many tasks at the same time, each with files of its own (`sz`).
    pub n_tasks: u32,
    /// Whether what the page cache has of a file is dropped before it is used.
    pub clears_caches: bool,
    /// Whether files are removed at the end (`rm`).
    pub removes: bool,
}

/// The unit of which direct operations have to be multiples, on any device there is.
pub const DIRECT_UNIT: u64 = 512;

const SIZE_MAX: u64 = 1 << 30;
const TASKS_MAX: u32 = 1024;

impl Plan {
    /// Whether it can be run.
    ///
    /// # Errors
    /// With what makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what, value, right| Err(Error::Plan { what, value, right });
        if self.size_bytes == 0 || self.size_bytes > SIZE_MAX {
            return wrong("a record size", self.size_bytes, "it is from 1 byte to 1 GiB");
        }
        if self.n_operations == 0 {
            return wrong("a number of operations", 0, "at least one is timed");
        }
        if self.n_tasks == 0 || self.n_tasks > TASKS_MAX {
            return wrong("a number of tasks", u64::from(self.n_tasks), "it is from 1 to 1024");
        }
        if self.access == Access::Direct {
            for (what, value) in
                [("a record size", self.size_bytes), ("a stride", self.stride_bytes), ("a first byte", self.first_byte)]
            {
                if value % DIRECT_UNIT != 0 {
                    return wrong(what, value, "past the page cache it is a multiple of 512");
                }
            }
        }
        Ok(())
    }

    /// The file of this number of this task.
    #[must_use]
    pub fn path(&self, task: u32, file: u32) -> PathBuf {
        self.folder.join(format!("iow.{task}.{file}"))
    }
}
