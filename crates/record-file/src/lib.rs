//! Files of records in a folder: named after this host and the moment, with what they say of where they are from.
#![forbid(unsafe_code)]

use std::fs::File;
use std::path::{Path, PathBuf};

use program::Failure;

/// A file that has just been made, and the attributes that it begins with.
#[derive(Debug)]
pub struct RecordFile {
    /// The path.
    pub path: PathBuf,
    /// The file, without a byte.
    pub file: File,
    /// `FileName`, `SystemType`, `HostName`, `BootId`, `Instrument`, `BeginDate` and the clock's offsets, in this
    /// order: times of files with the same boot compare with each other.
    pub head: Vec<(String, String)>,
}

impl RecordFile {
    /// Begins a file `HOST_YYYYMMDDhhmmss.ENDING` in this folder, which is made if it is not there; `instrument` is who
    /// measures, with its version.
    ///
    /// # Errors
    /// When it is there already, or cannot be made.
    pub fn begin(folder: &Path, ending: &str, instrument: String) -> Result<Self, Failure> {
        Self::begin_from(folder, ending, origin(instrument))
    }

    /// The same for a file of what another host says of where it is from, which has its name and moment.
    ///
    /// # Errors
    /// As those of [`Self::begin`].
    pub fn begin_from(folder: &Path, ending: &str, mut origin: Vec<(String, String)>) -> Result<Self, Failure> {
        let said = |wanted: &str| origin.iter().find(|(name, _)| name == wanted).map_or("", |(_, text)| text);
        let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
        let host = said("HostName").replace(|c| !is_plain(c), "_");
        let stamp: String = said("BeginDate").chars().filter(char::is_ascii_digit).take(14).collect();
        let name = format!("{host}_{stamp}.{ending}");
        let path = folder.join(&name);
        make_folder(folder)?;
        let file = create(&path)?;
        origin.retain(|(name, _)| name != "FileName");
        origin.insert(0, ("FileName".to_owned(), name));
        Ok(Self { path, file, head: origin })
    }
}

/// Returns the attributes of a measurement here and now: `SystemType`, `HostName`, `BootId`, `Instrument`, `BeginDate`
/// and the clock's offsets, in this order; `instrument` is the measuring program, with its version.
#[must_use]
pub fn origin(instrument: String) -> Vec<(String, String)> {
    let system = rustix::system::uname();
    let kind = format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy());
    let own = [
        ("SystemType", kind),
        ("HostName", system.nodename().to_string_lossy().into_owned()),
        ("BootId", boot_id()),
        ("Instrument", instrument),
        ("BeginDate", clock::now().to_string()),
    ];
    own.into_iter().chain(clock_offset()).map(|(name, text)| (name.to_owned(), text)).collect()
}

/// Makes a folder, and those above it, unless it is there. A program that measures first and writes last calls it
/// before it measures.
///
/// # Errors
/// When it cannot be made, as where a file has its name.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::work(format!("cannot make the folder `{}`: {error}", folder.display())))
}

/// A file that was not there before.
///
/// # Errors
/// When it was, or cannot be made.
pub fn create(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|error| Failure::work(format!("cannot make the file `{}`: {error}", path.display())))
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Returns the offset from times of the monotonic clock to those of the wall, and the bound of the offset's error.
fn clock_offset() -> [(&'static str, String); 2] {
    let tries = (0..16).map(|_| {
        let before = clock::monotonic_ns();
        let wall_ns = i128::from(clock::now().as_nanos());
        let after = clock::monotonic_ns();
        (after - before, wall_ns - i128::from(before + (after - before) / 2))
    });
    let (width, offset) = tries.min_by_key(|(width, _)| *width).unwrap_or_default();
    [("ClockOffset_ns", offset.to_string()), ("ClockOffsetBound_ns", width.div_ceil(2).to_string())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_where_it_is_from_and_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let made = RecordFile::begin(folder.path(), "kernel", "foretop-kernel 1.0".to_owned()).unwrap();
        let of = |wanted: &str| &made.head.iter().find(|(name, _)| name == wanted).unwrap().1;
        let stamp = made.path.file_stem().unwrap().to_string_lossy();
        assert_eq!(*of("FileName"), format!("{stamp}.kernel"));
        let digits = stamp.strip_prefix(&format!("{}_", of("HostName"))).unwrap();
        assert!(digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{digits}");
        assert_eq!(of("BootId").len(), 36);
        let error = create(&made.path).unwrap_err().message;
        assert!(error.contains(&made.path.display().to_string()), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_made_and_a_file_in_its_place_is_named() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("runs/today");
        let made = RecordFile::begin(&folder, "sort", "foretop-sort 1.0".to_owned()).unwrap();
        assert!(made.path.starts_with(&folder) && made.path.is_file());
        let error = make_folder(&made.path).unwrap_err().message;
        assert!(error.starts_with(&format!("cannot make the folder `{}`", made.path.display())), "{error}");
    }

    #[test]
    fn the_name_of_another_host_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let origin = [("HostName", "../../a b"), ("BeginDate", "2026-11-26T08:00:00Z")];
        let origin = origin.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
        let made = RecordFile::begin_from(folder.path(), "kernel", origin).unwrap();
        assert_eq!(made.path, folder.path().join(".._.._a_b_20261126080000.kernel"));
        assert_eq!(made.head[1], ("HostName".to_owned(), "../../a b".to_owned()));
    }
}
