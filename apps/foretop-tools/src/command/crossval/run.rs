//! `foretop crossval run`: evaluates cases, and writes them to a file.

use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::Context;
use clap::Args;
use crossval::{Campaign, End, Progress, Run, RunError, Template};
use text::printable;

use super::progress::Display;
use super::source::Source;
use command_line::failure::OrUsage;
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// Evaluate random test cases and write the results
///
/// The same template, traces and seed give the same file to the byte, with any number of workers. Finished cases are
/// stored in a folder beside the file until all are done, so the same command resumes a stopped run.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop crossval run examples/crossval/host-load.toml --traces testdata/nab --cases 20000 --seed 1 --out cases.parquet",
    "foretop crossval run template.toml --traces load.csv --traces more.parquet --column cpu --cases 2000 --out cases.parquet",
    "foretop crossval run template.toml --signal load.1m --signal cpu.busy --from -7d --out cases.parquet",
    "foretop crossval run template.toml --prometheus http://127.0.0.1:9090 --query node_load1 --from -1d --step 15s --out cases.parquet",
]))]
pub struct RunCases {
    /// The template of the cases; see docs/formats/crossval.md
    template: PathBuf,

    #[command(flatten)]
    source: Source,

    /// The number of test cases
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    cases: u64,

    /// Seed for drawing cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The Parquet file to write; timings go to FILE.timings.parquet beside it
    #[arg(long, value_name = "FILE.parquet")]
    out: PathBuf,

    /// The number of cases to evaluate at once [default: the number of processors]
    #[arg(long, value_name = "N")]
    workers: Option<NonZero<u16>>,
}

impl RunCases {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let campaign = self.campaign()?;
        for left_out in campaign.left_out() {
            let crossval::LeftOut { name, n_samples, need } = left_out;
            say(&format!("`{name}` is left out: it has {n_samples} samples, and the shortest case takes {need}"));
        }
        let run = match Run::open(campaign, self.cases, &self.out) {
            Err(error @ RunError::OtherCampaign { what: "peers", .. }) => {
                return Err(error)
                    .context(
                        "it includes forecasters of other libraries: resume it with `foretop.crossval.run` in Python",
                    )
                    .or_usage();
            }
            Err(error @ (RunError::CaseCount { .. } | RunError::Exists { .. } | RunError::OtherCampaign { .. })) => {
                return Err(error).or_usage();
            }
            opened => opened?,
        };
        announce(&run);
        let progress = Arc::new(Progress::new(run.campaign()));
        match evaluate(run, self.workers, &progress)? {
            End::Stopped => anyhow::bail!("stopped; run the same command to resume"),
            End::Finished => {
                let (n_done, n_failed) = (progress.n_done(), progress.n_failed());
                let written = format!("{} and {}", self.out.display(), Run::timings_path(&self.out).display());
                writeln!(out, "{} cases in {written}; of {n_done} evaluated here, {n_failed} failed", self.cases)?;
                for (reason, n) in progress.failures() {
                    writeln!(out, "{n} failed: {}", printable(&reason))?;
                }
                anyhow::ensure!(n_done == 0 || n_failed < n_done, "no model could be judged in any case");
                Ok(())
            }
        }
    }

    fn campaign(&self) -> anyhow::Result<Campaign> {
        let text = read_template(&self.template).or_usage()?;
        let named = || format!("in the template `{}`", self.template.display());
        let template = Template::read(&text).with_context(named).or_usage()?;
        Campaign::new(template, self.source.traces()?, self.seed).or_usage()
    }
}

fn read_template(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read the template `{}`", path.display()))
}

fn announce(run: &Run) {
    for path in run.broken() {
        say(&format!("`{}` is not what was written, and its cases are evaluated again", path.display()));
    }
    if run.n_cases_found() > 0 {
        say(&format!("{} of {} cases are there from an earlier run", run.n_cases_found(), run.n_cases()));
    }
    let campaign = run.campaign();
    let n_traces = campaign.traces().len() - campaign.left_out().len();
    let n_models = campaign.template().models().len();
    let counted = |n: usize, noun: &str| if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") };
    let (models, traces) = (counted(n_models, "model"), counted(n_traces, "trace"));
    say(&format!("{} cases of {models} on {traces}, seed {}", run.n_cases(), campaign.seed()));
}

/// Runs beside a thread that shows how far it is.
fn evaluate(run: Run, workers: Option<NonZero<u16>>, progress: &Arc<Progress>) -> anyhow::Result<End> {
    let n_workers = workers.map_or(0, |workers| usize::from(workers.get()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_workers).build()?;
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_interruption(Arc::clone(&stop))?;
    let mut display = Display::new(run.campaign().clone(), run.n_cases() - run.n_cases_found());
    let (is_over, over) = mpsc::channel();
    let ended = thread::scope(|scope| {
        let work = scope.spawn(|| {
            let ended = pool.install(|| run.run(&stop, progress));
            // The display may have gone.
            let _ = is_over.send(());
            ended
        });
        while over.recv_timeout(display.period()) == Err(mpsc::RecvTimeoutError::Timeout) {
            display.show(progress);
        }
        work.join()
    });
    drop(display);
    match ended {
        Ok(ended) => Ok(ended?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn stop_on_interruption(stop: Arc<AtomicBool>) -> anyhow::Result<()> {
    let interrupted = interruptions()?;
    thread::spawn(move || {
        if interrupted.recv().is_ok() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    Ok(())
}
