//! Files of the kernel's that hold one number each, as those of devices in `/sys` do.
//!
//! Devices sleep, vanish and fail, and the kernel then refuses to read such a file or writes something else: the
//! signal has a gap, which is no error.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use signal::{Readings, Signal};

use crate::file::read_page;

/// A signal that is the number in a file.
#[derive(Debug)]
pub(crate) struct ValueFile {
    path: PathBuf,
    signal: Arc<Signal>,
    per_unit: f64,
}

impl ValueFile {
    /// `per_unit` is the number that stands for one in the unit of the signal: 1,000 for thousandths of a degree.
    pub(crate) fn new(path: PathBuf, signal: Arc<Signal>, per_unit: f64) -> ValueFile {
        ValueFile { path, signal, per_unit }
    }

    /// Hands out the value, if the file has a number.
    pub(crate) fn read(&self, text: &mut Vec<u8>, readings: &mut Readings) {
        let number = integer_at(&self.path, text);
        readings.push_some(&self.signal, number.map(|number| number as f64 / self.per_unit));
    }
}

/// The whole number that the file at `path` holds and nothing else.
pub(crate) fn integer_at(path: &Path, text: &mut Vec<u8>) -> Option<i64> {
    str::from_utf8(read_page(path, text)?.trim_ascii()).ok()?.parse().ok()
}

/// The text of the file at `path` without blanks around it, if there is any.
pub(crate) fn word_at(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let word = read_page(path, &mut text)?.trim_ascii();
    (!word.is_empty()).then(|| word.to_owned())
}

/// The names in `directory` that are text, in order.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}
