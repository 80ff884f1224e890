//! Sound at another speed and the same pitch: WSOLA (Verhelst and Roelands, "An overlap-add technique based on waveform similarity (WSOLA) for high quality
//! time-scale modification of speech", ICASSP 1993).
//!
//! Output is made in hops of H frames. With p the input position of the hop before, r the rate, and a read position that moves on by r H a hop:
//!
//! ```text
//! target   = x[p + H ..]                               how the hop before would go on
//! d        = argmax over |d| <= S of similarity(x[read + d ..], target)
//! p'       = read + d
//! y[i]     = (1 - w[i]) target[i] + w[i] x[p' + i]     w raised cosine, i in 0 .. H
//! ```
//!
//! At a rate of 1 every hop goes on as the one before would, so samples pass unchanged; going there and back is a hop like any other. All channels take the same d.
//! What comes out does not depend on how the input is cut into pushes.

mod search;

use std::f64::consts::PI;

use search::{Mix, search};

/// Seconds of a hop: half a window. Shorter ones follow speech, longer ones suit music; 10 ms is in the middle of what players use.
const HOP_SECONDS: f64 = 0.010;

/// How far either way a hop is looked for: a period of 66 Hz both ways together.
const SEARCH_SECONDS: f64 = 0.0075;

/// Rates that can be had.
const RATES: (f64, f64) = (0.5, 2.0);

/// Frames that were used are thrown away when there are so many.
const N_USED_MAX: usize = 16_384;

/// How a sound is written: interleaved, a sample of each channel in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Frames a second.
    pub sample_rate_hertz: u32,
    /// Samples a frame.
    pub n_channels: usize,
}

/// How much is spent on finding a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Nothing: sound passes at a rate of 1, whatever was asked for.
    None,
    /// No search: hops are added where they fall, which roughens sustained sounds.
    OverlapAdd,
    /// Among every eighth of a millisecond or so.
    Coarse,
    /// To the frame.
    Full,
}

/// Why a sound cannot be stretched.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StretchError {
    /// A sample rate that no sound has.
    #[error("a sample rate of {0} Hz: sound has 4,000 to 768,000")]
    SampleRate(u32),
    /// Too few or too many channels.
    #[error("{0} channels: sound has 1 to 64")]
    Channels(usize),
    /// A rate that cannot be had.
    #[error("a rate of {0}: it is between 0.5 and 2")]
    Rate(f64),
}

/// Changes the speed of a sound while it comes in.
#[derive(Clone, Debug)]
pub struct Stretcher {
    format: Format,
    tier: Tier,
    rate: f64,
    /// Frames of a hop and of the search to either side.
    hop: usize,
    reach: usize,
    fade: Vec<f32>,
    /// Interleaved, from frame `base` on.
    input: Vec<f32>,
    base: usize,
    mix: Mix,
    /// Where the target begins: the frame after the last that was played.
    target: usize,
    /// Where the next hop would be taken from if no similarity counted.
    read: f64,
}

impl Stretcher {
    /// At a rate of 1 and the full tier.
    ///
    /// # Errors
    /// [`StretchError`] for a format that no sound has.
    pub fn new(format: Format) -> Result<Self, StretchError> {
        if !(4_000..=768_000).contains(&format.sample_rate_hertz) {
            return Err(StretchError::SampleRate(format.sample_rate_hertz));
        }
        if !(1..=64).contains(&format.n_channels) {
            return Err(StretchError::Channels(format.n_channels));
        }
        let frames = |seconds: f64| (seconds * f64::from(format.sample_rate_hertz)).round() as usize;
        let hop = frames(HOP_SECONDS);
        let fade = (0..hop).map(|idx| (0.5 - 0.5 * (PI * (idx as f64 + 0.5) / hop as f64).cos()) as f32).collect();
        Ok(Self {
            format,
            tier: Tier::Full,
            rate: 1.0,
            hop,
            reach: frames(SEARCH_SECONDS),
            fade,
            input: Vec::new(),
            base: 0,
            mix: Mix::new(format),
            target: 0,
            read: 0.0,
        })
    }

    /// How a sound is written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Plays at this rate from the next hop on.
    ///
    /// # Errors
    /// [`StretchError::Rate`] for what is not between 0.5 and 2.
    pub fn set_rate(&mut self, rate: f64) -> Result<(), StretchError> {
        if !(RATES.0..=RATES.1).contains(&rate) {
            return Err(StretchError::Rate(rate));
        }
        self.rate = rate;
        Ok(())
    }

    /// Searches like this from the next hop on.
    pub fn set_tier(&mut self, tier: Tier) {
        self.tier = tier;
    }

    /// Frames of input that have been played: what comes out next is what stands there. Media time is this over the sample rate.
    #[must_use]
    pub fn position_frames(&self) -> usize {
        self.target
    }

    /// The most that output is behind input, in seconds.
    #[must_use]
    pub fn latency_seconds(&self) -> f64 {
        (2 * self.hop + 2 * self.reach) as f64 / f64::from(self.format.sample_rate_hertz)
    }

