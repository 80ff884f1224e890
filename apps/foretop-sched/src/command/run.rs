//! `foretop sched run`: has a job done by workers.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use job::{Finished, News, Outputs, RunError, Runner};
use sched::{Job, Plan, Spec};
use text::figure::{percent, span_ns};
use text::help::examples;
use text::{Align, Table};
use units::Confidence;

use crate::page::Page;
use crate::protection::Protection;
use program::Interruption;
use program::{Failure, check_folder, written};

/// Destination of outputs.
#[derive(Args, Clone, Debug)]
pub struct Destination {
    /// The file for the outputs of all units [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Whether the run is shown.
#[derive(Args, Clone, Debug)]
pub struct ShowPage {
    /// Show the run in progress on a page at this address of the loopback; port 0 is any free one
    #[arg(long, value_name = "HOST:PORT")]
    page: Option<SocketAddr>,
}

/// Run a job on workers, split by a policy
///
/// The standard outputs of units are joined in the order of units. Finished units are stored in the run's folder: the
/// same command resumes a stopped run.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sched run job.toml --run tonight --out result.txt",
    "foretop sched run job.toml --run tonight --out result.txt --page 127.0.0.1:8080",
    "foretop sched run job.toml --run tonight --policy 'PREDICTED(q=0.8,tail=0.2)' --out result.txt",
]))]
pub struct Run {
    /// The work, its command and its workers; docs/formats/job.md
    #[arg(value_name = "JOB.toml")]
    job: PathBuf,

    /// The run's folder: it is created, or the run in it is resumed
    #[arg(long, value_name = "FOLDER")]
    run: PathBuf,

    /// The policy that assigns units to workers
    #[arg(long, value_name = "POLICY", default_value = "CORRECTED")]
    policy: Spec,

    /// The confidence of the interval of the time
    #[arg(long, value_name = "SHARE", default_value = "0.8")]
    confidence: Confidence,

    #[command(flatten)]
    destination: Destination,

    #[command(flatten)]
    page: ShowPage,

    /// The lease: the time without an answer after which a worker is lost, and its units go to others
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = units::span::parse)]
    lost_after: Duration,

    #[command(flatten)]
    protection: Protection,
}

impl Run {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let shown = self.job.display();
        let text = std::fs::read_to_string(&self.job);
        let text = text.map_err(|error| Failure::work(format!("cannot read the job `{shown}`: {error}")))?;
        let job = Job::read(&text).map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
        let (policy, confidence, folder, lost_after) = (self.policy, self.confidence, self.run, self.lost_after);
        let work = job.stated_work();
        let work = work.map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
        let (stdin, inputs, security) = (Vec::new(), Vec::new(), self.protection.security()?);
        let runner = Runner { job, text, work, stdin, inputs, policy, folder, security, confidence, lost_after };
        let copy = |outputs: &Outputs, out: &mut dyn Write| outputs.copy(out).map_err(|error| Failure::of(&error));
        have_done(&runner, Cost::Stated, &self.destination, &self.page, out, &copy)
    }
}

/// Knowledge of the processor time of units before any is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The time is stated, and forecasts of the run begin with it.
    Stated,
    /// Only ratios between units are known: there is no forecast before one is done.
    Unknown,
}

/// Has the job done, reports its progress on standard error, and puts the outputs together where they are wanted.
pub fn have_done(
    runner: &Runner,
    cost: Cost,
    destination: &Destination,
    page: &ShowPage,
    out: &mut dyn Write,
    put_together: &dyn Fn(&Outputs, &mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    destination.out.as_deref().map_or(Ok(()), check_folder)?;
    let interruption = Interruption::watch()?;
    let page = page.page.map(|at| Page::serve(at, &runner.folder)).transpose()?;
    if let Some(page) = &page {
        let _ = writeln!(io::stderr().lock(), "the run is shown at http://{}/", page.address());
    }
    let mut tell = |news: News<'_>| {
        if let (Some(page), News::Progress { n_done, seconds, expected, .. }) = (&page, &news)
            && (cost == Cost::Stated || *n_done > 0)
        {
            page.expect(*seconds, expected);
        }
        // Whoever does not read this goes without it.
        let _ = show(&news, cost, &mut io::stderr().lock());
    };
    let done = job::run(runner, &|| interruption.has_come(), &mut tell);
    if let Some(page) = page {
        page.end();
    }
    let (finished, outputs) = done.map_err(|error| match error {
        RunError::NoCommand | RunError::NoEndpoint(_) | RunError::Endpoint { .. } => Failure::usage_of(&error),
        _ => Failure::of(&error),
    })?;
    let _ = summarize(&finished, cost, &mut io::stderr().lock());
    match &destination.out {
        Some(path) => {
            let cannot = |error: io::Error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
            let mut file = BufWriter::new(File::create(path).map_err(cannot)?);
            put_together(&outputs, &mut file)?;
            written(file.flush())
        }
        None => put_together(&outputs, out),
    }
}

