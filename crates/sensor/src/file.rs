//! A file of the kernel's, read anew at every tick, and the fields of its lines.
//!
//! Files are opened by path each time. Keeping them open was measured to save 1.3 microseconds for each, and would go
//! on reading a file that was replaced.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::ReadError;
use crate::error::Absence;

/// No file of the kernel's that is read here comes near: `/proc/stat` of a host with 8,192 cores has about 1 MiB.
const LIMIT_BYTES: u64 = 16 << 20;

/// The number of bytes of a line that an error repeats: enough to know the line by.
const GIVEN_BYTES: usize = 120;

/// A file of the kernel's, known to be there when the host was opened.
#[derive(Debug)]
pub struct KernelFile {
    path: PathBuf,
}

impl KernelFile {
    /// The file called `file` under `root`, if it is there and may be read.
    ///
    /// # Errors
    /// When the system refuses and will refuse at every tick. Any other failure is left to the ticks.
    pub(crate) fn open(root: &Path, file: &'static str) -> Result<KernelFile, Absence> {
        let path = root.join(file);
        // Pressure files can be opened and then refuse to be read when the kernel has pressure off.
        let Err(error) = File::open(&path).and_then(|mut opened| opened.read(&mut [0])) else {
            return Ok(KernelFile { path });
        };
        match error.kind() {
            io::ErrorKind::NotFound => Err(Absence::NoFile { file }),
            io::ErrorKind::PermissionDenied => Err(Absence::Denied { file }),
            io::ErrorKind::Unsupported => Err(Absence::Unsupported { file }),
            _ => Ok(KernelFile { path }),
        }
    }

    /// The file at `path`, known to be there.
    pub fn at(path: PathBuf) -> KernelFile {
        KernelFile { path }
    }

    /// Reads the whole file into `text`, in place of what was there.
    ///
    /// # Errors
    /// [`ReadError::Unreadable`] and [`ReadError::TooLong`].
    pub fn read<'t>(&self, text: &'t mut Vec<u8>) -> Result<&'t [u8], ReadError> {
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
    pub fn malformed(&self, needed: &'static str, line: &[u8]) -> ReadError {
        let given = String::from_utf8_lossy(&line[..line.len().min(GIVEN_BYTES)]).into_owned();
        ReadError::Malformed { path: self.path.clone(), needed, given }
    }
}

/// The lines of `text`, without their ends and without empty ones.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// The fields of `line` that blanks separate.
pub fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ' || byte == b'\t').filter(|field| !field.is_empty())
}

/// The whole number that `field` is.
pub fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// The whole number on the line of `text` that starts with the field `key`.
pub fn value_of(text: &[u8], key: &str) -> Option<u64> {
    let mut found = lines(text).map(fields).filter_map(|mut line| (line.next()? == key.as_bytes()).then_some(line));
    number(found.next()?.next()?)
}

/// Reads the file at `path` into `text`, in place of what was there; none if it cannot be read. A text longer than a
/// page is cut: no file of one process that is read here is that long.
pub(crate) fn read_page<'t>(path: &Path, text: &'t mut Vec<u8>) -> Option<&'t [u8]> {
    text.clear();
    File::open(path).ok()?.take(4096).read_to_end(text).ok()?;
    Some(text)
}

/// The numbers that are names in a directory.
///
/// # Errors
/// The system's, if the directory cannot be opened.
pub(crate) fn numbers_in(directory: &Path) -> io::Result<impl Iterator<Item = u32>> {
    Ok(fs::read_dir(directory)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The lines of a `/proc/PID/cgroup`: the number of the hierarchy, its controllers with commas between, and the path
/// of the process's group in it.
pub(crate) fn hierarchies(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    lines(text).filter_map(|line| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        Some((parts.next()?, parts.next()?, parts.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_whole_key() {
        let text = b"pswpin 3\npswpin_thp 9\nMemTotal:   24 kB\nodd\n";
        assert_eq!(value_of(text, "pswpin"), Some(3));
        assert_eq!(value_of(text, "MemTotal:"), Some(24));
        assert_eq!(value_of(text, "pswp"), None);
        assert_eq!(value_of(text, "odd"), None);
    }

    #[test]
    fn the_system_s_refusals_are_told_apart_by_their_kind() {
        // EOPNOTSUPP, which a kernel with pressure off answers.
        assert_eq!(io::Error::from_raw_os_error(95).kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn a_file_without_end_is_not_read_to_its_end() {
        let read = KernelFile::at("/dev/zero".into()).read(&mut Vec::new()).map(<[u8]>::len);
        assert!(matches!(read, Err(ReadError::TooLong { limit_bytes: LIMIT_BYTES, .. })), "{read:?}");
    }
}
