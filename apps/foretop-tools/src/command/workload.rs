//! `foretop workload`: makes this host busy in a known way.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use text::{Align, Table};
use units::span;
use workload::{Load, SCENARIOS, Scenario};

use super::internal::load_worker;
use command_line::argument::{TableOrJson, positive_span};
use command_line::interruption::interruptions;
use command_line::terminal::{say, write_json};
use text::help::examples;

/// Interval of checks whether the loads are whole.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Make this host busy in a known way
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop workload --list",
    "foretop workload mixed",
    "foretop workload two-spinners disk --for 5min --seed 7",
]))]
pub struct MakeWorkload {
    /// The load to run; several run at the same time
    #[arg(value_name = "SCENARIO", value_parser = scenario, required_unless_present = "list")]
    scenarios: Vec<&'static Scenario>,

    /// List the scenarios
    #[arg(long, conflicts_with_all = ["scenarios", "seed", "span"])]
    list: bool,

    /// Seed for all random draws: how long processes work and rest, when they start and end
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    /// The time to run [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_span)]
    span: Option<Duration>,

    /// The format of the list
    #[arg(long, value_enum, default_value = "table", requires = "list")]
    format: TableOrJson,
}

/// A line of the list. Specified in docs/formats/cli.md.
#[derive(Serialize)]
struct Row {
    scenario: &'static str,
    needs_root: bool,
    sentence: &'static str,
}

/// End of a run in which nothing failed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Complete,
    Interrupted,
}

impl MakeWorkload {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.list {
            return list(self.format, out);
        }
        // From here on an interruption is heard, and finds loads to end.
        let interrupted = interruptions()?;
        let mut loads = self.start_all()?;
        let length = self.span.map_or_else(String::new, |span| format!(", for {}", span::format(span)));
        say(&format!("all of it runs, with seed {}{length}; Ctrl-C ends it", self.seed));
        let end = hold(&mut loads, self.span, &interrupted)?;
        for (_, load) in loads {
            load.stop()?;
        }
        say(if end == End::Interrupted { "interrupted; nothing of it is left" } else { "nothing of it is left" });
        Ok(())
    }

    /// Two of a kind get different seeds, or they would work and rest at the same moments.
    fn start_all(&self) -> anyhow::Result<Vec<(&'static str, Load)>> {
        let worker = load_worker::worker()?;
        let start = |(scenario, idx): (&&'static Scenario, u64)| {
            let name = scenario.name();
            let load = scenario.start(self.seed.wrapping_add(idx), &worker);
            let load = load.with_context(|| format!("cannot make `{name}`"))?;
            say(&format!("{name}: {}", scenario.sentence()));
            if let Some(group) = load.group() {
                say(&format!("{name}: the group is `{}`", group.directory().display()));
            }
            Ok((name, load))
        };
        self.scenarios.iter().zip(0..).map(start).collect()
    }
}

/// Watches the loads until their time is up or somebody wants an end.
fn hold(loads: &mut [(&'static str, Load)], span: Option<Duration>, interrupted: &Receiver<()>) -> anyhow::Result<End> {
    let start = clock::instant();
    loop {
        let left = span.map_or(CHECK_EVERY, |span| span.saturating_sub(start.elapsed()));
        if left.is_zero() {
            return Ok(End::Complete);
        }
        if interrupted.recv_timeout(left.min(CHECK_EVERY)) != Err(RecvTimeoutError::Timeout) {
            return Ok(End::Interrupted);
        }
        for (name, load) in &mut *loads {
            load.check().with_context(|| format!("`{name}` is no longer complete"))?;
        }
    }
}

fn list(format: TableOrJson, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows = SCENARIOS.iter().map(|scenario| Row {
        scenario: scenario.name(),
        needs_root: scenario.needs_root(),
        sentence: scenario.sentence(),
    });
    match format {
        TableOrJson::Json => write_json(out, &rows.collect::<Vec<_>>())?,
        TableOrJson::Table => {
            let columns = ["SCENARIO", "RIGHTS", "WHAT RUNS"].map(|name| (name, Align::Left));
            let mut table = Table::new(&columns);
            let rights = |needs_root: bool| if needs_root { "root" } else { "" };
            rows.for_each(|row| table.row([row.scenario, rights(row.needs_root), row.sentence].map(str::to_owned)));
            write!(out, "{table}")?;
        }
    }
    Ok(())
}

fn scenario(name: &str) -> anyhow::Result<&'static Scenario> {
    workload::find(name).with_context(|| format!("there is no load `{name}`; `foretop workload --list` shows all"))
}
