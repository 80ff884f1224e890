//! Decoding ahead of play, in a thread of its own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{Stopwatch, thread_cpu};
use playback::stretch::{Format, Stretcher, Tier};
use program::Failure;
use symphonia::core::codecs::audio::well_known::CODEC_ID_AAC;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, SeekMode, SeekTo, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;
use symphonia::core::units::{Time, TimeBase};

use crate::aac;
use crate::capture::Capture;
use crate::container::Container;

/// Packets in a row that cannot be decoded, until the medium is given up.
const N_BROKEN_MAX: usize = 100;

/// Remark on HE-AAC.
const CORE_ONLY: &str =
    "the sound is HE-AAC, of which only the core is played: half of its sample rate, and v2 in mono";

/// Remark on WAV after WAV.
const OTHER_SOUND: &str = "a sound of another format follows in the same medium, and is not played";

/// The thread's name.
pub const THREAD: &str = "decoder";

/// Samples that are held at most, 128 MB of them: 64 channels at 192 kHz for 2.7 s.
const N_SAMPLES_MAX: usize = 32 << 20;

/// Sound that is decoded and not played.
#[derive(Clone)]
pub struct Decoded(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Time to decode ahead.
    ahead: Duration,
    format: Option<Format>,
    /// The length of the medium, if the medium states it.
    length_seconds: Option<f64>,
    samples: VecDeque<f32>,
    /// Frames decoded since the beginning, and the time that it took.
    n_frames: u64,
    busy: Duration,
    processor: Duration,
    n_broken: usize,
    remark: Option<&'static str>,
    has_ended: bool,
    failure: Option<String>,
    sought_seconds: Option<f64>,
    /// Position of the first of `samples` after a seek, returned once.
    landed_seconds: Option<f64>,
    is_closed: bool,
}

/// State of decoding at this moment.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The format of the sound; `None` before the medium is known.
    pub format: Option<Format>,
    /// The length of the medium, if the medium states it.
    pub length_seconds: Option<f64>,
    /// Frames that are decoded and not taken.
    pub n_ready: usize,
    /// Whether decoding is as far ahead as it goes.
    pub is_full: bool,
    /// Frames decoded since the beginning.
    pub n_frames: u64,
    /// The time that took, and how much of it the processor worked.
    pub busy: Duration,
    /// Processor time.
    pub processor: Duration,
    /// Packets that could not be decoded.
    pub n_broken: usize,
    /// The part of the medium that is not decoded.
    pub remark: Option<&'static str>,
    /// Whether no more will come.
    pub has_ended: bool,
    /// The reason why the medium cannot be played.
    pub failure: Option<String>,
}

impl Decoded {
    /// Decodes what `capture` brings, so far ahead of play. `hint` is how the medium's name ends.
    pub fn start(capture: Capture, hint: Option<String>, ahead: Duration) -> Result<Self, Failure> {
        let state = Mutex::new(State { ahead, ..State::default() });
        let decoded = Self(Arc::new(Shared { state, changed: Condvar::new() }));
        let worker = decoded.clone();
        let work = move || {
            // A medium that breaks a decoder is a medium that cannot be played, and no reason to wait for it for ever.
            let decode = AssertUnwindSafe(|| worker.decode(&capture, hint.as_deref()));
            let done = catch_unwind(decode).unwrap_or_else(|_| Err("the medium broke its decoder".to_owned()));
            let mut state = worker.state();
            state.has_ended = true;
            state.failure = done.err();
            worker.0.changed.notify_all();
        };
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(work)
            .map_err(|error| Failure::work(format!("cannot start a thread: {error}")))?;
        Ok(decoded)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of decoding.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        let n_channels = state.format.map_or(1, |format| usize::from(format.n_channels));
        Progress {
            format: state.format,
            length_seconds: state.length_seconds,
            n_ready: state.samples.len() / n_channels,
            is_full: state.format.is_some_and(|format| state.samples.len() >= state.room(format)),
            n_frames: state.n_frames,
            busy: state.busy,
            processor: state.processor,
            n_broken: state.n_broken,
            remark: state.remark,
            has_ended: state.has_ended,
            failure: state.failure.clone(),
        }
    }

