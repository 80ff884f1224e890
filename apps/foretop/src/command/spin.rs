//! `foretop internal spin`: a task that needs a given amount of CPU time.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use clap::Args;
use rustix::time::{ClockId, clock_gettime};

use command_line::argument::positive_span;
use text::help::examples;

/// Rounds between two looks at the clock: some tens of microseconds, so that looking takes a hundredth.
const N_ROUNDS: u64 = 50_000;

/// Use this much CPU time and end; `foretop runtime --verify` starts it
#[derive(Args)]
#[command(after_help = examples(&["foretop internal spin --cpu 10s --threads 2"]))]
pub struct Spin {
    /// CPU time, of all threads together
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    cpu: Duration,

    /// The number of threads that share the work
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

impl Spin {
    pub fn run(self) -> anyhow::Result<()> {
        thread::scope(|scope| {
            let spin = || {
                while used() < self.cpu {
                    black_box((0..N_ROUNDS).fold(0, |sum, round| sum ^ black_box(round)));
                }
            };
            // This thread works too; the others it started have the same end.
            let started = (1..self.threads).map(|_| thread::Builder::new().spawn_scoped(scope, spin).map(drop));
            let started = started.collect::<Result<(), _>>();
            spin();
            Ok(started?)
        })
    }
}

/// CPU time that this process has used.
fn used() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or(Duration::MAX)
}
