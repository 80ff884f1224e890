//! Summaries of this host's kernel as signals, from the agent that makes them (`foretop kernel agent`).
//!
//! Each point that was ever passed has signals. The agent's pulls are not this source's: between two pulls a value
//! stays, and one that is older than it may be is left out, so that an agent that was turned off leaves gaps, and so do
//! probes that are too dear.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kernel::control::{Answer, PointFigures, Request, Status, Summarized};
use kernel::{Client, Error};
use signal::{Family, Readings, Signal, Source, row};

const COST: &Family = row("kernel.cost");
const RATE: &Family = row("kernel.{point}.rate");
const TIME: &Family = row("kernel.{point}.time");
const ACTIVE: &Family = row("kernel.{point}.active");
const BYTES: &Family = row("kernel.{point}.bytes");

/// An agent that calibrates answers later; that is a gap.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many lengths of its interval after its end, a summary says nothing of the present any more.
const N_INTERVALS_MAX: u64 = 3;

/// Points of all subsystems of a dozen nodes; those beyond have no signals.
const POINTS_MAX: usize = 512;

/// The agent at one socket of this host.
#[derive(Debug)]
pub struct KernelAgent {
    path: PathBuf,
    step: Duration,
    cost: Arc<Signal>,
    points: BTreeMap<Name, PointSignals>,
    n_errors: u64,
    last_error: Option<String>,
}

/// A node's number, its subsystem, and a point of it.
type Name = (u32, String, String);

#[derive(Debug)]
struct PointSignals {
    rate: Arc<Signal>,
    time: Arc<Signal>,
    active: Arc<Signal>,
    bytes: Arc<Signal>,
}

impl PointSignals {
    /// Points of node 0, which is mostly the only one, go without its number.
    fn new((node, subsystem, point): &Name) -> Self {
        let label = match node {
            0 => format!("{subsystem}.{point}"),
            node => format!("{node}.{subsystem}.{point}"),
        };
        let signal = |family| Signal::labelled(family, label.as_bytes());
        Self { rate: signal(RATE), time: signal(TIME), active: signal(ACTIVE), bytes: signal(BYTES) }
    }

    fn push(&self, figures: &PointFigures, span_ns: u64, readings: &mut Readings) {
        let per_second = |n: u64| n as f64 * 1e9 / span_ns.max(1) as f64;
        readings.push_some(&self.rate, figures.count.map(per_second));
        if let (Some(time_ns), Some(count @ 1..)) = (figures.time_ns, figures.count) {
            readings.push(&self.time, time_ns as f64 / 1e9 / count as f64);
        }
        readings.push_some(&self.active, figures.concurrency);
        readings.push_some(&self.bytes, figures.returned.map(per_second));
    }
}

impl KernelAgent {
    /// The agent that listens at `path`, read at every `step`. Nothing is connected to.
    #[must_use]
    pub fn new(path: PathBuf, step: Duration) -> Self {
        Self { path, step, cost: Signal::only(COST), points: BTreeMap::new(), n_errors: 0, last_error: None }
    }

    fn ask(&self) -> Result<(Option<Status>, Vec<Summarized>), Error> {
        let mut client = Client::connect_for(&self.path, PATIENCE)?;
        let status = match client.ask(&Request::Status)? {
            Answer::Status(status) => Some(status),
            _ => None,
        };
        match client.ask(&Request::Summaries)? {
            Answer::Summaries { summaries } => Ok((status, summaries)),
            _ => Ok((status, Vec::new())),
        }
    }

    fn take(&mut self, summary: &Summarized, now_ns: u64, readings: &mut Readings) {
        let span_ns = summary.end_ns.saturating_sub(summary.start_ns);
        let lasts_ns = span_ns.max(self.step.as_nanos() as u64).saturating_mul(N_INTERVALS_MAX);
        // Probes that were taken off for the budget's sake saw nothing, which is not that nothing happened.
        if summary.weight.is_none() || now_ns.saturating_sub(summary.end_ns) > lasts_ns {
            return;
        }
        // Figures without a count are shares of processors' time, which the node has from its own sensors.
        for (point, _) in summary.points.iter().filter(|(_, figures)| figures.count.is_some()) {
            let name = (summary.node, summary.subsystem.clone(), point.clone());
            if self.points.len() < POINTS_MAX && !self.points.contains_key(&name) {
                self.points.insert(name.clone(), PointSignals::new(&name));
            }
        }
        let is_of_it = |(node, subsystem, _): &Name| *node == summary.node && *subsystem == summary.subsystem;
        for (name, signals) in self.points.iter().filter(|(name, _)| is_of_it(name)) {
            match summary.points.get(&name.2) {
                Some(figures) => signals.push(figures, span_ns, readings),
                // A quiet point is left out of the answer.
                None => readings.push(&signals.rate, 0.0),
            }
        }
    }
}

