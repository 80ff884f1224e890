//! `foretop play record-trace`: how a medium arrives, for the simulator.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clock::{Clock, System};
use program::{Failure, Interruption, written};
use text::help::examples;

use crate::capture::Capture;
use crate::decode::Decoded;
use crate::laws::within;
use crate::session::{TICK, seconds_per_byte};
use crate::source::Source;

/// Record how fast a medium arrives, for `foretop play simulate`
///
/// Reads the medium as fast as it arrives, plays nothing, and prints media seconds per second, one line for each
/// second.
#[derive(Args)]
#[command(after_help = examples(&["foretop play record-trace https://example.org/lecture.mp3 --for 120 > train.csv"]))]
pub struct Record {
    /// The medium: a file, an address that begins with http:// or https://, or - for standard input
    #[arg(value_name = "MEDIUM")]
    medium: String,

    /// Stop after this time, in seconds
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 3_600.0)]
    limit: f64,
}

impl Record {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let limit = within("for", self.limit, 0.0, 86_400.0)?;
        let source = Source::of(&self.medium)?;
        let capture = Capture::new(64_000_000);
        source.start(capture.clone())?;
        let hint = PathBuf::from(&self.medium).extension().map(|extension| extension.to_string_lossy().into_owned());
        let decoded = Decoded::start(capture.clone(), hint, Duration::from_secs(1))?;
        let interruption = Interruption::watch()?;
        written(writeln!(out, "time,arrival_rate"))?;
        let clock = System::start();
        let began = clock::now();
        let (mut n_before, mut second) = (0, 0_u64);
        loop {
            clock::sleep(TICK);
            let _ = decoded.take(usize::MAX / 128);
            let (level, progress) = (capture.level(), decoded.progress());
            if let Some(failure) = progress.failure {
                return Err(Failure::work(failure));
            }
            let now = clock.monotonic().as_secs_f64();
            if now >= (second + 1) as f64 {
                let rate = seconds_per_byte(&level, &progress)
                    .map_or(0.0, |per_byte| (level.n_received - n_before) as f64 * per_byte);
                if progress.format.is_some() {
                    n_before = level.n_received;
                }
                written(writeln!(out, "{},{rate:.4}", began + Duration::from_secs(second)))?;
                written(out.flush())?;
                second += 1;
            }
            if progress.has_ended || now >= limit || interruption.has_come() {
                break;
            }
        }
        capture.close();
        decoded.close();
        Ok(())
    }
}
