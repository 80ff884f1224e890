//! hls.js: a live medium that is behind plays faster, along a logistic curve in twentieths; nothing ever plays slower.
//!
//! ```text
//! rate = max(1, round(20 * 2 / (1 + e^(-0.75 d))) / 20)    0.05 s < d < target + segment, and more than 1 s in the buffer
//! d    = offset - target
//! ```
//!
//! Its default does not even speed up (`maxLiveSyncPlaybackRate` of 1); here it may, as fast as the listener accepts.
//! What is further behind is taken for somebody's wish. A segment is a third of the target, as by default. Checked
//! against hls.js 1.7.4; left out is that it adds to the exponent what a playlist is late.

use crate::{Limits, Situation};

const STEEPNESS: f64 = 0.75;
const NEAR_ENOUGH_SECONDS: f64 = 0.05;
const BUFFER_SECONDS: f64 = 1.0;
const STEPS: f64 = 20.0;
/// Segments of a target.
const N_SEGMENTS: f64 = 3.0;

pub(super) fn rate(situation: &Situation, limits: Limits) -> f64 {
    let requested = situation.requested_rate;
    let Some(live) = situation.live else { return requested };
    let behind = live.offset_seconds - live.target_seconds;
    let is_in_range = behind > NEAR_ENOUGH_SECONDS && behind < live.target_seconds * (1.0 + 1.0 / N_SEGMENTS);
    if !is_in_range || situation.buffer_seconds <= BUFFER_SECONDS {
        return requested;
    }
    let curve = (2.0 / (1.0 + (-STEEPNESS * behind).exp()) * STEPS).round() / STEPS;
    (requested * curve).clamp(requested, limits.fastest(requested))
}
