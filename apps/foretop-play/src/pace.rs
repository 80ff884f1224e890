//! A file that arrives as a trace says, by whatever clock paces play.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use playback::Trace;
use program::Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

use crate::capture::{Capture, Medium};
use crate::decode::THREAD;

/// A file, and when its bytes come.
pub struct Pace {
    bytes: Vec<u8>,
    n_brought: usize,
    trace: Trace,
    seconds: f64,
    bytes_per_second: f64,
    owed: f64,
}

impl Pace {
    /// The file is read whole. It says how long it plays, so that a rate of 1 brings as much of it as is played.
    pub fn new(path: &Path, trace: Trace, capture: &Capture) -> Result<Self, Failure> {
        let cannot =
            |error: &dyn std::fmt::Display| Failure::work(format!("cannot read `{}`: {error}", path.display()));
        let mut bytes = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| cannot(&error))?;
        let medium = bytes.clone();
        // What breaks a decoder must not end this process, as in play itself.
        let asked = std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || seconds(medium));
        let asked = asked.map_err(|error| Failure::work(format!("cannot start a thread: {error}")))?;
        let seconds = asked.join().unwrap_or_else(|_| Err("the medium broke its decoder".to_owned()));
        let seconds = seconds
            .map_err(|error| cannot(&error))?
            .filter(|seconds| *seconds > 0.0)
            .ok_or_else(|| cannot(&"it does not say how long it is, which a trace of arrival needs"))?;
        capture.opened(Medium { length: Some(bytes.len() as u64), is_seekable: false });
        let bytes_per_second = bytes.len() as f64 / seconds;
        Ok(Self { bytes, n_brought: 0, trace, seconds: 0.0, bytes_per_second, owed: 0.0 })
    }

    /// Brings what has arrived in the `elapsed` seconds since the last time. What finds no room waits.
    pub fn bring(&mut self, capture: &Capture, elapsed: f64) -> Result<(), Failure> {
        self.owed += self.trace.rate_at(self.seconds) * elapsed * self.bytes_per_second;
        self.seconds += elapsed;
        let rest = &self.bytes[self.n_brought..];
        let n = capture.bring_some(&rest[..(self.owed as usize).min(rest.len())]);
        self.n_brought += n;
        // A sender that waits does not send more later than it could have.
        self.owed = (self.owed - n as f64).min(self.bytes_per_second);
        if self.n_brought == self.bytes.len() {
            capture.mark_end();
        }
        Ok(())
    }
}

/// Returns the playing time of a medium, if the medium states it.
fn seconds(medium: Vec<u8>) -> Result<Option<f64>, String> {
    let stream = MediaSourceStream::new(Box::new(Cursor::new(medium)), Default::default());
    let format = symphonia::default::get_probe()
        .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
        .map_err(|error| error.to_string())?;
    Ok(format.default_track(TrackType::Audio).and_then(|track| {
        let hertz = track.codec_params.as_ref()?.audio()?.sample_rate?;
        Some(track.num_frames? as f64 / f64::from(hertz))
    }))
}
