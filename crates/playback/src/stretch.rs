//! Time-scale modification by WSOLA: a medium plays slower or faster and keeps its pitch.
//!
//! The output is a chain of pieces of the input `x`. Each frame of output moves the position that is played, `at`, by
//! one frame, and the position that is due by the rate:
//!
//! ```text
//! at = at + 1        due = due + rate
//! ```
//!
//! While `at` is within the tolerance of `due`, play goes on: the search of WSOLA would find nothing more similar to
//! what follows than itself. At the tolerance, play moves back (`rate < 1`) or on (`rate > 1`) by the lag whose overlap
//! of `v` frames is the most similar to what would follow, cross-fades to it, and goes on from there:
//!
//! ```text
//! a = x[at .. at + v]        b = x[at -/+ lag .. at -/+ lag + v]        lag = argmax s(a, b)
//! s(a, b) = 2 <a, b> / (<a, a> + <b, b>)
//! ```
//!
//! The sums run over all channels, which move by the same lag and so keep their phase, and cannot cancel each other as
//! they would in a mix. `s` is 1 for equal overlaps alone; unlike a normalised correlation, it compares loudness too.
//!
//! `due` is counted in whole parts of a frame, so that output depends on where changes are in the input, never on how
//! the input is cut. At a rate of 1, play goes on from where it is: input passes unchanged, within the tolerance of
//! `due`.
//!
//! Source: Verhelst and Roelands, "An overlap-add technique based on waveform similarity (WSOLA) for high quality
//! time-scale modification of speech", ICASSP 1993.

mod cross_fade;
mod input;
mod search;
#[cfg(feature = "signalsmith")]
mod signalsmith;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use cross_fade::CrossFade;
use input::Input;
use search::Search;
#[cfg(feature = "signalsmith")]
pub use signalsmith::Signalsmith;

/// Rates that a stretcher plays at.
pub const RATES: RangeInclusive<f64> = 0.5..=2.0;

/// Sample rates that a stretcher takes, in hertz.
pub const SAMPLE_RATES_HERTZ: RangeInclusive<u32> = 8_000..=192_000;

/// Channels that a stretcher takes.
pub const CHANNELS: RangeInclusive<u16> = 1..=64;

/// Largest distance between the played and the due position. Twice as much is the longest lag, a period of 40 Hz.
/// Shorter, and bass would be cut in the middle of a period: with 7.5 ms, music comes nearer to its time, but its
/// spectrum is half as far off again. Longer, and faster rates would need more than 40 ms of input ahead.
const TOLERANCE_SECONDS: f64 = 0.0125;

/// Length of a cross-fade: a period of 100 Hz, so that voices are compared by a whole period or more. Longer ones blur
/// consonants, and add to the latency.
const OVERLAP_SECONDS: f64 = 0.01;

/// The shortest lag, a period of 400 Hz. Shorter ones are similar wherever there is bass and little else, and bring
/// the next cross-fade at once.
const SHORTEST_LAG_SECONDS: f64 = 0.0025;

/// Parts of a frame in which positions are counted: at any rate, less than a frame in a day is lost to rounding.
const PARTS: i64 = 1 << 32;

/// Sample rate and number of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Frames per second, 8,000 to 192,000.
    pub sample_rate_hertz: u32,
    /// Samples of a frame, 1 to 64.
    pub n_channels: u16,
}

/// Effort spent on finding lags, from the most to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// All lags at a low sample rate, then the frames around the best few.
    Full,
    /// All lags at a low sample rate.
    Coarse,
    /// Plain overlap-add: one lag, whatever the sound. Voices get rough.
    Plain,
    /// No stretch: input passes unchanged at a rate of 1, whatever the rate asked for. Repeating or dropping without a
    /// cross-fade would click, and resampling change the pitch; a player that needs more time here has to pause.
    None,
}

impl Tier {
    /// All tiers, from the one with the most work on.
    pub const ALL: [Self; 4] = [Self::Full, Self::Coarse, Self::Plain, Self::None];
}

