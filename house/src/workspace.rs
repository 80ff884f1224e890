//! The packages of the workspace at hand, from `cargo metadata` and their files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use serde::Deserialize;

use crate::{Dependency, Kind, Package, Place, Source};

/// Error while reading the packages of a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say all")]
pub enum ReadError {
    #[error("starting `cargo metadata`")]
    Start(#[source] io::Error),
    #[error("`cargo metadata` failed: {said}")]
    Cargo { said: String },
    #[error("reading what `cargo metadata` printed")]
    Metadata(#[source] serde_json::Error),
    #[error("reading {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// The packages of the workspace whose root is given, by name, with their Rust files. Asks no network.
///
/// # Errors
/// [`ReadError`] if `cargo metadata` fails, for instance on a manifest that is not valid, or if a file cannot be read.
pub fn read_packages(root: &Path) -> Result<Vec<Package>, ReadError> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(ReadError::Start)?;
    if !output.status.success() {
        return Err(ReadError::Cargo { said: String::from_utf8_lossy(&output.stderr).trim().into() });
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).map_err(ReadError::Metadata)?;
    let mut packages =
        metadata.packages.into_iter().map(|package| read(package, root)).collect::<Result<Vec<_>, _>>()?;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<PackageEntry>,
}

#[derive(Deserialize)]
struct PackageEntry {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<DependencyEntry>,
    targets: Vec<TargetEntry>,
    metadata: Option<Tables>,
}

#[derive(Deserialize)]
struct DependencyEntry {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct TargetEntry {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Tables {
    house: Option<House>,
}

#[derive(Deserialize)]
struct House {
    floor: u32,
}

fn read(entry: PackageEntry, root: &Path) -> Result<Package, ReadError> {
    let folder = entry.manifest_path.parent().unwrap_or(root);
    let inside = folder.strip_prefix(root).unwrap_or(folder);
    let place = match inside.iter().next().and_then(OsStr::to_str) {
        None | Some("crates" | "apps") => Place::OnAFloor,
        Some(beside) => Place::Beside(beside.into()),
    };
    let mut sources = Vec::new();
    read_sources(folder, &mut |path, text| {
        sources.push(Source { kind: kind_of_file(path, folder, &entry.targets), text });
    })?;
    let dependencies = entry.dependencies.into_iter().map(|dependency| Dependency {
        code_name: dependency.rename.as_ref().unwrap_or(&dependency.name).replace('-', "_"),
        package: dependency.name,
        kind: match dependency.kind.as_deref() {
            Some("dev") => Kind::Development,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        },
    });
    Ok(Package {
        name: entry.name,
        place,
        floor: entry.metadata.and_then(|tables| tables.house).map(|house| house.floor),
        dependencies: dependencies.collect(),
        sources,
    })
}

/// Returns the kind of a file, by the target that it is the root of, otherwise by its folder.
fn kind_of_file(path: &Path, folder: &Path, targets: &[TargetEntry]) -> Kind {
    let target = targets.iter().find(|target| target.src_path == path);
    match target.and_then(|target| target.kind.first()).map(String::as_str) {
        Some("custom-build") => Kind::Build,
        Some("test" | "bench" | "example") => Kind::Development,
        Some(_) => Kind::Normal,
        None => {
            let within = path.strip_prefix(folder).unwrap_or(path);
            match within.iter().next().and_then(OsStr::to_str) {
                Some("tests" | "benches" | "examples") => Kind::Development,
                _ => Kind::Normal,
            }
        }
    }
}

/// Gives every Rust file below the folder, those in hidden folders and in folders of what was built left out.
fn read_sources(folder: &Path, take: &mut impl FnMut(&Path, String)) -> Result<(), ReadError> {
    let failed = |source| ReadError::File { path: folder.into(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') && !matches!(name, "target" | "node_modules") {
                read_sources(&path, take)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).map_err(|source| ReadError::File { path: path.clone(), source })?;
            take(&path, text);
        }
    }
    Ok(())
}
