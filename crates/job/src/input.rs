//! Files that all units of a job read, identified on the way by a hash of their names and contents.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Files that units find in one place.
#[derive(Clone, Debug)]
pub struct Input {
    hash: String,
    files: Vec<(String, PathBuf)>,
}

impl Input {
    /// Builds an input of files, which get their own names.
    ///
    /// # Errors
    /// If one cannot be read, or two have the same name.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !is_file_name(&name) || files.iter().any(|(other, _)| *other == name) {
                return Err(io::Error::other(format!("`{}` has no name of its own", path.display())));
            }
            files.push((name, path));
        }
        files.sort();
        let opened = files.iter().map(|(name, path)| Ok((name.as_str(), File::open(path)?)));
        let hash = digest(opened.collect::<io::Result<Vec<_>>>()?)?;
        Ok(Self { hash, files })
    }

    /// Returns the text that an argument has in place of the path: that of the file, or of the folder of several.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("{{input:{}}}", self.hash)
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.files.iter().map(|(name, path)| (name.as_str(), path.as_path()))
    }
}

/// Computes the hash of files in the order of their names.
pub fn digest<R: Read>(files: impl IntoIterator<Item = (impl AsRef<str>, R)>) -> io::Result<String> {
    let mut all = Sha256::new();
    for (name, mut file) in files {
        let mut one = Sha256::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                n_bytes => one.update(&piece[..n_bytes]),
            }
        }
        all.update(name.as_ref());
        all.update([0]);
        all.update(one.finalize());
    }
    Ok(all.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether a text names a file in a folder, and nothing elsewhere.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != ".."
}