/// Format, rate or samples that a stretcher rejects.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A sample rate that it does not take.
    #[error(
        "cannot stretch sound of {sample_rate_hertz} Hz: sample rates are from {} to {} Hz",
        SAMPLE_RATES_HERTZ.start(), SAMPLE_RATES_HERTZ.end()
    )]
    SampleRate {
        /// The sample rate.
        sample_rate_hertz: u32,
    },
    /// No channel, or too many.
    #[error(
        "cannot stretch sound of {n_channels} channels: there may be from {} to {}",
        CHANNELS.start(), CHANNELS.end()
    )]
    Channels {
        /// Their number.
        n_channels: u16,
    },
    /// A rate out of range, or not a number.
    #[error("cannot stretch sound to a rate of {rate}: rates are from {} to {}", RATES.start(), RATES.end())]
    Rate {
        /// The rate.
        rate: f64,
    },
    /// Samples that do not make whole frames.
    #[error(
        "cannot stretch {n_samples} samples of {n_channels} channels: their number must be a multiple of {n_channels}"
    )]
    PartialFrame {
        /// Number of samples given.
        n_samples: usize,
        /// Samples of a frame.
        n_channels: u16,
    },
    /// Samples after the end.
    #[error("cannot stretch samples after the end of the input: make another stretcher")]
    Finished,
}

/// A rate and a tier, from a frame of input on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Setting {
    from_frame: u64,
    /// Parts of a frame of input for each frame of output.
    rate_parts: i64,
    tier: Tier,
}

impl Setting {
    /// Returns the drift that a frame of output adds, in parts of a frame.
    fn drift_parts(self) -> i64 {
        if self.tier == Tier::None { 0 } else { PARTS - self.rate_parts }
    }
}

/// Changes the speed of sound as it comes, without changing its pitch.
///
/// Samples are interleaved. They can be any values: what is not finite plays as it is and cannot be compared, so that
/// some lag is as good as any other.
///
/// # Examples
/// ```
/// use playback::stretch::{Format, Stretcher, Tier};
///
/// let mut stretcher = Stretcher::new(Format { sample_rate_hertz: 48_000, n_channels: 1 }, Tier::Full)?;
/// let mut output = Vec::new();
/// for second in 0..10 {
///     stretcher.push(&vec![0.0; 48_000], if second < 5 { 1.0 } else { 0.5 })?;
///     stretcher.pull(&mut output);
/// }
/// stretcher.finish();
/// stretcher.pull(&mut output);
/// assert!((output.len() as f64 / 48_000.0 - 15.0).abs() < 0.04);
/// # Ok::<(), playback::stretch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stretcher {
    format: Format,
    tier: Tier,
    input: Input,
    is_finished: bool,
    /// Settings by frame: the one that holds at the due position, then later ones.
    settings: VecDeque<Setting>,
    at_frame: u64,
    /// Played position less the due one, in parts of a frame.
    drift_parts: i64,
    tolerance_frames: u64,
    shortest_lag_frames: u64,
    search: Search,
    cross_fade: CrossFade,
}

impl Stretcher {
    /// A stretcher that has heard nothing.
    ///
    /// # Errors
    /// If the format is out of the range of its fields.
    pub fn new(format: Format, tier: Tier) -> Result<Self, Error> {
        let Format { sample_rate_hertz, n_channels } = format;
        if !SAMPLE_RATES_HERTZ.contains(&sample_rate_hertz) {
            return Err(Error::SampleRate { sample_rate_hertz });
        }
        if !CHANNELS.contains(&n_channels) {
            return Err(Error::Channels { n_channels });
        }
        let frames = |seconds: f64| (seconds * f64::from(sample_rate_hertz)).round() as u64;
        let overlap_frames = frames(OVERLAP_SECONDS);
        Ok(Self {
            format,
            tier,
            input: Input::new(usize::from(n_channels)),
            is_finished: false,
            settings: VecDeque::new(),
            at_frame: 0,
            drift_parts: 0,
            tolerance_frames: frames(TOLERANCE_SECONDS),
            shortest_lag_frames: frames(SHORTEST_LAG_SECONDS),
            search: Search::new(format, overlap_frames as usize),
            cross_fade: CrossFade::new(overlap_frames as usize),
        })
    }

