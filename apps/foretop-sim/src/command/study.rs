//! `foretop sim study`: how often simulated ranks wait for each other, by protocol, beside what MPI-SIM's authors
//! published.

use std::io::{self, Write};

use clap::Args;
use program::{Failure, written};
use sim_study::{Settings, report, study};
use text::help::examples;

/// Count the rounds of every protocol on the codes of MPI-SIM's report
///
/// Simulated ranks exchange messages as LU, MG, BT and SP do, and compute for drawn spans. The tables show how often
/// they had to wait for each other under each protocol, beside the published figures; they are the same on every
/// machine.
#[derive(Args)]
#[command(after_help = examples(&["foretop sim study --steps 100"]))]
pub struct Study {
    /// The number of steps of each code
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,

    /// Seed for the spans that ranks compute for
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

impl Study {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let settings = Settings { n_steps: self.steps, seed: self.seed };
        // Nothing is left to be done when even standard error is gone.
        let study = study(settings, |what| drop(writeln!(io::stderr().lock(), "{what}")));
        let document = report(&study.map_err(|error| Failure::work(error.to_string()))?);
        let text = if self.markdown { document.to_markdown(&[]) } else { document.to_text() };
        written(out.write_all(text.as_bytes()))
    }
}
