//! Media that tests make.

use std::f64::consts::TAU;
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

pub const HERTZ: u32 = 16_000;

/// A tone of 220 Hz in a WAV file of one channel.
pub fn tone(path: &Path, seconds: f64) {
    let spec = WavSpec { channels: 1, sample_rate: HERTZ, bits_per_sample: 16, sample_format: SampleFormat::Int };
    let mut writer = WavWriter::create(path, spec).unwrap();
    for idx in 0..(seconds * f64::from(HERTZ)) as usize {
        let sample = (TAU * 220.0 * idx as f64 / f64::from(HERTZ)).sin();
        writer.write_sample((sample * 12_000.0) as i16).unwrap();
    }
    writer.finalize().unwrap();
}

/// What a WAV file holds, in samples.
pub fn samples(path: &Path) -> Vec<i16> {
    WavReader::open(path).unwrap().samples().map(Result::unwrap).collect()
}

/// Upward crossings of zero a second.
pub fn pitch(samples: &[i16]) -> f64 {
    let crossings = samples.windows(2).filter(|two| two[0] < 0 && two[1] >= 0).count();
    crossings as f64 * f64::from(HERTZ) / samples.len() as f64
}
