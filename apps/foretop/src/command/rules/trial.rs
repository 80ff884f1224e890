//! `foretop rules try`: sends a trial message each way that warnings go.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;

use crate::command::up::ways;
use command_line::failure::OrUsage;
use text::help::examples;

/// Send a trial message through each notification channel, and show whether it arrived
///
/// The channels are those of a node's configuration: Alertmanager, webhooks, commands and mail. The message states that
/// it is a trial. Alertmanager takes it as resolved after a minute.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules try --config foretop.toml"]))]
pub struct Try {
    /// Configuration file of the node
    #[arg(long, value_name = "FILE.toml", env = "FORETOP_CONFIG", required = true)]
    config: PathBuf,
}

impl Try {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let ways = ways(&self.config).or_usage()?;
        let config = self.config.display();
        ensure!(!ways.is_empty(), "`{config}` has no notification channel; add one, such as [[warn.mail]]");
        let host = sensor::host_name(Path::new("/")).unwrap_or_else(|| "unknown".to_owned());
        let mut n_failed = 0;
        for (name, way) in alert::names(&ways).iter().zip(&ways) {
            match way.send_trial(&host, clock::now()) {
                Ok(()) => writeln!(out, "{name}: delivered")?,
                Err(error) => {
                    n_failed += 1;
                    writeln!(out, "{name}: not delivered: {}", text::with_causes(&error))?;
                }
            }
        }
        ensure!(n_failed == 0, "{n_failed} of {} channels did not take the message", ways.len());
        Ok(())
    }
}
