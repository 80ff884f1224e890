//! A file of the kernel's, read anew at every tick, and the fields of its lines.
//!
//! Files are opened by path each time. Keeping them open would save about a microsecond for each, and would go on reading
//! a file that was replaced.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::ReadError;

/// No file of the kernel's that is read here comes near: `/proc/stat` of a host with 8,192 cores has about 2 MiB.
const LIMIT_BYTES: u64 = 16 << 20;

/// How much of a line an error repeats: enough to know it by.
const GIVEN_BYTES: usize = 120;

/// A file of the kernel's, known to be there when the host was opened.
#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
}

impl KernelFile {
    /// The file `relative` under `root`, if it is there and may be read.
    ///
    /// # Errors
    /// What the system said, when it will say the same at every tick. Any other failure is left to the ticks.
    pub(crate) fn open(root: &Path, relative: &str) -> Result<KernelFile, io::Error> {
        let path = root.join(relative);
        match File::open(&path).and_then(|mut file| file.read(&mut [0])) {
            Err(error) if is_final(&error) => Err(error),
            _ => Ok(KernelFile { path }),
        }
    }

    /// Reads the whole file into `text`, in place of what was there.
    ///
    /// # Errors
    /// [`ReadError::Unreadable`] and [`ReadError::TooLong`].
    pub(crate) fn read<'t>(&self, text: &'t mut Vec<u8>) -> Result<&'t [u8], ReadError> {
        text.clear();
        let file = File::open(&self.path);
        match file.and_then(|file| file.take(LIMIT_BYTES + 1).read_to_end(text)) {
            Err(source) => Err(ReadError::Unreadable { path: self.path.clone(), source }),
            Ok(_) if text.len() as u64 > LIMIT_BYTES => {
                Err(ReadError::TooLong { path: self.path.clone(), limit_bytes: LIMIT_BYTES })
            }
            Ok(_) => Ok(text),
        }
    }

    /// The error of a line that is not what it should be.
    pub(crate) fn malformed(&self, needed: &'static str, line: &[u8]) -> ReadError {
        let given = String::from_utf8_lossy(&line[..line.len().min(GIVEN_BYTES)]).into_owned();
        ReadError::Malformed { path: self.path.clone(), needed, given }
    }
}

/// Whether `error` is one that trying again does not mend: not there, not allowed, not supported.
fn is_final(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

/// The lines of `text`, without their ends and without empty ones.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// The fields of `line` that blanks separate.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ' || byte == b'\t').filter(|field| !field.is_empty())
}

/// The whole number that `field` is.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