    /// Takes whole frames in and adds to `output` all that can be made. Samples that are no numbers count as silence.
    ///
    /// # Panics
    /// When the last frame is not whole.
    pub fn push(&mut self, frames: &[f32], output: &mut Vec<f32>) {
        assert!(frames.len().is_multiple_of(self.format.n_channels), "{} samples are no whole frames", frames.len());
        self.input.extend(frames.iter().map(|sample| if sample.is_finite() { *sample } else { 0.0 }));
        self.mix.extend(&self.input, self.base);
        while self.end() >= self.need() {
            self.hop(output);
        }
        self.forget();
    }

    /// The input is over: adds what is left, and begins anew with what comes next.
    pub fn finish(&mut self, output: &mut Vec<f32>) {
        let n_channels = self.format.n_channels;
        // What is left is less than a hop and a search, and goes on as it is.
        let rest = (self.target - self.base) * n_channels;
        output.extend_from_slice(&self.input[rest.min(self.input.len())..]);
        self.input.clear();
        self.mix = Mix::new(self.format);
        (self.base, self.target, self.read) = (0, 0, 0.0);
    }

    /// The frame after the last one that came.
    fn end(&self) -> usize {
        self.base + self.input.len() / self.format.n_channels
    }

    /// The frame up to which input is needed for the next hop, whatever is found.
    fn need(&self) -> usize {
        (self.target + 2 * self.hop).max(self.read.round() as usize + self.reach + 2 * self.hop)
    }

    fn hop(&mut self, output: &mut Vec<f32>) {
        let read = self.read.round() as usize;
        let is_straight = self.rate == 1.0 || self.tier == Tier::None || self.target == 0;
        let from = if is_straight {
            self.target
        } else {
            // What was thrown away cannot be found again.
            let first = read.saturating_sub(self.reach).max(self.base);
            search(&self.mix, self.tier, self.target, first..=(read + self.reach), read, self.hop)
        };
        let n_channels = self.format.n_channels;
        let samples = |frame: usize| &self.input[(frame - self.base) * n_channels..][..self.hop * n_channels];
        if from == self.target {
            output.extend_from_slice(samples(from));
        } else {
            let (old, new) = (samples(self.target).chunks_exact(n_channels), samples(from).chunks_exact(n_channels));
            for ((old, new), weight) in old.zip(new).zip(&self.fade) {
                output.extend(old.iter().zip(new).map(|(old, new)| old + weight * (new - old)));
            }
        }
        let rate = if self.tier == Tier::None { 1.0 } else { self.rate };
        // A straight hop takes the read position along: what it was off by is not made good by a jump.
        let origin = if is_straight { from as f64 } else { self.read };
        self.read = origin + rate * self.hop as f64;
        self.target = from + self.hop;
    }

