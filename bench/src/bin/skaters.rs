//! `bench-skaters`: what the `skaters` crate takes for one more sample and forecasts of 1 and of 30 steps, as JSON.

use std::io::stdout;

use anyhow::Result;
use bench::{timing, trace};
use serde_json::json;

/// Number of samples before the timing, as many as the other programs are fitted to.
const N_BEFORE: usize = 600;

fn main() -> Result<()> {
    let samples = trace::samples()?;
    let time = |n_leads| {
        let mut forecaster = skaters::laplace(n_leads);
        samples[..N_BEFORE].iter().for_each(|sample| drop(forecaster.step(*sample)));
        let mut following = samples[N_BEFORE..].iter().cycle();
        timing::best_seconds(|| following.next().map(|sample| forecaster.step(*sample)))
    };
    let figures = json!({ "step_and_1_forecast_seconds": time(1), "step_and_30_forecasts_seconds": time(30) });
    Ok(serde_json::to_writer_pretty(stdout(), &figures)?)
}