impl Source for KernelAgent {
    fn read(&mut self, _at: Duration, readings: &mut Readings) {
        readings.clear();
        match self.ask() {
            Ok((status, summaries)) => {
                readings.push_some(&self.cost.clone(), status.map(|status| status.cost_cores));
                let now_ns = clock::monotonic_ns();
                for summary in &summaries {
                    self.take(summary, now_ns, readings);
                }
            }
            Err(error) => {
                self.n_errors += 1;
                self.last_error = Some(text::with_causes(&error));
            }
        }
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> KernelAgent {
        KernelAgent::new("/nonexistent/kernel.sock".into(), Duration::from_secs(1))
    }

    fn summary(node: u32, points: &[(&str, u64)]) -> Summarized {
        let figures = |count| PointFigures {
            count: Some(count),
            time_ns: Some(3_000_000 * count),
            returned: Some(4096 * count),
            ..PointFigures::default()
        };
        Summarized {
            node,
            subsystem: "filesystem".into(),
            source: "bpf".into(),
            start_ns: 1_000_000_000,
            end_ns: 3_000_000_000,
            weight: Some(1),
            points: points.iter().map(|(name, count)| ((*name).to_owned(), figures(*count))).collect(),
        }
    }

    fn taken(agent: &mut KernelAgent, summary: &Summarized, now_ns: u64) -> Vec<(String, f64)> {
        let mut readings = Readings::default();
        agent.take(summary, now_ns, &mut readings);
        readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect()
    }

    #[test]
    fn a_point_becomes_rates_and_a_mean_time() {
        let expected = [
            ("kernel.7.filesystem.Read.rate", 5.0),
            ("kernel.7.filesystem.Read.time", 0.003),
            ("kernel.7.filesystem.Read.bytes", 20_480.0),
        ];
        let taken = taken(&mut agent(), &summary(7, &[("Read", 10)]), 3_000_000_000);
        assert_eq!(taken, expected.map(|(id, value)| (id.to_owned(), value)));
    }

    #[test]
    fn a_quiet_point_has_a_rate_of_0_and_no_time() {
        let mut agent = agent();
        taken(&mut agent, &summary(0, &[("Read", 10)]), 3_000_000_000);
        let quiet = taken(&mut agent, &summary(0, &[]), 3_000_000_000);
        assert_eq!(quiet, [("kernel.filesystem.Read.rate".to_owned(), 0.0)]);
    }

    #[test]
    fn what_is_too_dear_to_look_at_is_a_gap() {
        let mut agent = agent();
        taken(&mut agent, &summary(0, &[("Read", 10)]), 3_000_000_000);
        let off = Summarized { weight: None, ..summary(0, &[]) };
        assert!(taken(&mut agent, &off, 3_000_000_000).is_empty());
    }

    #[test]
    fn what_an_agent_said_before_it_was_turned_off_is_a_gap() {
        let mut agent = agent();
        assert!(!taken(&mut agent, &summary(0, &[("Read", 10)]), 9_000_000_000).is_empty());
        assert!(taken(&mut agent, &summary(0, &[("Read", 10)]), 9_000_000_001).is_empty());
    }

    #[test]
    fn an_agent_that_invents_points_does_not_fill_the_memory() {
        let mut agent = agent();
        let names: Vec<String> = (0..2 * POINTS_MAX).map(|n| format!("Point{n}")).collect();
        let points: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        taken(&mut agent, &summary(0, &points), 3_000_000_000);
        assert_eq!(agent.points.len(), POINTS_MAX);
    }

    #[test]
    fn no_agent_is_an_error_that_says_how_to_start_one() {
        let mut agent = agent();
        let mut readings = Readings::default();
        agent.read(Duration::ZERO, &mut readings);
        assert!(readings.is_empty() && agent.n_errors() == 1);
        assert!(agent.last_error().unwrap().contains("foretop kernel agent"));
    }
}