fn seconds(seconds: f64) -> String {
    span_ns(1e9 * seconds)
}

fn show(news: &News<'_>, cost: Cost, err: &mut dyn Write) -> io::Result<()> {
    match news {
        News::Joined { worker, host, n_slots } => {
            writeln!(err, "{worker} is there: {n_slots} at a time on {}", text::printable(host))
        }
        News::Lost { worker, why } => writeln!(err, "{worker} is not there: {}", text::printable(why)),
        News::Planned { plan, workers } => {
            let mut table = Table::new(&[
                ("worker", Align::Left),
                ("units", Align::Right),
                ("share", Align::Right),
                ("done after", Align::Right),
                ("because", Align::Left),
            ]);
            for share in &plan.shares {
                table.row([
                    workers[share.worker].name.clone(),
                    share.n_units.to_string(),
                    percent(share.share),
                    if cost == Cost::Stated { seconds(share.seconds) } else { "-".to_owned() },
                    share.reason.clone(),
                ]);
            }
            let (lower, upper) = (seconds(plan.interval.lower), seconds(plan.interval.upper));
            write!(err, "{table}")?;
            match cost {
                Cost::Stated => writeln!(err, "all done after {} ({lower} to {upper})", seconds(plan.makespan)),
                Cost::Unknown => writeln!(err, "no forecast before a unit is done; --cost states what all of it takes"),
            }
        }
        News::Decided { what, worker, n_units, why } => {
            let units = if *n_units == 1 { "unit" } else { "units" };
            writeln!(err, "{worker}: {what} {n_units} {units}, since {why}")
        }
        News::Failed { unit, worker, why } => {
            writeln!(err, "unit {unit} failed on {worker} and is tried again: {}", text::printable(why))
        }
        News::Progress { n_done, n_units, seconds: since, expected } => {
            let last = expected.iter().max_by(|one, other| one.median.total_cmp(&other.median));
            let is_known = cost == Cost::Stated || *n_done > 0;
            let rest = last.filter(|last| is_known && last.n_left > 0).map_or_else(String::new, |last| {
                let (lower, upper) = (seconds(last.lower), seconds(last.upper));
                format!(
                    "; {} is forecast to be the last, in {} ({lower} to {upper})",
                    last.worker,
                    seconds(last.median)
                )
            });
            writeln!(err, "{n_done} of {n_units} units after {}{rest}", seconds(*since))
        }
        _ => Ok(()),
    }
}

fn summarize(finished: &Finished, cost: Cost, err: &mut dyn Write) -> io::Result<()> {
    let Some(plan) = &finished.plan else { return writeln!(err, "everything was done before") };
    let mut table = Table::of_figures(&["worker", "units", "at work", "processor", "got of it"]);
    for part in &finished.parts {
        let got = if part.seconds > 0.0 { percent(part.cpu_seconds / part.seconds) } else { "-".to_owned() };
        table.row([
            part.worker.clone(),
            part.n_units.to_string(),
            seconds(part.seconds),
            seconds(part.cpu_seconds),
            got,
        ]);
    }
    write!(err, "{table}")?;
    if cost == Cost::Unknown {
        writeln!(err, "done after {}", seconds(finished.seconds))?;
    } else {
        summarize_forecast(finished, plan, err)?;
    }
    let regret = finished.seconds / finished.hindsight;
    let (moved, twins) = (finished.n_moved, finished.n_twins);
    writeln!(
        err,
        "{regret:.2} times what the same workers needed without a gap; units moved {moved}, run twice {twins}"
    )
}

fn summarize_forecast(finished: &Finished, plan: &Plan, err: &mut dyn Write) -> io::Result<()> {
    let held =
        if (plan.interval.lower..=plan.interval.upper).contains(&finished.seconds) { "inside" } else { "outside of" };
    let (lower, upper) = (seconds(plan.interval.lower), seconds(plan.interval.upper));
    let error = percent(finished.seconds / plan.makespan - 1.0);
    writeln!(
        err,
        "done after {}, {held} the forecast of {lower} to {upper}; its median is off by {error}",
        seconds(finished.seconds)
    )?;
    match finished.units_held {
        Some(share) => writeln!(err, "{} of the units' times lay in their own intervals", percent(share)),
        None => Ok(()),
    }
}
