//! The state of a series as bytes, so that a restart goes on where the node ended.

use predict::{Evaluator, Live, WindowErrors};
use serde::{Deserialize, Serialize};
use units::Timestamp;

use super::ScoredLive;

/// Goes up with every change of what is saved, here or in what scores consist of; a state of another version is not
/// read.
const VERSION: u32 = 4;

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    /// The policy of the series, so that a state under another plan is not taken for one of this plan.
    policy: String,
    step_ns: u128,
    leads: Vec<usize>,
    last_ns: i64,
    last_known_ns: Option<i64>,
    has_fitted: bool,
    n_lost: u64,
    /// The model, LAST and MEAN, each as [`Live::save`] makes it.
    lives: [Vec<u8>; 3],
    scores: [Evaluator; 3],
    window_errors: Option<WindowErrors>,
}

impl ScoredLive {
    /// The state, with a checksum; nothing of a series without a step.
    pub(crate) fn save(&self) -> Vec<u8> {
        let Some(last) = self.last else { return Vec::new() };
        let [of_last, of_mean] = &self.baselines;
        let saved = Saved {
            version: VERSION,
            policy: self.plan.policy.to_string(),
            step_ns: self.plan.step.as_nanos(),
            leads: self.plan.leads.clone(),
            last_ns: last.as_nanos(),
            last_known_ns: self.last_known.map(Timestamp::as_nanos),
            has_fitted: self.has_fitted && !self.live.has_task_out(),
            n_lost: self.n_lost,
            lives: [&self.live, of_last, of_mean].map(Live::save),
            scores: self.scores.clone(),
            window_errors: self.window_errors.clone(),
        };
        let mut bytes = postcard::to_allocvec(&saved).expect("numbers, lists and text can be encoded");
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// This series as it was when it was saved; `None` for bytes that are damaged, or were saved under another plan.
    pub(crate) fn restored(&self, bytes: &[u8]) -> Option<Self> {
        let (bytes, checksum) = bytes.split_last_chunk()?;
        if crc32fast::hash(bytes) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let saved: Saved = postcard::from_bytes(bytes).ok()?;
        let plan = &self.plan;
        let is_mine = saved.version == VERSION
            && saved.policy == plan.policy.to_string()
            && saved.step_ns == plan.step.as_nanos()
            && saved.leads == plan.leads
            && saved.window_errors.is_some() == self.window_errors.is_some();
        if !is_mine {
            return None;
        }
        let [live, of_last, of_mean] = saved.lives;
        Some(Self {
            last: Some(Timestamp::from_nanos(saved.last_ns)),
            last_known: saved.last_known_ns.map(Timestamp::from_nanos),
            live: Live::restore(&live).ok()?,
            baselines: [Live::restore(&of_last).ok()?, Live::restore(&of_mean).ok()?],
            scores: saved.scores,
            window_errors: saved.window_errors,
            has_fitted: saved.has_fitted,
            n_lost: saved.n_lost,
            ..self.clone()
        })
    }
}
