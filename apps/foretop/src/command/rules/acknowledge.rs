//! `foretop rules acknowledge`: somebody takes care of a warning.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use node_api::{Acknowledgement, Acknowledging, Warning};
use text::{Align, Table, printable};

use command_line::argument::NodeArgs;
use text::help::examples;

/// Acknowledge a warning that fires, or list the warnings that fire
///
/// An acknowledgement ends with its warning. Until then the warning is not repeated, and others see who takes care of
/// it.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules acknowledge", "foretop rules acknowledge 'memory runs out' --by ana"]))]
pub struct Acknowledge {
    /// The name of the rule; without it, the warnings that fire are listed
    rule: Option<String>,

    /// The name of who takes care of it
    #[arg(long, value_name = "NAME", requires = "rule")]
    by: Option<String>,

    #[command(flatten)]
    node: NodeArgs,
}

impl Acknowledge {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let client = self.node.client()?;
        if let Some(rule) = &self.rule {
            let warning = client.acknowledge(rule, &Acknowledging { by: self.by, since: None })?;
            return Ok(writeln!(out, "{} is acknowledged{}", printable(&warning.name), shown(&warning))?);
        }
        let mut table =
            Table::new(&[("RULE", Align::Left), ("FIRES SINCE", Align::Left), ("ACKNOWLEDGED", Align::Left)]);
        for warning in client.warnings()?.rules.iter().filter(|warning| warning.stands) {
            let since = warning.since.map_or_else(|| "-".to_owned(), |since| since.to_string());
            table.row([printable(&warning.name), since, shown(warning).trim_start().to_owned()]);
        }
        Ok(write!(out, "{table}")?)
    }
}

/// Returns ` by ana at 2026-11-24T06:20:00Z`; nothing if nobody has acknowledged it.
fn shown(Warning { acknowledged, .. }: &Warning) -> String {
    let Some(Acknowledgement { at, by }) = acknowledged else { return String::new() };
    let by = by.as_ref().map_or_else(String::new, |by| format!(" by {}", printable(by)));
    format!("{by} at {}", at.floor_to(Duration::from_secs(1)))
}
