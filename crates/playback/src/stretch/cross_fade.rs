//! Cross-fade from one place of the input to another, without a click and without a change of loudness.
//!
//! With `w` from 0 to 1 along half a period of a cosine and `s` the similarity of both places,
//!
//! ```text
//! y = g (a + w (b - a))        g = 1 / sqrt(1 - 2 w (1 - w) (1 - s))
//! ```
//!
//! `g` keeps the power: it is 1 for equal places, and raises the middle by 3 dB for places that have nothing in common.

use std::f64::consts::PI;

use super::input::Input;

/// The weights of a cross-fade.
#[derive(Clone, Debug)]
pub(super) struct CrossFade {
    weights: Vec<f32>,
}

impl CrossFade {
    pub(super) fn new(n_frames: usize) -> Self {
        let weight = |idx| (0.5 - 0.5 * (PI * (idx as f64 + 0.5) / n_frames as f64).cos()) as f32;
        Self { weights: (0..n_frames).map(weight).collect() }
    }

    pub(super) fn n_frames(&self) -> usize {
        self.weights.len()
    }

    /// Appends the way from one frame to another; what follows is what follows the latter's overlap.
    pub(super) fn append(&self, input: &Input, from_frame: u64, to_frame: u64, similarity: f32, output: &mut Vec<f32>) {
        let n_channels = input.n_channels();
        // What is opposed would be raised without end.
        let unlike = 1.0 - similarity.clamp(0.0, 1.0);
        let froms = input.frames(from_frame, self.n_frames()).chunks_exact(n_channels);
        let tos = input.frames(to_frame, self.n_frames()).chunks_exact(n_channels);
        for ((from, to), weight) in froms.zip(tos).zip(&self.weights) {
            let gain = 1.0 / (1.0 - 2.0 * weight * (1.0 - weight) * unlike).sqrt();
            output.extend(from.iter().zip(to).map(|(a, b)| gain * (a + weight * (b - a))));
        }
    }
}
