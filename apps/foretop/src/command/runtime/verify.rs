//! Predicted run times of tasks, and their measured ones: each task runs in a process of its own on this host.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use node_api::Client;
use serde::Serialize;
use text::{Align, Table};
use units::span;

use super::{Job, task, time};

/// Specified in docs/formats/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Verified {
    cpu_seconds: f64,
    threads: u32,
    confidence: f64,
    n_inside: usize,
    tasks: Vec<Ran>,
    #[serde(skip)]
    heading: String,
}

/// One task.
#[derive(Clone, Copy, Debug, Serialize)]
struct Ran {
    median_seconds: Option<f64>,
    lower_seconds: Option<f64>,
    upper_seconds: Option<f64>,
    horizon_seconds: f64,
    actual_seconds: f64,
    is_inside: bool,
}

/// Runs `n_tasks` tasks one after the other, each after a pause and a question.
///
/// # Errors
/// When the node has no answer, or a task cannot be run.
pub(super) fn verify(job: Job, client: &Client, n_tasks: u32, pause: Duration) -> anyhow::Result<Verified> {
    let mut tasks = Vec::new();
    for _ in 0..n_tasks {
        clock::sleep(pause);
        let said = job.ask(client)?;
        let actual_seconds = run(job)?.as_secs_f64();
        let (lower, upper) = (said.lower_seconds.unwrap_or(f64::INFINITY), said.upper_seconds.unwrap_or(f64::INFINITY));
        tasks.push(Ran {
            median_seconds: said.median_seconds,
            lower_seconds: said.lower_seconds,
            upper_seconds: said.upper_seconds,
            horizon_seconds: said.horizon_seconds,
            actual_seconds,
            is_inside: (lower..=upper).contains(&actual_seconds),
        });
    }
    Ok(Verified {
        cpu_seconds: job.cpu.as_secs_f64(),
        threads: job.threads,
        confidence: job.confidence.probability(),
        n_inside: tasks.iter().filter(|ran| ran.is_inside).count(),
        tasks,
        heading: format!("{} (from and to: {} %)", task(job), job.percent()),
    })
}

/// Returns the time from starting the process until it has ended, as whoever waits for it sees that time.
fn run(job: Job) -> anyhow::Result<Duration> {
    let (program, words) = command_line::internal("spin")?;
    let job_words = ["--cpu", &span::format(job.cpu), "--threads", &job.threads.to_string()].map(str::to_owned);
    let mut task = Command::new(program);
    task.args(words).args(job_words).stdin(Stdio::null());
    let start = clock::instant();
    let status = task.status().context("cannot start a task")?;
    anyhow::ensure!(status.success(), "a task failed: {status}");
    Ok(start.elapsed())
}

impl Verified {
    pub(super) fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let columns = ["MEDIAN", "FROM", "TO", "ACTUAL"].map(|name| (name, Align::Right));
        let mut table = Table::new(&[&columns[..], &[("INSIDE", Align::Left)]].concat());
        for ran in &self.tasks {
            let show = |seconds| time(seconds, ran.horizon_seconds);
            let inside = if ran.is_inside { "yes" } else { "no" };
            let times = [ran.median_seconds, ran.lower_seconds, ran.upper_seconds, Some(ran.actual_seconds)].map(show);
            table.row(times.into_iter().chain([inside.to_owned()]));
        }
        writeln!(out, "{}", self.heading)?;
        write!(out, "{table}")?;
        writeln!(out, "{} of {} inside", self.n_inside, self.tasks.len())?;
        Ok(())
    }
}
