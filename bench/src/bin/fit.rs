//! `bench-fit MODEL N`: times the fit of a model to the first N samples of the trace, and writes time and estimates as
//! JSON.

use std::io::stdout;

use anyhow::{Context, Result};
use bench::{timing, trace};
use predict::{Spec, fit};
use serde_json::json;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (text, n) = arguments.next().zip(arguments.next()).context("usage: bench-fit MODEL N")?;
    let spec: Spec = text.parse()?;
    let samples = trace::samples()?;
    let n: usize = n.parse().with_context(|| format!("`{n}` is not a number of samples"))?;
    let samples = samples.get(..n).with_context(|| format!("the trace has {} samples", samples.len()))?;
    let model = fit(&spec, samples)?;
    let figures = json!({
        "time_seconds": timing::best_seconds(|| fit(&spec, samples)),
        "phi": model.coefficients(),
        "theta": model.moving_average(),
        "d": model.fraction(),
        "mean": model.mean(),
        "innovation_variance": model.innovation_variance(),
    });
    Ok(serde_json::to_writer_pretty(stdout(), &figures)?)
}
