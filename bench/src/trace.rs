//! The trace that fits and steps are timed on.

use std::fs::File;

use anyhow::{Context, Result};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/nab/ec2_cpu_utilization_5f5533.csv");

/// Its samples, evenly spaced, gaps as NaN.
///
/// # Errors
/// When it is not there, or does not read.
pub fn samples() -> Result<Vec<f64>> {
    let file = File::open(PATH).with_context(|| format!("opening {PATH}"))?;
    let series =
        series::csv::read(file, &series::csv::Options::default()).with_context(|| format!("reading {PATH}"))?;
    Ok(series.samples().to_vec())
}