    /// Takes up to so many frames, interleaved.
    pub fn take(&self, n_frames: usize) -> Vec<f32> {
        let mut state = self.state();
        let n_channels = state.format.map_or(1, |format| usize::from(format.n_channels));
        let n = (n_frames * n_channels).min(state.samples.len());
        let frames = state.samples.drain(..n).collect();
        self.0.changed.notify_all();
        frames
    }

    /// Puts frames that were taken back, to be taken again; says how many seconds that is.
    pub fn put_back(&self, frames: &[f32]) -> f64 {
        let mut state = self.state();
        frames.iter().rev().for_each(|sample| state.samples.push_front(*sample));
        let per_second =
            state.format.map_or(1.0, |format| f64::from(format.sample_rate_hertz) * f64::from(format.n_channels));
        frames.len() as f64 / per_second
    }

    /// Decodes so far ahead from here on, as far as there is room.
    pub fn set_ahead(&self, ahead: Duration) {
        let mut state = self.state();
        if state.ahead != ahead {
            state.ahead = ahead;
            self.0.changed.notify_all();
        }
    }

    /// Goes on from another place of the medium. What was decoded is thrown away.
    pub fn seek(&self, seconds: f64) {
        let mut state = self.state();
        state.samples.clear();
        state.sought_seconds = Some(seconds);
        self.0.changed.notify_all();
    }

    /// Returns the position at which decoding went on after a seek, once.
    pub fn landed(&self) -> Option<f64> {
        self.state().landed_seconds.take()
    }

