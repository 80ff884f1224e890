//! Files of the data directory that are there whole or not at all.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// The most that is read: ten thousand changes for each of some ways.
const BYTES_MAX: u64 = 64 << 20;

/// Reads a file with `parse`, or returns the default if there is none. One that cannot be read is moved out of the way,
/// and this is reported with what that has `lost`.
pub(super) fn read<T: Default>(path: &Path, lost: &str, parse: impl FnOnce(&[u8]) -> io::Result<T>) -> T {
    if !path.exists() {
        return T::default();
    }
    let mut bytes = Vec::new();
    let read = own_file::create(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    read.and_then(|_| parse(&bytes)).unwrap_or_else(|error| {
        let beside = path.with_added_extension("damaged");
        tracing::warn!(path = %path.display(), error = &error as &dyn std::error::Error, beside = %beside.display(), lost,
            "a file of warnings cannot be read; it is moved");
        if let Err(error) = fs::rename(path, &beside) {
            tracing::warn!(path = %path.display(), %error, "it cannot be moved");
        }
        T::default()
    })
}

/// Writes a file. What was there stays whole whatever happens.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_added_extension("part");
    let mut file = own_file::create(&part)?;
    file.set_len(0)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)
}
