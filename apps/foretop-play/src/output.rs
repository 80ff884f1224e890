//! Outputs of sound: a sound device, a WAV file, or nowhere.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hound::{SampleFormat, WavSpec, WavWriter};
use playback::stretch::Format;
use program::Failure;

/// The output of sound.
pub enum Output {
    /// Nowhere: for those who want to see how play would go.
    Null,
    /// The system's sound device.
    #[cfg(feature = "device")]
    Device(crate::device::Device),
    /// A WAV file of 16 bits a sample; silence before play begins is left out.
    Wav {
        /// The file.
        path: PathBuf,
        /// Made with the first sound, since before nothing is known of its format.
        writer: Option<WavWriter<BufWriter<File>>>,
    },
}

impl Output {
    /// Builds the output into this file.
    pub fn wav(path: &Path) -> Self {
        Self::Wav { path: path.to_owned(), writer: None }
    }

    /// The system's sound device, where this build has any.
    pub fn device() -> Result<Self, Failure> {
        #[cfg(feature = "device")]
        return crate::device::Device::open().map(Self::Device);
        #[cfg(not(feature = "device"))]
        Err(Failure::usage(
            "this build plays to no sound device (it was built without the feature `device`): give --out FILE.wav, or --null to see \
             how play would go",
        ))
    }

    /// Returns the length of the sound that waits to be heard, by the clock of a device; `None` for an output that has
    /// none.
    pub fn waiting(&self) -> Option<Duration> {
        match self {
            #[cfg(feature = "device")]
            Self::Device(device) => Some(device.waiting()),
            Self::Null | Self::Wav { .. } => None,
        }
    }

    /// Puts whole frames out, interleaved.
    pub fn write(&mut self, format: Format, frames: &[f32]) -> Result<(), Failure> {
        let (path, writer) = match self {
            Self::Null => return Ok(()),
            #[cfg(feature = "device")]
            Self::Device(device) => return device.write(format, frames),
            Self::Wav { path, writer } => (path, writer),
        };
        let cannot = |error: hound::Error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
        if writer.is_none() {
            let spec = WavSpec {
                channels: format.n_channels,
                sample_rate: format.sample_rate_hertz,
                bits_per_sample: 16,
                sample_format: SampleFormat::Int,
            };
            *writer = Some(WavWriter::create(&*path, spec).map_err(cannot)?);
        }
        let writer = writer.as_mut().expect("it was made above");
        for sample in frames {
            writer.write_sample((sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)).round() as i16).map_err(cannot)?;
        }
        Ok(())
    }

    /// Puts so many frames of silence out, where sound has begun.
    pub fn silence(&mut self, format: Format, n_frames: usize) -> Result<(), Failure> {
        match self {
            Self::Wav { writer: Some(_), .. } => {
                self.write(format, &vec![0.0; n_frames * usize::from(format.n_channels)])
            }
            #[cfg(feature = "device")]
            Self::Device(device) => device.write(format, &vec![0.0; n_frames * usize::from(format.n_channels)]),
            _ => Ok(()),
        }
    }

    /// Completes what was written.
    pub fn finish(&mut self) -> Result<(), Failure> {
        match self {
            Self::Wav { path, writer } => match writer.take() {
                Some(writer) => writer
                    .finalize()
                    .map_err(|error| Failure::work(format!("cannot write `{}`: {error}", path.display()))),
                None => Ok(()),
            },
            #[cfg(feature = "device")]
            Self::Device(device) => device.finish(),
            Self::Null => Ok(()),
        }
    }
}