    /// Nobody plays any more.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.0.changed.notify_all();
    }

    /// Rests until something changes, or for this long.
    pub fn rest(&self, at_most: Duration) {
        let state = self.state();
        drop(self.0.changed.wait_timeout(state, at_most));
    }

    fn decode(&self, capture: &Capture, hint: Option<&str>) -> Result<(), String> {
        let mut medium = self.open(capture, hint)?;
        let mut n_broken = 0;
        let mut samples = Vec::new();
        loop {
            let sought = self.state().sought_seconds.take();
            if let Some(seconds) = sought {
                self.state().landed_seconds = Some(medium.go_to(seconds).unwrap_or(seconds));
            }
            let (watch, cpu, waited) = (Stopwatch::start(), thread_cpu(), capture.waited());
            let packet = match medium.reader.next_packet() {
                Ok(Some(packet)) => packet,
                // The end, also of what was cut off.
                Ok(None) | Err(Error::IoError(_)) => {
                    if medium.has_other.load(Ordering::Relaxed) {
                        self.state().remark = Some(OTHER_SOUND);
                    }
                    if self.ends() {
                        return Ok(());
                    } else {
                        continue;
                    }
                }
                Err(Error::ResetRequired) => {
                    return Err("another stream begins within this one, which cannot be played".to_owned());
                }
                Err(error) => return Err(unplayable(capture, &error)),
            };
            if packet.track_id != medium.track_id {
                continue;
            }
            match medium.decoder.decode(&packet) {
                Ok(sound) => {
                    n_broken = 0;
                    samples.resize(sound.samples_interleaved(), 0.0_f32);
                    sound.copy_to_slice_interleaved(&mut samples);
                    let n_channels = sound.spec().channels().count();
                    let n_channels =
                        u16::try_from(n_channels).map_err(|_| format!("{n_channels} channels are too many"))?;
                    let format = Format { sample_rate_hertz: sound.spec().rate(), n_channels };
                    // Waiting for bytes is no work.
                    let busy = watch.elapsed().saturating_sub(capture.waited() - waited);
                    if !self.keep(format, &samples, busy, thread_cpu().saturating_sub(cpu))? {
                        return Ok(());
                    }
                }
                Err(Error::DecodeError(told)) => {
                    n_broken += 1;
                    self.state().n_broken += 1;
                    if n_broken == N_BROKEN_MAX {
                        return Err(format!("{N_BROKEN_MAX} packets in a row are broken: {told}"));
                    }
                }
                Err(error) => return Err(unplayable(capture, &error)),
            }
        }
    }

    fn open(&self, capture: &Capture, hint: Option<&str>) -> Result<Medium, String> {
        let container = Container::open(capture.reader()).map_err(|why| capture.level().failure.unwrap_or(why))?;
        let (length_seconds, has_other) = (container.length_seconds(), container.has_other());
        let stream = MediaSourceStream::new(Box::new(container), Default::default());
        let mut known = Hint::new();
        if let Some(extension) = hint {
            known.with_extension(extension);
        }
        let reader = symphonia::default::get_probe()
            .probe(&known, stream, FormatOptions::default(), MetadataOptions::default())
            .map_err(|error| unplayable(capture, &error))?;
        let track = reader.default_track(TrackType::Audio).ok_or("the medium has no sound")?;
        let (track_id, n_frames, time_base) = (track.id, track.num_frames, track.time_base);
        let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
        let parameters = parameters.ok_or("the medium does not say how its sound is coded")?;
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(parameters, &AudioDecoderOptions::default())
            .map_err(|error| unplayable(capture, &error))?;
        let seconds = n_frames.zip(parameters.sample_rate).map(|(n_frames, rate)| n_frames as f64 / f64::from(rate));
        self.state().length_seconds = length_seconds.or(seconds);
        let config = parameters.extra_data.as_deref().filter(|_| parameters.codec == CODEC_ID_AAC);
        self.state().remark = config.filter(|config| aac::is_high_efficiency(config)).map(|_| CORE_ONLY);
        Ok(Medium { reader, decoder, track_id, time_base, has_other })
    }

    /// Whether this is the end: nobody seeks before all is played.
    fn ends(&self) -> bool {
        let mut state = self.state();
        state.has_ended = true;
        self.0.changed.notify_all();
        while state.sought_seconds.is_none() && !state.is_closed {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.has_ended = state.is_closed;
        state.is_closed
    }

    /// Waits until there is room; `false` when nobody listens any more.
    fn keep(&self, format: Format, samples: &[f32], busy: Duration, processor: Duration) -> Result<bool, String> {
        let mut state = self.state();
        match state.format {
            Some(known) if known != format => {
                return Err(format!(
                    "the sound changes from {} channels at {} Hz to {} at {}, which cannot be played",
                    known.n_channels, known.sample_rate_hertz, format.n_channels, format.sample_rate_hertz
                ));
            }
            Some(_) => {}
            None => {
                // What cannot be stretched is told before anything is played.
                Stretcher::new(format, Tier::Plain).map_err(|error| error.to_string())?;
                state.format = Some(format);
            }
        }
        while state.samples.len() >= state.room(format) && !state.is_closed && state.sought_seconds.is_none() {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // All at once, and last: who sees a full store sees one that stays as it is.
        state.busy += busy;
        state.processor += processor;
        state.n_frames += (samples.len() / usize::from(format.n_channels)) as u64;
        if state.sought_seconds.is_none() {
            state.samples.extend(samples);
        }
        self.0.changed.notify_all();
        Ok(!state.is_closed)
    }
}

/// A medium whose sound can be decoded.
struct Medium {
    reader: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track_id: u32,
    time_base: Option<TimeBase>,
    has_other: Arc<AtomicBool>,
}

impl Medium {
    /// Goes to another place; the place reached in seconds, if it is known.
    fn go_to(&mut self, seconds: f64) -> Option<f64> {
        let time = Time::try_from_secs_f64(seconds)?;
        let landed = self.reader.seek(SeekMode::Coarse, SeekTo::Time { time, track_id: Some(self.track_id) });
        self.decoder.reset();
        Some(self.time_base?.calc_time(landed.ok()?.actual_ts)?.as_secs_f64())
    }
}

/// The reason why a medium cannot be played: it does not arrive, or it is no sound.
fn unplayable(capture: &Capture, error: &Error) -> String {
    capture.level().failure.unwrap_or_else(|| format!("this is no sound that can be played: {error}"))
}

impl State {
    /// Samples that are decoded ahead.
    fn room(&self, format: Format) -> usize {
        let n_frames = (self.ahead.as_secs_f64() * f64::from(format.sample_rate_hertz)) as usize;
        (n_frames * usize::from(format.n_channels)).clamp(1, N_SAMPLES_MAX)
    }
}