    fn forget(&mut self) {
        let keep = self.target.min((self.read.round() as usize).saturating_sub(self.reach));
        if keep.saturating_sub(self.base) > N_USED_MAX {
            // Whole steps of the mix, so that its places stay those of the input.
            let n = (keep - self.base) / self.mix.step() * self.mix.step();
            self.input.drain(..n * self.format.n_channels);
            self.mix.forget(n);
            self.base += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use proptest::prelude::*;

    use super::*;

    const RATE_HERTZ: u32 = 48_000;

    fn format(sample_rate_hertz: u32, n_channels: usize) -> Format {
        Format { sample_rate_hertz, n_channels }
    }

    /// Two channels: a tone with a few overtones, and the opposite of it.
    fn tone(hertz: f64, seconds: f64) -> Vec<f32> {
        let n_frames = (seconds * f64::from(RATE_HERTZ)) as usize;
        let at = |idx: usize| {
            let phase = TAU * hertz * idx as f64 / f64::from(RATE_HERTZ);
            (0.5 * phase.sin() + 0.2 * (2.0 * phase).sin() + 0.1 * (3.0 * phase).cos()) as f32
        };
        (0..n_frames).flat_map(|idx| [at(idx), -at(idx)]).collect()
    }

    fn stretched(sound: &[f32], tier: Tier, rates: impl Fn(usize) -> f64, block: usize) -> Vec<f32> {
        let mut stretcher = Stretcher::new(format(RATE_HERTZ, 2)).unwrap();
        stretcher.set_tier(tier);
        let mut output = Vec::new();
        for (idx, frames) in sound.chunks(2 * block).enumerate() {
            stretcher.set_rate(rates(idx)).unwrap();
            stretcher.push(frames, &mut output);
        }
        stretcher.finish(&mut output);
        output
    }

    /// The greatest second difference of the first channel: a click is a large one.
    fn roughness(sound: &[f32]) -> f32 {
        let left: Vec<f32> = sound.iter().step_by(2).copied().collect();
        left.windows(3).map(|three| (three[0] - 2.0 * three[1] + three[2]).abs()).fold(0.0, f32::max)
    }

    /// Cycles a second of the first channel, by its upward crossings of 0 in the middle of the sound.
    fn pitch(sound: &[f32]) -> f64 {
        let left: Vec<f32> = sound.iter().step_by(2).copied().collect();
        let middle = &left[left.len() / 4..3 * left.len() / 4];
        let crossings: Vec<f64> = middle
            .windows(2)
            .enumerate()
            .filter(|(_, two)| two[0] < 0.0 && two[1] >= 0.0)
            .map(|(idx, two)| idx as f64 + f64::from(two[0] / (two[0] - two[1])))
            .collect();
        (crossings.len() - 1) as f64 * f64::from(RATE_HERTZ) / (crossings[crossings.len() - 1] - crossings[0])
    }

    #[test]
    fn pitch_stays_and_length_changes() {
        for hertz in [110.0, 220.0, 997.0] {
            let sound = tone(hertz, 4.0);
            for rate in [0.5, 0.8, 0.9, 0.97, 1.05, 1.5, 2.0] {
                let output = stretched(&sound, Tier::Full, |_| rate, 480);
                let cents = 1_200.0 * (pitch(&output) / hertz).log2();
                assert!(cents.abs() < 3.0, "{hertz} Hz at {rate}: {cents} cents");
                let ratio = sound.len() as f64 / output.len() as f64;
                assert!((ratio / rate - 1.0).abs() < 0.02, "{rate}: {ratio}");
            }
        }
    }

    #[test]
    fn rates_that_change_with_every_block_do_not_click() {
        let sound = tone(220.0, 4.0);
        let limit = 1.2 * roughness(&sound);
        let output = stretched(&sound, Tier::Full, |idx| [0.8, 1.0, 1.1, 0.5, 2.0][idx % 5], 700);
        assert!(roughness(&output) < limit, "{} and {limit}", roughness(&output));
    }

    #[test]
    fn a_rate_of_one_changes_nothing() {
        let sound = tone(220.0, 1.0);
        assert_eq!(stretched(&sound, Tier::Full, |_| 1.0, 333), sound);
        assert_eq!(stretched(&sound, Tier::None, |_| 0.8, 333), sound);
    }

    #[test]
    fn channels_stay_in_phase() {
        for tier in [Tier::OverlapAdd, Tier::Coarse, Tier::Full] {
            let output = stretched(&tone(220.0, 1.0), tier, |_| 0.9, 480);
            assert!(output.chunks_exact(2).all(|frame| frame[0] == -frame[1]), "{tier:?}");
        }
    }

    #[test]
    fn output_is_at_most_forty_milliseconds_behind() {
        let mut stretcher = Stretcher::new(format(RATE_HERTZ, 2)).unwrap();
        assert!(stretcher.latency_seconds() <= 0.04);
        stretcher.set_rate(0.9).unwrap();
        let mut output = Vec::new();
        for frames in tone(220.0, 2.0).chunks(2 * 48) {
            stretcher.push(frames, &mut output);
            let came = stretcher.end() as f64;
            let behind = came - stretcher.position_frames() as f64;
            assert!(behind / f64::from(RATE_HERTZ) <= stretcher.latency_seconds(), "{behind}");
        }
    }

    #[test]
    fn what_cannot_be_stretched_is_named() {
        assert_eq!(Stretcher::new(format(1, 2)).unwrap_err(), StretchError::SampleRate(1));
        assert_eq!(Stretcher::new(format(10_000_000, 2)).unwrap_err(), StretchError::SampleRate(10_000_000));
        assert_eq!(Stretcher::new(format(48_000, 65)).unwrap_err(), StretchError::Channels(65));
        let mut stretcher = Stretcher::new(format(48_000, 1)).unwrap();
        for rate in [0.0, -1.0, 50.0, f64::NAN] {
            assert!(matches!(stretcher.set_rate(rate), Err(StretchError::Rate(_))));
        }
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            cuts in prop::collection::vec(1..1_000_usize, 1..12),
            rate in 0.5..2.0_f64,
            sample_rate_hertz in 4_000..192_000_u32,
            n_channels in 1..5_usize,
            noise in prop::collection::vec(prop_oneof![9 => -1.0..1.0_f32, 1 => Just(f32::NAN)], 500),
        ) {
            let n_frames: usize = cuts.iter().sum();
            let sound: Vec<f32> = noise.iter().copied().cycle().take(n_frames * n_channels).collect();
            let run = |cuts: &[usize]| {
                let mut stretcher = Stretcher::new(format(sample_rate_hertz, n_channels)).unwrap();
                stretcher.set_rate(rate).unwrap();
                let (mut output, mut rest) = (Vec::new(), sound.as_slice());
                for cut in cuts {
                    let (block, after) = rest.split_at(cut * n_channels);
                    stretcher.push(block, &mut output);
                    rest = after;
                }
                stretcher.finish(&mut output);
                output
            };
            let whole = run(&[n_frames]);
            prop_assert!(whole.iter().all(|sample| sample.is_finite()));
            prop_assert_eq!(whole, run(&cuts));
        }
    }
}
