//! Files that coordinators brought: kept by a hash of their contents, for as long as the worker is there, so that they
//! come once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::input::{digest, is_file_name, is_hash};

/// Text of an argument in place of an input's path; the path follows.
const MARK: &str = "{input:";

pub struct Inputs {
    folder: TempDir,
    bytes_max: u64,
}

impl Inputs {
    pub fn new(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("foretop-inputs-").tempdir_in(folder)?;
        Ok(Self { folder, bytes_max })
    }

    pub fn has(&self, hash: &str) -> Result<bool, String> {
        Ok(self.place(hash)?.is_dir())
    }

    /// Stores the next bytes of a file.
    pub fn put(&self, hash: &str, file: &str, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let folder = self.part(hash)?;
        if !is_file_name(file) {
            return Err(format!("`{file}` is no name of a file"));
        }
        if self.used() + bytes.len() as u64 > self.bytes_max {
            return Err(format!("inputs of more than {} bytes have no place here", self.bytes_max));
        }
        let add = || -> io::Result<u64> {
            fs::create_dir_all(&folder)?;
            let mut file = OpenOptions::new().create(true).append(true).open(folder.join(file))?;
            let length = file.metadata()?.len();
            if length == offset {
                file.write_all(bytes)?;
            }
            Ok(length)
        };
        match add() {
            Ok(length) if length == offset => Ok(()),
            Ok(length) => Err(format!("`{file}` has {length} bytes, and the next ones are for {offset}")),
            Err(error) => {
                // Whoever tries again begins anew.
                let _ = fs::remove_dir_all(&folder);
                Err(format!("`{file}` cannot be kept: {error}"))
            }
        }
    }

    /// Ends an input: from here on it is there, if its hash is right.
    pub fn keep(&self, hash: &str) -> Result<(), String> {
        let (part, place) = (self.part(hash)?, self.place(hash)?);
        let found = names(&part).and_then(|names| {
            let files = names.iter().map(|name| Ok((name.as_str(), File::open(part.join(name))?)));
            digest(files.collect::<io::Result<Vec<_>>>()?)
        });
        let found = found.map_err(|error| format!("the input cannot be read: {error}"))?;
        if found != hash {
            // What came is of no use to anybody.
            let _ = fs::remove_dir_all(&part);
            return Err(format!("what came is not the input that it was said to be: {found} instead of {hash}"));
        }
        // Two coordinators may have brought the same.
        if place.is_dir() { fs::remove_dir_all(&part) } else { fs::rename(&part, &place) }
            .map_err(|error| format!("the input cannot be kept: {error}"))
    }

    /// Returns the argument with the places of its inputs, and its form for the check of allowed arguments.
    pub fn resolve(&self, argument: &str) -> Result<(String, String), String> {
        let (mut actual, mut checked, mut rest) = (String::new(), String::new(), argument);
        while let Some((before, after)) = rest.split_once(MARK) {
            let (hash, behind) =
                after.split_once('}').ok_or_else(|| format!("`{argument}` has an input without an end"))?;
            let place = self.place(hash)?;
            if !place.is_dir() {
                return Err(format!("the input {hash} of `{argument}` is not here"));
            }
            let place = single(&place).unwrap_or(place);
            actual += before;
            actual += &place.to_string_lossy();
            checked += before;
            // A file in a folder that came as one input is as harmless as the folder.
            rest = match behind.strip_prefix('/') {
                Some(name) if is_file_name(name) => {
                    actual += "/";
                    actual += name;
                    ""
                }
                _ => behind,
            };
        }
        Ok((actual + rest, checked + rest))
    }

    fn place(&self, hash: &str) -> Result<PathBuf, String> {
        if is_hash(hash) { Ok(self.folder.path().join(hash)) } else { Err(format!("`{hash}` is no SHA-256")) }
    }

    fn part(&self, hash: &str) -> Result<PathBuf, String> {
        Ok(self.place(hash)?.with_extension("part"))
    }

    fn used(&self) -> u64 {
        let folders = fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }
}

/// Returns the names of the files in a folder, in order.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the only file of a folder.
fn single(folder: &Path) -> Option<PathBuf> {
    let names = names(folder).ok()?;
    (names.len() == 1).then(|| folder.join(&names[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_kept_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = Inputs::new(folder.path(), 100).unwrap();
        let hash = digest([("a", &b"one two"[..])]).unwrap();
        assert_eq!(inputs.has(&hash), Ok(false));
        inputs.put(&hash, "a", 0, b"one ").unwrap();
        assert!(inputs.put(&hash, "a", 0, b"one ").unwrap_err().contains("has 4 bytes"));
        assert!(inputs.keep(&hash).unwrap_err().contains("is not the input"));
        inputs.put(&hash, "a", 0, b"one two").unwrap();
        inputs.keep(&hash).unwrap();
        assert_eq!(inputs.has(&hash), Ok(true));
        let (actual, checked) = inputs.resolve(&format!("x={{input:{hash}}},2")).unwrap();
        let place = actual.strip_prefix("x=").unwrap().strip_suffix(",2").unwrap();
        assert_eq!((fs::read(place).unwrap(), checked), (b"one two".to_vec(), "x=,2".to_owned()));
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = Inputs::new(folder.path(), 10).unwrap();
        let hash = digest([("a", &b""[..])]).unwrap();
        for file in ["../a", "/a", "", "..", "a/b"] {
            assert!(inputs.put(&hash, file, 0, b"").is_err(), "{file}");
        }
        assert!(inputs.put("../../etc", "a", 0, b"").unwrap_err().contains("is no SHA-256"));
        assert!(inputs.put(&hash, "a", 0, &[0; 11]).unwrap_err().contains("more than 10 bytes"));
        assert!(inputs.resolve("{input:..}").is_err());
        inputs.put(&hash, "a", 0, b"").unwrap();
        inputs.keep(&hash).unwrap();
        // What is behind the path is for whoever allows arguments.
        let (_, checked) = inputs.resolve(&format!("{{input:{hash}}}/../../etc/passwd")).unwrap();
        assert_eq!(checked, "/../../etc/passwd");
    }
}
