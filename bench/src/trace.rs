//! Recorded traces from `testdata/nab`.

use std::fs::{File, read_dir};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/nab");

/// The trace that fits and steps are timed on.
pub const TIMED: &str = "ec2_cpu_utilization_5f5533";

/// A recorded series.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its file's name, without the ending.
    pub name: String,
    /// Evenly spaced, gaps as NaN.
    pub samples: Vec<f64>,
}

/// The trace of this name.
///
/// # Errors
/// When there is none, or it does not read.
pub fn read(name: &str) -> Result<Trace> {
    read_file(&Path::new(FOLDER).join(format!("{name}.csv")))
}

/// All traces of CPU use, by name.
///
/// # Errors
/// When one of them does not read.
pub fn cpu() -> Result<Vec<Trace>> {
    let entries = read_dir(FOLDER).with_context(|| format!("listing {FOLDER}"))?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.to_string_lossy().contains("cpu_utilization"));
    paths.sort();
    paths.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Result<Trace> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let series = series::csv::read(file, &series::csv::Options::default())
        .with_context(|| format!("reading {}", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Trace { name, samples: series.samples().to_vec() })
}
