//! `foretop kernel watch`: summaries of subsystems, interval after interval, and what the probes take.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use kernel::control::share_of_core;
use kernel::{Key, Measure, Options, PointSummary, Pulled, Timing};
use program::{Failure, Interruption, written};
use text::Table;
use text::figure::{bytes_per_sec, number, percent, span_ns};
use text::help::examples;
use units::span;

use super::failed;
use crate::argument::{self, Measured};

/// Print summaries of subsystems, one for each interval, with the overhead of the probes
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel watch vm fs --budget 1%",
    "foretop kernel watch cpu --source proc --interval '10 s'",
    "foretop kernel watch fs --node tree:4711 --for '1 min'",
]))]
pub struct Watch {
    #[command(flatten)]
    measured: Measured,

    /// Time between two pulls
    #[arg(long, default_value = "2 s", value_parser = span::parse)]
    interval: Duration,

    /// Stop after this time [default: when interrupted]
    #[arg(long = "for", value_name = "SPAN", value_parser = span::parse)]
    how_long: Option<Duration>,

    /// The overhead budget of all probes, a share of a core: above it, the most expensive are sampled, then removed
    #[arg(long, value_name = "SHARE", value_parser = share_of_core)]
    budget: Option<f64>,
}

impl Watch {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let interval = self.interval;
        let n_pulls = self.how_long.map(|span| (span.as_secs_f64() / interval.as_secs_f64()).ceil() as u64);
        let is_over = Interruption::watch()?;
        let mut notes = Vec::new();
        let mut watch = kernel::Watch::new();
        let (node, limits, subsystems) = (self.measured.node()?, self.measured.limits()?, self.measured.subsystems()?);
        let mut opener = argument::opener(self.measured.source, std::slice::from_ref(&node), &subsystems, &mut notes)?;
        for subsystem in &subsystems {
            opener.prepare(&limits, subsystem).map_err(failed)?;
        }
        for subsystem in subsystems {
            let key = Key { node: 0, name: subsystem.name };
            let (arm, price) = opener.open(&node, &limits, subsystem).map_err(failed)?;
            watch.add(key, subsystem, arm, price).map_err(failed)?;
            notes.extend(watch.missing(key));
        }
        watch.keep(&Options { budget_cores: self.budget });
        for note in notes {
            written(writeln!(out, "note: {note}"))?;
        }
        let mut deadline = clock::instant() + interval;
        for pull in 0.. {
            if n_pulls.is_some_and(|n| pull >= n) || !rest_until(deadline, &mut watch, &is_over) {
                break;
            }
            deadline += interval;
            written(
                out.write_all(shown(&watch.pull().map_err(failed)?, self.budget).as_bytes()).and_then(|()| out.flush()),
            )?;
        }
        Ok(())
    }
}

/// Longest sleep, so that an interruption is soon seen.
const NAP: Duration = Duration::from_millis(100);

/// Whether the deadline came before the end. Meanwhile the watch keeps account.
fn rest_until(deadline: std::time::Instant, watch: &mut kernel::Watch, is_over: &Interruption) -> bool {
    loop {
        if is_over.has_come() {
            return false;
        }
        let left = deadline.saturating_duration_since(clock::instant());
        if left.is_zero() {
            return true;
        }
        clock::sleep(left.min(NAP).min(watch.keep_account(clock::monotonic_ns())));
    }
}

fn shown(pulled: &[Pulled], budget: Option<f64>) -> String {
    let mut text = String::new();
    for one in pulled {
        text +=
            &format!("\n{}, {} ({})\n", one.summary.subsystem.title, span_ns(one.summary.span_ns() as f64), how(one));
        let is_quiet = one.summary.points.iter().all(|point| one.summary.is_quiet(point));
        text += &match (one.measure, is_quiet) {
            (Measure::Shed, _) => "  not measured\n".into(),
            (_, true) => "  nothing happened\n".into(),
            (_, false) => table(one).to_string(),
        };
        for (what, n) in one.summary.lost.iter().filter(|(_, n)| **n > 0) {
            text += &format!("  {n} {what}\n");
        }
        for contradiction in &one.summary.contradictions {
            text += &format!("  a total is below its parts: {contradiction}\n");
        }
    }
    let cores: f64 = pulled.iter().map(|one| one.cost.cores()).sum();
    let of = budget.map(|budget| format!(" of {}", percent(budget))).unwrap_or_default();
    text + &format!("\nprobes: {}{of} of a core\n", percent(cores))
}

fn how(one: &Pulled) -> String {
    let cost = format!("{} of a core", percent(one.cost.cores()));
    match (one.source, one.measure) {
        ("proc", _) => "from /proc".into(),
        (_, Measure::Shed) => "probes off: too expensive for the budget".into(),
        (_, Measure::Weight(1)) => cost,
        (_, Measure::Weight(weight)) => format!("{cost}, one in {weight} sampled"),
    }
}

fn table(one: &Pulled) -> Table {
    let is_spent = one.summary.subsystem.points.iter().any(|point| point.timing == Timing::Spent);
    if is_spent {
        return spent(one);
    }
    let columns = ["", "per s", "mean", "least", "most", "mean, 60 s", "in use", "bytes"];
    let mut table = Table::of_figures(&columns).indented("  ");
    let seconds = one.summary.span_ns().max(1) as f64 / 1e9;
    for point in one.summary.points.iter().filter(|point| !one.summary.is_quiet(point)) {
        table.row(row(one, point, seconds));
    }
    table
}

fn row(one: &Pulled, point: &PointSummary, seconds: f64) -> [String; 8] {
    let all = &point.all;
    let per_sec = all.count.map(|count| number(count as f64 / seconds));
    let mean = match (all.time_ns, all.count) {
        (Some(time), Some(count)) if count > 0 => Some(span_ns(time as f64 / count as f64)),
        _ => None,
    };
    let time = |ns: Option<u64>| ns.map(|ns| span_ns(ns as f64)).unwrap_or_default();
    [
        one.summary.subsystem.points[point.point].label.to_owned(),
        per_sec.unwrap_or_default(),
        mean.unwrap_or_default(),
        time(all.min_ns),
        time(all.max_ns),
        all.sliding_mean_ns.map(span_ns).unwrap_or_default(),
        point.concurrency.map(|mean| format!("{mean:.2}")).unwrap_or_default(),
        all.returned.map(|bytes| bytes_per_sec(bytes as f64 / seconds)).unwrap_or_default(),
    ]
}

/// Shares of time, a row for each processor.
fn spent(one: &Pulled) -> Table {
    let points = one.summary.subsystem.points;
    let columns: Vec<&str> = std::iter::once("processor").chain(points.iter().map(|point| point.label)).collect();
    let mut table = Table::of_figures(&columns).indented("  ");
    let processors: std::collections::BTreeSet<usize> =
        one.summary.points.iter().flat_map(|point| point.groups.keys().copied()).collect();
    let span = one.summary.span_ns().max(1) as f64;
    for processor in processors {
        let share = |point: &PointSummary| {
            let time = point.groups.get(&processor).and_then(|figures| figures.time_ns);
            percent(time.unwrap_or(0) as f64 / span)
        };
        table.row(std::iter::once(processor.to_string()).chain(one.summary.points.iter().map(share)));
    }
    table
}
