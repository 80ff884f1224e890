//! Where sound goes: a WAV file, or nowhere.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavSpec, WavWriter};
use playback::stretch::Format;
use program::Failure;

/// Where sound goes.
pub enum Output {
    /// Nowhere: for those who want to see how play would go.
    Null,
    /// Into a WAV file of 16 bits a sample; silence before play begins is left out.
    Wav {
        /// The file.
        path: PathBuf,
        /// Made with the first sound, since before nothing is known of its format.
        writer: Option<WavWriter<BufWriter<File>>>,
    },
}

impl Output {
    /// Into this file.
    pub fn wav(path: &Path) -> Self {
        Self::Wav { path: path.to_owned(), writer: None }
    }

    /// Puts whole frames out, interleaved.
    pub fn write(&mut self, format: Format, frames: &[f32]) -> Result<(), Failure> {
        let Self::Wav { path, writer } = self else { return Ok(()) };
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
            Self::Null => Ok(()),
        }
    }
}
