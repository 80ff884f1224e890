//! `foretop sched explain`: what was forecast of a run, what came of it, and why work was moved.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use job::{Record, Session, journal};
use picture::Kind;
use sched::draw;
use text::figure::{percent, span_ns};
use text::help::examples;
use text::{Align, Table};

use crate::failure::{Failure, written};

/// Tell what was forecast of a run, what came of it, and why work was moved
///
/// Also of a run that is still going on, as far as it is.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sched explain tonight",
    "foretop sched explain tonight --plot tonight.svg",
]))]
pub struct Explain {
    /// The run's folder, as given to `foretop sched run`
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Draw who did what when: a bar for each unit, since the run was last begun or taken up; SVG or PNG, by the file's name
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Explain {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let record = Record::new(journal(&self.run).map_err(|error| Failure::work_of(&error))?);
        let (n_done, n_units) = (record.n_done(), record.n_units);
        written(writeln!(out, "{n_done} of {n_units} units are done"))?;
        for session in &record.sessions {
            written(explain(session, n_units, out))?;
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
    let bytes = picture.encode(kind).map_err(|error| Failure::work_of(&error))?;
    std::fs::write(path, bytes).map_err(|error| Failure::work(format!("cannot write `{shown}`: {error}")))
}

fn explain(session: &Session, n_units: usize, out: &mut dyn Write) -> io::Result<()> {
    let how = if session.n_before == 0 { "begun".to_owned() } else { format!("taken up at unit {}", session.n_before) };
    writeln!(out, "\n{how} with {}", session.policy)?;
    let columns = [("worker", Align::Left), ("units", Align::Right), ("done after", Align::Right)];
    let mut table = Table::new(&[&columns[..], &[("because", Align::Left)]].concat());
    for share in &session.shares {
        let words = [share.worker.clone(), share.n_units.to_string(), seconds(share.seconds), share.reason.clone()];
        table.row(words);
    }
    write!(out, "{table}")?;
    for (t, words) in &session.events {
        writeln!(out, "after {}: {}", seconds(*t), text::printable(words))?;
    }
    let mut table = Table::of_figures(&["worker", "units", "at work", "processor", "got of it"]);
    for part in session.parts() {
        let (took, cpu) = (seconds(part.seconds), seconds(part.cpu_seconds));
        let got = percent(part.cpu_seconds / part.seconds.max(f64::MIN_POSITIVE));
        table.row([part.worker, part.n_units.to_string(), took, cpu, got]);
    }
    write!(out, "{table}")?;
    judge(session, n_units, out)
}

/// How good the forecast was, once there is something to hold it against.
fn judge(session: &Session, n_units: usize, out: &mut dyn Write) -> io::Result<()> {
    let (lower, upper) = session.interval;
    let (forecast, range) = (
        seconds(session.makespan),
        format!("{} to {} with {}", seconds(lower), seconds(upper), percent(session.confidence)),
    );
    if session.n_before + session.done.len() < n_units {
        return writeln!(out, "forecast {forecast} ({range}); it did not get to the end");
    }
    let took = session.seconds();
    let held = if (lower..=upper).contains(&took) { "inside" } else { "outside of" };
    let error = percent(took / session.makespan - 1.0);
    writeln!(
        out,
        "done after {}, {held} the forecast of {range}; its median, {forecast}, is off by {error}",
        seconds(took)
    )
}

fn seconds(seconds: f64) -> String {
    span_ns(1e9 * seconds)
}
