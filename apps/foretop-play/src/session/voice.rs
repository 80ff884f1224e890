//! Sound block by block: stretched, faded where it begins and ends, at the listener's volume.

use std::collections::VecDeque;
use std::time::Duration;

use clock::{Stopwatch, thread_cpu};
use playback::stretch::{Format, RATES, Tier};
use program::Failure;

use crate::decode::Decoded;
use crate::stretching::{Asked, Stretching};

/// Length of the sound that is played again after a break, before the place where it broke off (Gupta, as quoted in the
/// reply, [0061]).
const RESUMED_SECONDS: f64 = 0.5;

/// Ends of sound fade over this time: an edge is heard as a click.
pub(super) const FADE_SECONDS: f64 = 0.01;

/// Makes sound of what is decoded.
pub(super) struct Voice {
    asked: Asked,
    stretcher: Option<Stretching>,
    /// Sound that is made and not out.
    made: VecDeque<f32>,
    /// The latest of what was played, to begin with after a break.
    recent: VecDeque<f32>,
    /// Position in the medium at which the stretcher began.
    base_seconds: f64,
    /// Volume as it was, and as it is to be.
    volume: (f32, f32),
    fades_in: bool,
}

/// Parameters of a block.
pub(super) struct How {
    pub format: Format,
    /// Frames.
    pub n_out: usize,
    pub rate: f64,
    pub tier: Tier,
    /// Whether it ends in silence, because something is to be done before the next one.
    pub fades_out: bool,
}

/// A block of sound.
pub(super) struct Block {
    /// All frames that were wanted, with silence where nothing is left.
    pub sound: Vec<f32>,
    /// Whether something is missing in it, and whether because the medium has ended.
    pub is_short: bool,
    pub has_ended: bool,
    /// Wall time and processor time that it took.
    pub took: (Duration, Duration),
}

impl Voice {
    pub fn new(asked: Asked) -> Self {
        Self {
            asked,
            stretcher: None,
            made: VecDeque::new(),
            recent: VecDeque::new(),
            base_seconds: 0.0,
            volume: (1.0, 1.0),
            fades_in: false,
        }
    }

    /// Returns the position in the medium, in seconds.
    pub fn media_seconds(&self) -> f64 {
        self.base_seconds + self.stretcher.as_ref().map_or(0.0, Stretching::media_seconds)
    }

    /// Makes the next block.
    pub fn make(&mut self, decoded: &Decoded, how: &How) -> Result<Block, Failure> {
        let &How { format, n_out, rate, tier, fades_out } = how;
        let n_channels = usize::from(format.n_channels);
        let mut stretcher = match self.stretcher.take() {
            Some(stretcher) => stretcher,
            None => Stretching::of(self.asked, format).map_err(Failure::work)?,
        };
        let (watch, cpu) = (Stopwatch::start(), thread_cpu());
        let mut has_ended = false;
        let mut sound = Vec::new();
        // Always so much in hand that its end can fade.
        let n_fade = (FADE_SECONDS * f64::from(format.sample_rate_hertz)) as usize;
        let n_needed = (n_out + n_fade) * n_channels;
        while self.made.len() + sound.len() < n_needed {
            let frames = decoded.take((rate * n_out as f64).ceil() as usize);
            if frames.is_empty() {
                has_ended = decoded.progress().has_ended;
                break;
            }
            let rate = rate.clamp(*RATES.start(), *RATES.end());
            stretcher.play(&frames, rate, tier, &mut sound).map_err(Failure::work)?;
            self.recent.extend(&frames);
        }
        let n_recent = (RESUMED_SECONDS * f64::from(format.sample_rate_hertz)) as usize * n_channels;
        self.recent.drain(..self.recent.len().saturating_sub(n_recent));
        let took = (watch.elapsed(), thread_cpu().saturating_sub(cpu));
        self.made.extend(sound);
        if self.made.len() < n_needed {
            // The last that there is goes out as it is; what may come goes on from there.
            let mut rest = Vec::new();
            stretcher.finish(&mut rest);
            self.made.extend(rest);
            self.base_seconds += stretcher.media_seconds();
        } else {
            self.stretcher = Some(stretcher);
        }
        let is_short = self.made.len() < n_needed;
        let n = if is_short { self.made.len() } else { n_out * n_channels };
        let mut sound: Vec<f32> = self.made.drain(..n).collect();
        let n_fade = n_fade.min(n / n_channels);
        if std::mem::take(&mut self.fades_in) {
            fade(sound.chunks_exact_mut(n_channels).take(n_fade), n_fade);
        }
        // A medium ends as it does.
        if (is_short && !has_ended) || fades_out {
            fade(sound.chunks_exact_mut(n_channels).rev().take(n_fade), n_fade);
        }
        let n_frames = sound.len() / n_channels;
        for (idx, frame) in sound.chunks_exact_mut(n_channels).enumerate() {
            // A step of the volume would click.
            let share = (idx + 1) as f32 / n_frames as f32;
            let volume = self.volume.0 + share * (self.volume.1 - self.volume.0);
            frame.iter_mut().for_each(|sample| *sample *= volume);
        }
        self.volume.0 = self.volume.1;
        if is_short {
            sound.resize(sound.len().max(n_out * n_channels), 0.0);
        }
        Ok(Block { sound, is_short, has_ended, took })
    }

    /// The next block begins from silence.
    pub fn fade_in(&mut self) {
        self.fades_in = true;
    }

    /// Changes the volume over the next block.
    pub fn turn(&mut self, factor: f32) {
        self.volume.1 = (self.volume.1 * factor).clamp(0.0, 4.0);
    }

    /// Begins anew with what is decoded next.
    pub fn fall_silent(&mut self) {
        self.base_seconds = self.media_seconds();
        self.stretcher = None;
    }

    /// Goes on from shortly before where it broke off.
    pub fn resume(&mut self, decoded: &Decoded) {
        self.fades_in = true;
        let again: Vec<f32> = self.recent.drain(..).collect();
        self.base_seconds -= decoded.put_back(&again);
    }

    /// Forgets what it had in hand: play goes to another place, where [`Voice::land`] says.
    pub fn leave(&mut self) {
        self.recent.clear();
        self.made.clear();
    }

    /// Sets the position in the medium of what is decoded next.
    pub fn land(&mut self, media_seconds: f64) {
        self.base_seconds = media_seconds;
    }
}

/// Fades in from silence over `n` frames, along half a period of a cosine.
fn fade<'a>(frames: impl Iterator<Item = &'a mut [f32]>, n: usize) {
    for (idx, frame) in frames.enumerate() {
        let weight = 0.5 - 0.5 * (std::f32::consts::PI * (idx as f32 + 0.5) / n as f32).cos();
        frame.iter_mut().for_each(|sample| *sample *= weight);
    }
}
