//! `foretop sched calibrate`: speed of each worker at a job.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use job::{News, Record, Runner, journal};
use sched::{Job, Spec, Work};
use text::Table;
use text::figure::{percent, span_ns};
use text::help::examples;
use units::Confidence;

use crate::protection::Protection;
use program::Interruption;
use program::{Failure, written};

/// Run the first units on each worker, and print its speed for the job file
///
/// Speeds are by processor time, so that other load at the time has little effect. Workers run one after the other;
/// nothing is stored.
#[derive(Args)]
#[command(after_help = examples(&["foretop sched calibrate job.toml --units 5"]))]
pub struct Calibrate {
    /// The work, its command and its workers; docs/formats/job.md
    #[arg(value_name = "JOB.toml")]
    job: PathBuf,

    /// The number of units of each worker
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    units: u32,

    #[command(flatten)]
    protection: Protection,
}

impl Calibrate {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let shown = self.job.display();
        let text = fs::read_to_string(&self.job);
        let text = text.map_err(|error| Failure::work(format!("cannot read the job `{shown}`: {error}")))?;
        let job = Job::read(&text).map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
        let stated = job.stated_work().map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
        let security = self.protection.security()?;
        let interruption = Interruption::watch()?;
        let mut table = Table::of_figures(&["worker", "processor time of a unit", "got of it", "speed ="]);
        for group in &job.workers {
            let mut alone = job.clone();
            (alone.workers, alone.work.units) = (vec![group.clone()], (self.units as usize).min(job.work.units));
            let costs = (0..alone.work.units).map(|unit| stated.cost(&(unit..unit + 1)));
            let cost = stated.cost(&(0..alone.work.units)) / alone.work.units as f64;
            let work = Work::new(costs).map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
            let folder =
                tempfile::tempdir().map_err(|error| Failure::work(format!("no folder for a trial: {error}")))?;
            let runner = Runner {
                job: alone,
                text: group.name.clone(),
                work,
                stdin: Vec::new(),
                inputs: Vec::new(),
                policy: Spec::SelfScheduled(1),
                folder: folder.path().to_owned(),
                security: security.clone(),
                confidence: Confidence::new(0.8).expect("a constant between 0 and 1"),
                lost_after: Duration::from_secs(15),
            };
            let mut tell = |news: News<'_>| {
                if let News::Lost { worker, why } = news {
                    // Whoever does not read this goes without it.
                    let _ = writeln!(io::stderr().lock(), "{worker} is not there: {}", text::printable(why));
                }
            };
            job::run(&runner, &|| interruption.has_come(), &mut tell).map_err(|error| Failure::of(&error))?;
            let record = Record::new(journal(folder.path()).map_err(|error| Failure::of(&error))?);
            row(&mut table, &group.name, &record, cost);
        }
        written(out.write_all(table.to_string().as_bytes()))
    }
}

fn row(table: &mut Table, name: &str, record: &Record, cost: f64) {
    let parts: Vec<_> = record.sessions.iter().flat_map(job::Session::parts).collect();
    let (n_units, seconds, cpu) = parts
        .iter()
        .fold((0, 0.0, 0.0), |sum, part| (sum.0 + part.n_units, sum.1 + part.seconds, sum.2 + part.cpu_seconds));
    let of_unit = cpu / n_units as f64;
    // The system counts processor time in hundredths of a second.
    let speed = if cpu > 0.0 { format!("{:.2}", cost / of_unit) } else { "-".to_owned() };
    table.row([name.to_owned(), span_ns(1e9 * of_unit), percent(cpu / seconds), speed]);
}
