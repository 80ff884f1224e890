//! `foretop sched explain`: what happened in a run, from its journal.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use job::{Line, journal};
use text::Table;
use text::figure::{percent, span_ns};
use text::help::examples;

use crate::failure::{Failure, written};

/// Tell what happened in a run: who did what, what was moved, what failed
#[derive(Args)]
#[command(after_help = examples(&["foretop sched explain tonight"]))]
pub struct Explain {
    /// The run's folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

/// What a worker did.
#[derive(Default)]
struct Part {
    n_units: usize,
    seconds: f64,
    cpu_seconds: f64,
    n_chunks: usize,
    n_given_up: usize,
    n_failures: usize,
    last: f64,
}

impl Explain {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let lines = journal(&self.run).map_err(|error| Failure::work_of(&error))?;
        written(tell(&lines, out))
    }
}

fn tell(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    let (mut n_units, mut n_done, mut events) = (0, 0, Vec::new());
    for line in lines {
        match line {
            Line::Run { n_units: n, .. } => n_units = *n,
            Line::Done { t, worker, seconds, cpu_seconds, .. } => {
                n_done += 1;
                let part = parts.entry(worker).or_default();
                (part.n_units, part.last) = (part.n_units + 1, *t);
                (part.seconds, part.cpu_seconds) = (part.seconds + seconds, part.cpu_seconds + cpu_seconds);
            }
            Line::Decided { t, what, worker, from, to } => {
                let part = parts.entry(worker).or_default();
                match what.as_str() {
                    "run" => part.n_chunks += 1,
                    "give_up" => {
                        part.n_given_up += to - from;
                        events.push((
                            *t,
                            worker,
                            format!("gives up units {from} to {}: it is forecast to be late", to - 1),
                        ));
                    }
                    _ => events.push((*t, worker, format!("runs unit {from} as well: it is forecast to be sooner"))),
                }
            }
            Line::Failed { t, worker, why } => {
                parts.entry(worker).or_default().n_failures += 1;
                events.push((*t, worker, text::printable(why)));
            }
        }
    }
    writeln!(out, "{n_done} of {n_units} units are done\n")?;
    let columns =
        ["worker", "units", "at work", "processor", "got of it", "last done after", "chunks", "given up", "failures"];
    let mut table = Table::of_figures(&columns);
    for (worker, part) in &parts {
        let got = if part.seconds > 0.0 { percent(part.cpu_seconds / part.seconds) } else { "-".to_owned() };
        table.row([
            text::printable(worker),
            part.n_units.to_string(),
            span_ns(1e9 * part.seconds),
            span_ns(1e9 * part.cpu_seconds),
            got,
            span_ns(1e9 * part.last),
            part.n_chunks.to_string(),
            part.n_given_up.to_string(),
            part.n_failures.to_string(),
        ]);
    }
    write!(out, "{table}")?;
    if !events.is_empty() {
        writeln!(out)?;
    }
    for (t, worker, what) in events {
        writeln!(out, "after {} {}: {what}", span_ns(1e9 * t), text::printable(worker))?;
    }
    Ok(())
}
