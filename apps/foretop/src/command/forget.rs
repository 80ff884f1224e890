//! `foretop forget`: removes a pushed series.

use clap::Args;

use command_line::argument::NodeArgs;
use command_line::near_name::explain_unknown_signal;
use text::help::examples;

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
        client.remove(&self.signal).map_err(|error| explain_unknown_signal(&client, &self.signal, error))
    }
}
