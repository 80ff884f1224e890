//! `foretop forget`: removes a pushed series.

use clap::Args;

use super::ask::with_near_names;
use crate::cli::{NodeArgs, examples};

/// Remove a signal that a program pushed, with its history
#[derive(Args)]
#[command(after_help = examples(&["foretop forget replay.trace"]))]
pub struct Forget {
    /// The signal
    signal: String,

    #[command(flatten)]
    node: NodeArgs,
}

impl Forget {
    pub fn run(self) -> anyhow::Result<()> {
        let client = self.node.client()?;
        client.remove(&self.signal).map_err(|error| with_near_names(&client, &self.signal, error))
    }
}
