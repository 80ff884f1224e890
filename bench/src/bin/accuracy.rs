//! `bench-accuracy MODEL…`: judges models on recorded CPU traces and writes what they reached as JSON.
//!
//! A text that is no model is in the output with the reason.

use std::io::stdout;

use anyhow::Result;
use bench::accuracy::{cases, measure};
use bench::trace;
use predict::Spec;
use serde_json::{Value, json};

const N_CASES: usize = 110;
const SEED: u64 = 20_140_214;

fn main() -> Result<()> {
    let traces = trace::cpu()?;
    let cases = cases(&traces, N_CASES, SEED);
    let judge = |text: String| -> Result<Value> {
        Ok(match text.parse::<Spec>() {
            Ok(spec) => serde_json::to_value(measure(&spec, &cases))?,
            Err(reason) => json!({ "model": text, "refused": reason.to_string() }),
        })
    };
    let models: Vec<Value> = std::env::args().skip(1).map(judge).collect::<Result<_>>()?;
    let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
    let figures = json!({ "seed": SEED, "n_cases": N_CASES, "traces": names, "models": models });
    Ok(serde_json::to_writer_pretty(stdout(), &figures)?)
}
