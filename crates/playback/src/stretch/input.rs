//! The input that can still be heard, by frame from the start of the medium.

/// Interleaved samples, the oldest of which are forgotten.
#[derive(Clone, Debug)]
pub(super) struct Input {
    n_channels: usize,
    samples: Vec<f32>,
    first_frame: u64,
}

impl Input {
    pub(super) fn new(n_channels: usize) -> Self {
        Self { n_channels, samples: Vec::new(), first_frame: 0 }
    }

    pub(super) fn n_channels(&self) -> usize {
        self.n_channels
    }

    pub(super) fn push(&mut self, samples: &[f32]) {
        self.samples.extend_from_slice(samples);
    }

    /// The frame after the last.
    pub(super) fn end_frame(&self) -> u64 {
        self.first_frame + (self.samples.len() / self.n_channels) as u64
    }

    /// Samples of frames that are there.
    pub(super) fn frames(&self, from_frame: u64, n_frames: usize) -> &[f32] {
        let from = (from_frame - self.first_frame) as usize * self.n_channels;
        &self.samples[from..][..n_frames * self.n_channels]
    }

    /// Frees what was before a frame, once that is more than what stays: each sample is moved once on average.
    pub(super) fn forget_before(&mut self, frame: u64) {
        let n_samples = frame.saturating_sub(self.first_frame) as usize * self.n_channels;
        if 2 * n_samples > self.samples.len() {
            self.samples.drain(..n_samples);
            self.first_frame = frame;
        }
    }
}
