//! `foretop stream record` and `play`: streams into files, and out of them again.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use anyhow::Context;
use clap::Args;
use component::{Relay, Speed, play};
use stream::{Inlet, Mirror};

use super::wiring::Wiring;
use text::help::examples;

/// Messages that are read ahead of those that are due.
const N_AHEAD: usize = 64;

/// Pass on the incoming stream, for example into a file
#[derive(Args)]
#[command(after_help = examples(&["foretop stream record source:tcp:localhost:5002 target:file:load.frames"]))]
pub struct Record {
    #[command(flatten)]
    wiring: Wiring,
}

/// Play a recorded stream, as fast as it was recorded or at another speed
///
/// Messages keep their recorded times.
#[derive(Args)]
#[command(after_help = examples(&["foretop stream play load.frames --speed 10x connect:tcp:5002"]))]
pub struct Play {
    /// The recording: a path, or source:file:PATH
    #[arg(value_name = "FILE")]
    recording: String,

    #[command(flatten)]
    wiring: Wiring,

    /// The speed: 10x, as-recorded or max
    #[arg(long, value_name = "SPEED", default_value = "as-recorded")]
    speed: Speed,

    /// Start over at the end
    #[arg(long = "loop")]
    is_endless: bool,
}

impl Record {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.wiring.run("record", Mirror::new("record", Relay).ending_with_inputs(), None, out).map(drop)
    }
}

impl Play {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let path = PathBuf::from(self.recording.strip_prefix("source:file:").unwrap_or(&self.recording));
        let open = || File::open(&path).with_context(|| format!("cannot open the recording `{}`", path.display()));
        let file = open()?;
        let mut mirror = Mirror::new("play", Relay).ending_with_inputs();
        let (_, inlet) = mirror.inlet(N_AHEAD);
        let (failed, failure) = sync_channel(1);
        let (path, speed, is_endless) = (path.clone(), self.speed, self.is_endless);
        std::thread::spawn(move || {
            if let Err(error) = play_all(file, &path, speed, is_endless, &inlet) {
                // It holds one, and there is one.
                let _ = failed.try_send(error);
            }
        });
        self.wiring.run("play", mirror, None, out)?;
        failure.try_recv().map_or(Ok(()), Err)
    }
}

/// Once, or until nobody takes more.
fn play_all(mut file: File, path: &PathBuf, speed: Speed, is_endless: bool, inlet: &Inlet) -> anyhow::Result<()> {
    let context = || format!("cannot play `{}`", path.display());
    loop {
        let played = play(&file, speed, inlet).with_context(context)?;
        if played.n_bytes_left_out > 0 {
            tracing::warn!(bytes = played.n_bytes_left_out, "the recording is damaged; some of it was left out");
        }
        if played.n_messages == 0 {
            anyhow::bail!("`{}` holds no message of a stream", path.display());
        }
        if !is_endless {
            return Ok(());
        }
        file = File::open(path).with_context(context)?;
    }
}