    /// Returns the format of the samples.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The tier of samples that will be pushed.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Sets the tier that finds lags, from the next pushed sample on.
    pub fn set_tier(&mut self, tier: Tier) {
        self.tier = tier;
    }

    /// The most input that can wait for more, in seconds: with so much beyond what it has played, a stretcher can
    /// always go on.
    #[must_use]
    pub fn latency_seconds(&self) -> f64 {
        self.ahead_frames() as f64 / f64::from(self.format.sample_rate_hertz)
    }

    /// The media time that the output has reached, in seconds from the start. It never decreases, and what is heard is
    /// within 25 ms of it.
    #[must_use]
    pub fn media_seconds(&self) -> f64 {
        let end_frame = self.input.end_frame();
        let is_over = self.is_finished && self.at_frame == end_frame;
        let due_frame = (self.due_parts() as f64 / PARTS as f64).min(end_frame as f64);
        let frames = if is_over { end_frame as f64 } else { due_frame };
        frames / f64::from(self.format.sample_rate_hertz)
    }

    /// Takes samples to be played at `rate`. They are kept until [`Stretcher::pull`] has played them.
    ///
    /// # Errors
    /// If the rate is not one of [`RATES`], if the last frame is not whole, or after [`Stretcher::finish`]. No sample
    /// is taken then.
    pub fn push(&mut self, samples: &[f32], rate: f64) -> Result<(), Error> {
        if !RATES.contains(&rate) {
            return Err(Error::Rate { rate });
        }
        if !samples.len().is_multiple_of(usize::from(self.format.n_channels)) {
            return Err(Error::PartialFrame { n_samples: samples.len(), n_channels: self.format.n_channels });
        }
        if self.is_finished {
            return Err(Error::Finished);
        }
        if samples.is_empty() {
            return Ok(());
        }
        let rate_parts = (rate * PARTS as f64).round() as i64;
        let setting = Setting { from_frame: self.input.end_frame(), rate_parts, tier: self.tier };
        if self.settings.back().is_none_or(|last| (last.rate_parts, last.tier) != (rate_parts, self.tier)) {
            self.settings.push_back(setting);
        }
        self.input.push(samples);
        Ok(())
    }

    /// Says that no more samples will come, so that the next [`Stretcher::pull`] plays all that is left.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Appends all that can be played so far to `output`, and returns its number of frames.
    pub fn pull(&mut self, output: &mut Vec<f32>) -> usize {
        let before = output.len();
        while self.play(output) {}
        self.input.forget_before(self.at_frame.saturating_sub(2 * self.tolerance_frames));
        (output.len() - before) / usize::from(self.format.n_channels)
    }

    /// Plays up to the next change, cross-fade or lack of input. Returns whether there was anything to play.
    fn play(&mut self, output: &mut Vec<f32>) -> bool {
        let due_parts = self.due_parts();
        while self.settings.get(1).is_some_and(|next| in_parts(next.from_frame) <= due_parts) {
            self.settings.pop_front();
        }
        let Some(&setting) = self.settings.front() else { return false };
        let left_frames = self.input.end_frame() - self.at_frame;
        let drift = setting.drift_parts();
        let margin_parts = self.tolerance_frames as i64 * PARTS - self.drift_parts * drift.signum();
        if drift != 0 && margin_parts <= 0 {
            if !self.is_finished && left_frames < self.ahead_frames_of(drift) {
                return false;
            }
            if self.jump(setting, output) {
                return true;
            }
            debug_assert!(self.is_finished, "only the end can leave too little for a jump");
        }
        // The rate of what has not been pushed is not known.
        let known_frame = match self.settings.get(1) {
            Some(next) => next.from_frame,
            None if self.is_finished => u64::MAX,
            None => self.input.end_frame(),
        };
        let until_unknown = div_ceil(in_parts(known_frame) - due_parts, i128::from(PARTS - drift));
        let until_jump =
            if drift == 0 || margin_parts <= 0 { i128::MAX } else { div_ceil(margin_parts.into(), drift.abs().into()) };
        let n_frames = until_unknown.min(until_jump).clamp(0, left_frames.into()) as u64;
        output.extend_from_slice(self.input.frames(self.at_frame, n_frames as usize));
        self.at_frame += n_frames;
        self.drift_parts += n_frames as i64 * drift;
        n_frames > 0
    }

