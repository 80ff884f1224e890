//! `foretop sched explain`: forecast and course of a run, from its journal.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use job::{Line, Record, Session, journal};
use picture::Kind;
use sched::draw;
use text::figure::{percent, span_ns};
use text::help::examples;
use text::{Align, Table};
use units::Confidence;

use program::{Failure, written};

/// Show the forecast of a run and the outcome: who did what, what was moved, what failed, whether the forecast held
///
/// If the run has not ended, it shows the run so far.
#[derive(Args)]
#[command(after_help = examples(&["foretop sched explain tonight", "foretop sched explain tonight --plot tonight.svg"]))]
pub struct Explain {
    /// The run's folder
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Draw which worker did what when: a bar for each unit, since the run was last started or resumed; SVG or PNG, by
    /// the file's name
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Totals of a worker's part.
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
        let lines = journal(&self.run).map_err(|error| Failure::of(&error))?;
        written(tell(&lines, out))?;
        let record = Record::new(lines);
        for session in &record.sessions {
            written(forecast(session, record.n_units, out))?;
        }
        match (&self.plot, record.sessions.last()) {
            (Some(path), Some(session)) => plot(session, path),
            (Some(_), None) => Err(Failure::work("nothing was done yet that could be drawn")),
            (None, _) => Ok(()),
        }
    }
}

fn plot(session: &Session, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind: Kind = extension.parse().map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
    let names: Vec<String> = session.parts().into_iter().map(|part| part.worker).collect();
    let picture = draw::gantt(&session.policy, &names, &session.stretches(), session.seconds());
    let bytes = picture.encode(kind).map_err(|error| Failure::of(&error))?;
    std::fs::write(path, bytes).map_err(|error| Failure::work(format!("cannot write `{shown}`: {error}")))
}

/// Writes the plan that was made when the run was begun or taken up, and how good the plan was.
fn forecast(session: &Session, n_units: usize, out: &mut dyn Write) -> io::Result<()> {
    let how = if session.n_before == 0 {
        "begun".to_owned()
    } else {
        format!("taken up with {} units done", session.n_before)
    };
    writeln!(out, "\n{how}, {} decides", text::printable(&session.policy))?;
    let columns =
        [("worker", Align::Left), ("units", Align::Right), ("done after", Align::Right), ("because", Align::Left)];
    let mut table = Table::new(&columns);
    for share in &session.shares {
        let worker = text::printable(&share.worker);
        table.row([worker, share.n_units.to_string(), seconds(share.seconds), text::printable(&share.reason)]);
    }
    write!(out, "{table}")?;
    let (lower, upper) = session.interval;
    let range = format!("{} to {} with {}", seconds(lower), seconds(upper), percent(session.confidence));
    let median = seconds(session.makespan);
    if session.n_before + session.done.len() < n_units {
        return writeln!(out, "forecast {median} ({range}); it did not get to the end");
    }
    let took = session.seconds();
    let held = if (lower..=upper).contains(&took) { "inside" } else { "outside of" };
    let error = percent(took / session.makespan - 1.0);
    writeln!(
        out,
        "done after {}, {held} the forecast of {range}; its median, {median}, is off by {error}",
        seconds(took)
    )?;
    match Confidence::new(session.confidence).ok().and_then(|confidence| session.units_held(confidence)) {
        Some(share) => writeln!(
            out,
            "{} of the units' times lay in their own intervals of {}",
            percent(share),
            percent(session.confidence)
        ),
        None => Ok(()),
    }
}

fn seconds(seconds: f64) -> String {
    span_ns(1e9 * seconds)
}

fn tell(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    let (mut n_units, mut n_done, mut events) = (0, 0, Vec::new());
    for line in lines {
        match line {
            Line::Run { n_units: n, .. } => n_units = *n,
            Line::Planned { .. } => {}
            Line::Done { t, worker, seconds, cpu_seconds, .. } => {
                n_done += 1;
                let part = parts.entry(worker).or_default();
                (part.n_units, part.last) = (part.n_units + 1, *t);
                (part.seconds, part.cpu_seconds) = (part.seconds + seconds, part.cpu_seconds + cpu_seconds);
            }
            Line::Decided { t, what, worker, from, to, why } => {
                let part = parts.entry(worker).or_default();
                match what.as_str() {
                    "run" => part.n_chunks += 1,
                    "give_up" => {
                        part.n_given_up += to - from;
                        let why = why.as_deref().unwrap_or("it is forecast to be late");
                        let units =
                            if to - from == 1 { format!("unit {from}") } else { format!("units {from} to {}", to - 1) };
                        events.push((*t, worker, format!("gives up {units}: {why}")));
                    }
                    _ => {
                        let why = why.as_deref().unwrap_or("it is forecast to be sooner");
                        events.push((*t, worker, format!("runs unit {from} as well: {why}")));
                    }
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
