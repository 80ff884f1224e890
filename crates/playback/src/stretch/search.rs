//! The piece of input that goes on most as another would have: normalised correlation of a mono mix, first of every few frames, then of each
//! around the best.

use std::ops::RangeInclusive;

use super::{Format, Tier};

/// Sample rate at which similarity is looked for first, about: speech and most of music lie below half of it.
const COARSE_HERTZ: u32 = 12_000;

/// Of the coarse tier.
const COARSEST_HERTZ: u32 = 6_000;

/// One channel of all, in full and at the coarse rate.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    n_channels: usize,
    step: usize,
    /// From the frame on that the input begins with, likewise the coarse one.
    fine: Vec<f32>,
    coarse: Vec<f32>,
    base: usize,
    /// What the coarse tier leaves out, in steps.
    n_skipped: usize,
}

impl Mix {
    pub(super) fn new(format: Format) -> Self {
        let step = (format.sample_rate_hertz / COARSE_HERTZ).max(1) as usize;
        let coarsest = (format.sample_rate_hertz / COARSEST_HERTZ).max(1) as usize;
        let n_skipped = (coarsest / step).max(1);
        Self { n_channels: format.n_channels, step, fine: Vec::new(), coarse: Vec::new(), base: 0, n_skipped }
    }

    /// Frames of one place of the coarse mix.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// Takes what `input`, which begins with frame `base`, has beyond what was taken.
    pub(super) fn extend(&mut self, input: &[f32], base: usize) {
        debug_assert_eq!(base, self.base);
        let n = self.n_channels;
        let new = &input[self.fine.len() * n..];
        match n {
            1 => self.fine.extend_from_slice(new),
            // Not in equal parts: sounds that are opposite in two channels must not cancel out.
            2 => self.fine.extend(new.chunks_exact(2).map(|frame| frame[0] + 0.7 * frame[1])),
            _ => self.fine.extend(
                new.chunks_exact(n)
                    .map(|frame| frame.iter().zip(1..).map(|(sample, number)| sample / number as f32).sum::<f32>()),
            ),
        }
        let done = self.coarse.len() * self.step;
        self.coarse.extend(self.fine[done..].chunks_exact(self.step).map(|some| some.iter().sum::<f32>()));
    }

    /// Throws the first `n` frames away, whole steps.
    pub(super) fn forget(&mut self, n: usize) {
        self.fine.drain(..n);
        self.coarse.drain(..n / self.step);
        self.base += n;
    }
}

/// The frame among `places` from which `hop` frames are most like those from `target` on; of equals the one nearest to `read`.
pub(super) fn search(
    mix: &Mix,
    tier: Tier,
    target: usize,
    places: RangeInclusive<usize>,
    read: usize,
    hop: usize,
) -> usize {
    if tier == Tier::OverlapAdd {
        return read;
    }
    let step = mix.step;
    let (target, read) = (target - mix.base, read - mix.base);
    let (first, last) = (*places.start() - mix.base, *places.end() - mix.base);
    let n_skipped = if tier == Tier::Coarse { mix.n_skipped } else { 1 };
    let pattern = &mix.coarse[target / step..][..hop / step];
    let coarse = best(&mix.coarse, pattern, first.div_ceil(step), last / step, n_skipped, read / step);
    // The target lies so far behind the place of the coarse mix that stands for it, and so does what was found.
    let near = (coarse * step + target % step).clamp(first, last);
    let found = match tier {
        Tier::Full if step > 1 => {
            let pattern = &mix.fine[target..][..hop];
            best(&mix.fine, pattern, near.saturating_sub(step).max(first), (near + step).min(last), 1, near)
        }
        _ => near,
    };
    found + mix.base
}

/// The place from `first` to `last` with the greatest normalised correlation; `near` where nothing is like the pattern.
fn best(sound: &[f32], pattern: &[f32], first: usize, last: usize, n_skipped: usize, near: usize) -> usize {
    let n = pattern.len();
    let mut energy = energy_of(&sound[first..first + n]);
    let (mut found, mut most) = (near.clamp(first, last), 0.0_f64);
    for place in (first..=last).step_by(n_skipped) {
        if place > first {
            // What leaves and what enters; sums of squares so long do not drift by more than their own rounding.
            energy += energy_of(&sound[place + n - n_skipped..place + n]) - energy_of(&sound[place - n_skipped..place]);
        }
        let alike = f64::from(dot(&sound[place..place + n], pattern));
        // Signed square over energy: no root for each place.
        let score = alike * alike.abs() / energy.max(1e-9);
        if score > most {
            (found, most) = (place, score);
        }
    }
    found
}

fn energy_of(sound: &[f32]) -> f64 {
    sound.iter().map(|sample| f64::from(*sample) * f64::from(*sample)).sum()
}

/// The sum of products, in lanes that the compiler makes into vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const N_LANES: usize = 16;
    let mut lanes = [0.0_f32; N_LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(N_LANES), b.chunks_exact(N_LANES));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}
