//! The lag at which the input is most similar to what would follow.
//!
//! First every lag at a low sample rate, then, in the full tier, the frames around the best few of those.

use std::ops::RangeInclusive;

use super::input::Input;
use super::{Format, Tier};

/// The sample rate at which all lags are compared, or up to twice as much: voices and most of what has a pitch lie
/// below half of it.
const LOW_RATE_HERTZ: u32 = 6_000;

/// The number of the best lags at the low sample rate that are looked at closely.
const N_CLOSE: usize = 3;

/// Sums that are kept side by side, so that the compiler adds them in one instruction.
const N_LANES: usize = 16;

/// A lag and how similar it makes both places, from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) lag_frames: usize,
    pub(super) similarity: f32,
}

/// Searches, and the memory that they need again and again.
#[derive(Clone, Debug)]
pub(super) struct Search {
    overlap_frames: usize,
    /// Frames that become one at the low sample rate.
    n_joined: usize,
    low: Vec<f32>,
    found: Vec<Found>,
}

impl Search {
    pub(super) fn new(format: Format, overlap_frames: usize) -> Self {
        let n_joined = (format.sample_rate_hertz / LOW_RATE_HERTZ) as usize;
        Self { overlap_frames, n_joined, low: Vec::new(), found: Vec::new() }
    }

    /// The best of `lags`, which are not empty, before (`sign` -1) or after (1) a frame.
    pub(super) fn best(
        &mut self,
        input: &Input,
        at_frame: u64,
        sign: i64,
        lags: RangeInclusive<usize>,
        tier: Tier,
    ) -> Found {
        let overlap_frames = self.overlap_frames;
        let overlap = input.frames(at_frame, overlap_frames);
        let energy = product(overlap, overlap);
        let look = |lag_frames: usize| {
            let place = input.frames(at_frame.strict_add_signed(sign * lag_frames as i64), overlap_frames);
            Found { lag_frames, similarity: similarity(overlap, energy, place) }
        };
        let middle = look(lags.start().midpoint(*lags.end()));
        if tier == Tier::Plain {
            return middle;
        }
        self.look_low(input, at_frame, sign, &lags);
        let best = |found: Found, other: Found| if other.similarity > found.similarity { other } else { found };
        if tier == Tier::Coarse {
            let low = self.found.iter().copied().reduce(best);
            return low.map_or(middle, |low| look(low.lag_frames));
        }
        let close = 1 - self.n_joined as isize..self.n_joined as isize;
        self.peaks()
            .flat_map(|peak| close.clone().filter_map(move |away| peak.lag_frames.checked_add_signed(away)))
            .filter(|lag_frames| lags.contains(lag_frames))
            .map(look)
            .fold(middle, best)
    }

    /// Compares both places at the low sample rate, for each lag that is a whole number of its frames.
    fn look_low(&mut self, input: &Input, at_frame: u64, sign: i64, lags: &RangeInclusive<usize>) {
        let n_channels = input.n_channels();
        let n_overlap = self.overlap_frames / self.n_joined;
        let (shortest, longest) = (lags.start().div_ceil(self.n_joined), lags.end() / self.n_joined);
        let first_frame = if sign < 0 { at_frame - (longest * self.n_joined) as u64 } else { at_frame };
        let frames = input.frames(first_frame, (longest + n_overlap) * self.n_joined);
        self.low.clear();
        for joined in frames.chunks_exact(self.n_joined * n_channels) {
            let from = self.low.len();
            self.low.extend_from_slice(&joined[..n_channels]);
            for frame in joined[n_channels..].chunks_exact(n_channels) {
                self.low[from..].iter_mut().zip(frame).for_each(|(sum, sample)| *sum += sample);
            }
        }
        let at = |low_frame: usize| &self.low[low_frame * n_channels..][..n_overlap * n_channels];
        let overlap = at(if sign < 0 { longest } else { 0 });
        let energy = product(overlap, overlap);
        self.found.clear();
        self.found.extend((shortest..=longest).map(|lag| Found {
            lag_frames: lag * self.n_joined,
            similarity: similarity(overlap, energy, at(if sign < 0 { longest - lag } else { lag })),
        }));
    }

    /// The best of the lags at the low sample rate that are better than their neighbours, at most [`N_CLOSE`].
    fn peaks(&self) -> impl Iterator<Item = Found> {
        let mut peaks = [None::<Found>; N_CLOSE];
        for (idx, found) in self.found.iter().enumerate() {
            let neighbours = &self.found[idx.saturating_sub(1)..(idx + 2).min(self.found.len())];
            if neighbours.iter().all(|neighbour| neighbour.similarity <= found.similarity) {
                let place = peaks.iter().position(|peak| peak.is_none_or(|peak| peak.similarity < found.similarity));
                if let Some(place) = place {
                    peaks[place..].rotate_right(1);
                    peaks[place] = Some(*found);
                }
            }
        }
        peaks.into_iter().flatten()
    }
}

/// Returns the similarity of two places, of which the first has a known energy, from -1 to 1; -1 if not a number.
fn similarity(overlap: &[f32], energy: f32, place: &[f32]) -> f32 {
    let both = energy + product(place, place);
    let similarity = if both == 0.0 { 1.0 } else { 2.0 * product(overlap, place) / both };
    if similarity.is_nan() { -1.0 } else { similarity }
}

/// The scalar product, in an order that depends on nothing but the length.
fn product(a: &[f32], b: &[f32]) -> f32 {
    let (a_lanes, a_rest) = a.as_chunks::<N_LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<N_LANES>();
    let mut sums = [0.0_f32; N_LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..N_LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
