//! `foretop sched worker`: does units for others.

use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use job::{Allowed, Limits, Worker};
use stream::{Endpoint, Mirror};
use text::help::examples;
use units::ByteCount;

use crate::protection::Protection;
use program::Interruption;
use program::{Failure, written};

/// Interval of checks whether the worker is to end, and for runs that nobody asks about.
const LOOK: Duration = Duration::from_millis(100);

/// Run units of split work for those who have the token
///
/// Only commands that --allow names run. An argument is passed on if it is a plain word, without a slash and not
/// beginning with `-`, or if one of the command's patterns matches it. Each unit has a folder of its own, nothing on
/// its standard input, and no environment but PATH and LANG.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sched worker --listen 127.0.0.1:7400 --allow render=/usr/local/bin/render",
    "foretop sched worker --listen 0.0.0.0:7400 --slots 8 --token-file token --tls-certificate me.pem --tls-key me.key --allow 'blastp=/usr/bin/blastp -query -db /data/*'",
]))]
pub struct Work {
    /// The address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7400")]
    listen: String,

    /// A command that may be run, and patterns of arguments that are no plain words
    #[arg(long = "allow", value_name = "NAME=/PATH [PATTERN]…", required = true)]
    allowed: Vec<String>,

    /// The number of units at a time
    #[arg(long, value_name = "N", default_value = "1")]
    slots: NonZero<usize>,

    /// The limit on what all units of one run may write together
    #[arg(long, value_name = "BYTES", default_value = "1GiB")]
    quota: ByteCount,

    /// The limit on the inputs of all coordinators together
    #[arg(long, value_name = "BYTES", default_value = "16GiB")]
    inputs: ByteCount,

    /// The folder for runs and inputs [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    protection: Protection,
}

impl Work {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let allowed: Result<Vec<Allowed>, _> = self.allowed.iter().map(|text| Allowed::new(text)).collect();
        let limits = Limits {
            n_slots: self.slots.get(),
            run_bytes: self.quota.bytes(),
            input_bytes: self.inputs.bytes(),
            folder: self.folder.unwrap_or_else(std::env::temp_dir),
        };
        let endpoint: Endpoint =
            format!("server:tcp:{}", self.listen).parse().map_err(|error| Failure::usage_of(&error))?;
        let interruption = Interruption::watch()?;
        let worker = Worker::new(allowed.map_err(Failure::usage)?, limits).map_err(|error| Failure::of(&error))?;
        let mut mirror = Mirror::new("worker", worker).with_security(self.protection.security()?).every(LOOK);
        let at = mirror.add(endpoint);
        let running = mirror.start().map_err(|error| Failure::of(&error))?;
        written(writeln!(out, "listens at {}", running.address(at).unwrap_or_default()).and_then(|()| out.flush()))?;
        while !interruption.has_come() && !running.is_finished() {
            clock::sleep(LOOK);
        }
        drop(running.stop());
        Ok(())
    }
}
