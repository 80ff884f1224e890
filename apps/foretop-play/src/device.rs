//! The system's sound device, which takes what it needs when its own clock says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, Stream, StreamConfig};
use playback::stretch::Format;
use program::Failure;

/// Time between two looks at what is left in the end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The end is given up when the device takes nothing for so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// A device that plays.
pub struct Device {
    device: cpal::Device,
    /// Made with the first sound, since before nothing is known of its format. It plays as long as it is kept.
    stream: Option<(Format, Stream)>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    samples: VecDeque<f32>,
    failure: Option<String>,
}

impl Device {
    /// The one that the system says is to be used.
    pub fn open() -> Result<Self, Failure> {
        let device = cpal::default_host().default_output_device();
        let device = device.ok_or_else(|| {
            Failure::work("this host has no sound device: give --out FILE.wav, or --null to see how play would go")
        })?;
        Ok(Self { device, stream: None, shared: Arc::default() })
    }

    /// Puts whole frames where the device will take them.
    pub fn write(&mut self, format: Format, frames: &[f32]) -> Result<(), Failure> {
        if self.stream.is_none() {
            self.stream = Some((format, self.start(format)?));
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.samples.extend(frames);
        match shared.failure.take() {
            Some(failure) => Err(Failure::work(format!("the sound device stopped: {failure}"))),
            None => Ok(()),
        }
    }

    /// Waits until all is played.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let (mut left, mut idle) = (self.waiting(), Duration::ZERO);
        while left > Duration::ZERO && idle < PATIENCE {
            clock::sleep(LOOK_EVERY);
            let now = self.waiting();
            idle = if now < left { Duration::ZERO } else { idle + LOOK_EVERY };
            left = now;
        }
        Ok(())
    }

    /// Returns the length of the sound that the device has not asked for yet.
    pub fn waiting(&self) -> Duration {
        let Some((format, _)) = &self.stream else { return Duration::ZERO };
        let n_samples = self.shared.lock().unwrap_or_else(PoisonError::into_inner).samples.len();
        let n_frames = (n_samples / usize::from(format.n_channels)) as f64;
        Duration::from_secs_f64(n_frames / f64::from(format.sample_rate_hertz))
    }

    fn start(&self, format: Format) -> Result<Stream, Failure> {
        let config = StreamConfig {
            channels: format.n_channels,
            sample_rate: format.sample_rate_hertz,
            buffer_size: BufferSize::Default,
        };
        let (to_play, to_tell) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let play = move |wanted: &mut [f32], _: &cpal::OutputCallbackInfo| {
            let mut shared = to_play.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.iter_mut().for_each(|sample| *sample = shared.samples.pop_front().unwrap_or(0.0));
        };
        let fail = move |error: cpal::Error| {
            // What was late is heard, and no reason to end.
            if error.kind() != cpal::ErrorKind::Xrun {
                to_tell.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(error.to_string());
            }
        };
        let cannot = |error: cpal::Error| {
            Failure::work(format!(
                "the sound device does not play {} channels at {} Hz: {error}; give --out FILE.wav",
                format.n_channels, format.sample_rate_hertz
            ))
        };
        let stream = self.device.build_output_stream(config, play, fail, None).map_err(cannot)?;
        stream.play().map_err(cannot)?;
        Ok(stream)
    }
}
