//! `foretop stream`: streams that are found, and pools that forecast many of them.

mod broker;
mod find;
mod pool;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::cli::examples;

/// Find running streams, and run parts of prediction systems
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream find --signal 'load.*'",
    "foretop stream pred-pool --subjects 'foretop.samples.>' --model 'AR(16)'",
]))]
pub struct Stream {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    Find(find::Find),
    PredPool(pool::PredPool),
    PoolLoad(pool::PoolLoad),
}

impl Stream {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.part {
            Part::Find(part) => part.run(out),
            Part::PredPool(part) => part.run(out),
            Part::PoolLoad(part) => part.run(out),
        }
    }
}
