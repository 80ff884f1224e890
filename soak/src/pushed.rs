//! A series that is pushed to a node: the same samples whatever happens, so that its scores can be compared with those
//! in a quiet node.

use std::time::Duration;

use anyhow::Context as _;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use units::Timestamp;

use crate::node::Node;

const ID: &str = "soak.pushed";
/// Sample spacing, long enough that the origins of scored long forecasts do not depend on the series' number in the
/// store.
const STEP: Duration = Duration::from_secs(5);
/// 2026-01-01 00:00 UTC: any moment will do.
const BEGAN: Timestamp = Timestamp::from_nanos(1_767_225_600_000_000_000);

/// Upper bound on the duration of a fit of so few samples. Fits are made beside the pushes, and the choice of a model's
/// first forecast must not depend on how fast a fit is.
const FITTED_WITHIN: Duration = Duration::from_millis(30);

/// The samples, as many as were needed so far.
pub struct Samples {
    chance: ChaCha8Rng,
    values: Vec<f64>,
}

impl Samples {
    pub fn new(seed: u64) -> Self {
        Self { chance: ChaCha8Rng::seed_from_u64(seed), values: Vec::new() }
    }

    /// Returns sample `idx` of an autoregressive process of order 1, which an autoregressive model can fit.
    fn value(&mut self, idx: usize) -> f64 {
        while self.values.len() <= idx {
            let last = self.values.last().copied().unwrap_or_default();
            self.values.push(0.8 * last + self.chance.random_range(-1.0..1.0));
        }
        self.values[idx]
    }
}

/// Creates the series.
pub fn create(node: &Node) -> anyhow::Result<()> {
    node.post("/api/v1/series", &json!({"id": ID, "step": "5s", "model": "AR(4)"})).map(drop)
}

/// Pushes the sample after the last one that the node has, and waits for the fit that it may make due. Gives how many
/// samples there are.
pub fn push_next(node: &Node, samples: &mut Samples) -> anyhow::Result<usize> {
    let n = n_samples(&detail(node)?)?;
    let sample = json!({"time": (BEGAN + STEP * n as u32).to_string(), "value": samples.value(n)});
    node.post(&format!("/api/v1/series/{ID}/samples"), &json!({"samples": [sample]}))?;
    clock::sleep(FITTED_WITHIN);
    Ok(n + 1)
}

fn detail(node: &Node) -> anyhow::Result<Value> {
    node.get(&format!("/api/v1/series/{ID}"))
}

/// Returns the number of samples by the label of the last one; 0 if there is none.
fn n_samples(detail: &Value) -> anyhow::Result<usize> {
    let Some(last) = detail["last"]["time"].as_str() else { return Ok(0) };
    let last: Timestamp = last.parse().with_context(|| format!("`{last}` is no time"))?;
    Ok((last.saturating_since(BEGAN).as_secs() / STEP.as_secs() + 1) as usize)
}

/// Scores and forecast, as a text that is equal when they are equal to the bit.
pub fn scores(node: &Node) -> anyhow::Result<String> {
    let accuracy = node.get(&format!("/api/v1/series/{ID}/accuracy"))?;
    let forecast = node.get(&format!("/api/v1/series/{ID}/forecast?horizon=30s"))?;
    Ok(format!("{} {} {}", accuracy["leads"], forecast["mean"], forecast["standard_error"]))
}