    /// Moves to the best lag towards what is due. Returns false without a move if what is left is too short for one.
    fn jump(&mut self, setting: Setting, output: &mut Vec<f32>) -> bool {
        let drift = setting.drift_parts();
        let overlap_frames = self.cross_fade.n_frames() as u64;
        let left_frames = self.input.end_frame() - self.at_frame;
        let sign = if drift > 0 { -1 } else { 1 };
        // After the cross-fade, what is played is within the tolerance on both sides, whatever rates it passes.
        let passed_parts = self.drift_over(overlap_frames);
        let away_parts = -sign * (self.drift_parts + passed_parts);
        let tolerance_parts = self.tolerance_frames as i64 * PARTS;
        let needed_frames = ((away_parts - tolerance_parts).max(0) / PARTS) as u64 + 1;
        let allowed_frames = ((away_parts + tolerance_parts).max(0) / PARTS) as u64;
        let reach_frames = if drift > 0 { self.at_frame } else { left_frames.saturating_sub(overlap_frames) };
        let longest = (2 * self.tolerance_frames).min(allowed_frames).min(reach_frames);
        let shortest = needed_frames.max(self.shortest_lag_frames);
        if left_frames < overlap_frames || shortest > longest {
            return false;
        }
        let found =
            self.search.best(&self.input, self.at_frame, sign, shortest as usize..=longest as usize, setting.tier);
        let lag = sign * found.lag_frames as i64;
        let to_frame = self.at_frame.strict_add_signed(lag);
        self.cross_fade.append(&self.input, self.at_frame, to_frame, found.similarity, output);
        self.at_frame = to_frame + overlap_frames;
        self.drift_parts += lag * PARTS + passed_parts;
        true
    }

    /// Returns the drift that the next `n_frames` of output add, in parts of a frame, by the rates that come due
    /// meanwhile.
    fn drift_over(&self, n_frames: u64) -> i64 {
        let (mut due_parts, mut left, mut sum) = (self.due_parts(), i128::from(n_frames), 0);
        let mut settings = self.settings.iter().peekable();
        while let Some(setting) = settings.next() {
            let drift = i128::from(setting.drift_parts());
            let rate_parts = i128::from(PARTS) - drift;
            let until_change =
                settings.peek().map_or(left, |next| div_ceil(in_parts(next.from_frame) - due_parts, rate_parts));
            let n = until_change.clamp(0, left);
            due_parts += n * rate_parts;
            sum += n * drift;
            left -= n;
        }
        sum as i64
    }

    fn due_parts(&self) -> i128 {
        in_parts(self.at_frame) - i128::from(self.drift_parts)
    }

    /// Input from what is played on that a jump needs at most.
    fn ahead_frames(&self) -> u64 {
        self.cross_fade.n_frames() as u64 + 2 * self.tolerance_frames
    }

    /// Input from what is played on that a jump against `drift` needs: play that moves back has heard it all, but for
    /// the overlap.
    fn ahead_frames_of(&self, drift: i64) -> u64 {
        if drift > 0 { self.cross_fade.n_frames() as u64 } else { self.ahead_frames() }
    }
}

fn in_parts(frame: u64) -> i128 {
    i128::from(frame) * i128::from(PARTS)
}

/// The quotient of a positive divisor, rounded up.
fn div_ceil(dividend: i128, divisor: i128) -> i128 {
    dividend.div_euclid(divisor) + i128::from(dividend.rem_euclid(divisor) > 0)
}
