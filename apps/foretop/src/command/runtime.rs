//! `foretop runtime`: how long a task will take, and on which node it would take least.

mod verify;

use std::cmp::Ordering;
use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use node_api::{self as api, Client, ClientError, NodeUrl};
use serde::Serialize;
use text::figure::number;
use text::{Align, Table, printable};
use units::{Confidence, span};

use self::verify::{Verified, verify};
use command_line::argument::{NodeAccess, TextOrJson, positive_span};
use command_line::failure::OrUsage;
use command_line::terminal::write_json;
use text::help::examples;

/// Ask how long a task that starts now will take
///
/// The answer is a median and an interval, from the forecast of CPU availability and the past errors of such
/// forecasts. Several nodes are ranked, smallest median first.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop runtime --cpu 10s",
    "foretop runtime --cpu 5min --threads 4 --node http://db1:7311 --node http://db2:7311",
    "foretop runtime --cpu 5s --verify 10",
]))]
pub struct Runtime {
    /// CPU time that the task needs, summed over all its threads
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    cpu: Duration,

    /// The number of threads that share the work
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,

    /// The probability that the interval holds the time, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value = "0.95")]
    confidence: Confidence,

    /// A node to ask; may be repeated [default: http://127.0.0.1:7311]
    #[arg(long = "node", value_name = "URL", env = "FORETOP_NODE")]
    nodes: Vec<NodeUrl>,

    #[command(flatten)]
    access: NodeAccess,

    /// Run N such tasks on this host, each after a forecast, and compare
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    verify: Option<u32>,

    /// The pause before each task, so that the previous one has no effect on it
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = span::parse, requires = "verify")]
    pause: Duration,

    /// The format of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
}

/// The needs of a task, and the confidence of the interval.
#[derive(Clone, Copy, Debug)]
struct Job {
    cpu: Duration,
    threads: u32,
    confidence: Confidence,
}

/// Specified in docs/formats/cli.md.
#[derive(Debug, Serialize)]
struct Report {
    cpu_seconds: f64,
    threads: u32,
    confidence: f64,
    /// Best first.
    nodes: Vec<Told>,
    failed: Vec<Failed>,
}

/// The answer of a node.
#[derive(Debug, Serialize)]
struct Told {
    node: String,
    #[serde(flatten)]
    run_time: api::RunTime,
}

/// A node that said nothing.
#[derive(Debug, Serialize)]
struct Failed {
    node: String,
    reason: String,
}

impl Runtime {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let clients = self.clients()?;
        let job = Job { cpu: self.cpu, threads: self.threads, confidence: self.confidence };
        match (self.verify, &clients[..]) {
            (None, [client]) => {
                let told = Told { node: client.url().to_string(), run_time: job.ask(client)? };
                self.print_one(job, told, out)
            }
            (None, _) => self.print_ranking(job, ask_all(job, &clients)?, out),
            (Some(n_tasks), [client]) => {
                let verified = verify(job, client, n_tasks, self.pause)?;
                self.print_verified(&verified, out)
            }
            (Some(_), _) => {
                Err(anyhow::anyhow!("--verify runs tasks on this host, so only its own node can be asked")).or_usage()
            }
        }
    }

    fn clients(&self) -> anyhow::Result<Vec<Client>> {
        self.access.clients(if self.nodes.is_empty() { vec![NodeUrl::default()] } else { self.nodes.clone() })
    }

    fn print_one(&self, job: Job, told: Told, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            TextOrJson::Json => write_json(out, &Report::of(job, vec![told], Vec::new()))?,
            TextOrJson::Text => writeln!(out, "{}", sentence(job, &told.run_time))?,
        }
        Ok(())
    }

    fn print_ranking(&self, job: Job, report: Report, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            TextOrJson::Json => write_json(out, &report)?,
            TextOrJson::Text => report.write(job, out)?,
        }
        Ok(())
    }

    fn print_verified(&self, verified: &Verified, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            TextOrJson::Json => write_json(out, verified)?,
            TextOrJson::Text => verified.write(out)?,
        }
        Ok(())
    }
}

impl Job {
    fn ask(self, client: &Client) -> Result<api::RunTime, ClientError> {
        client.run_time(self.cpu, self.threads, self.confidence)
    }

    /// Shares such as 0.95 times 100 are a rounding error away from a whole number.
    fn percent(self) -> f64 {
        (self.confidence.probability() * 1e8).round() / 1e6
    }
}

/// Asks all nodes at the same time.
///
/// # Errors
/// When none has an answer, with what each said.
fn ask_all(job: Job, clients: &[Client]) -> anyhow::Result<Report> {
    let answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> = clients.iter().map(|client| scope.spawn(move || job.ask(client))).collect();
        let joined = asked.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    });
    let (mut nodes, mut failed) = (Vec::new(), Vec::new());
    for (client, answer) in clients.iter().zip(answers) {
        let node = client.url().to_string();
        match answer {
            Ok(run_time) => nodes.push(Told { node, run_time }),
            Err(error) => failed.push(Failed { node, reason: format!("{:#}", anyhow::Error::from(error)) }),
        }
    }
    if nodes.is_empty() {
        let reasons: Vec<String> = failed.into_iter().map(|one| format!("{} ({})", one.node, one.reason)).collect();
        anyhow::bail!("no node can say how long a task takes: {}", reasons.join("; "));
    }
    nodes.sort_by(|a, b| rank(&a.run_time, &b.run_time));
    Ok(Report::of(job, nodes, failed))
}

/// The least median first; among those, and those too long to tell, the least upper bound.
fn rank(a: &api::RunTime, b: &api::RunTime) -> Ordering {
    let by = |a: Option<f64>, b: Option<f64>| a.unwrap_or(f64::INFINITY).total_cmp(&b.unwrap_or(f64::INFINITY));
    by(a.median_seconds, b.median_seconds).then(by(a.upper_seconds, b.upper_seconds))
}

impl Report {
    fn of(job: Job, nodes: Vec<Told>, failed: Vec<Failed>) -> Self {
        let (cpu_seconds, confidence) = (job.cpu.as_secs_f64(), job.confidence.probability());
        Self { cpu_seconds, threads: job.threads, confidence, nodes, failed }
    }

    fn write(&self, job: Job, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::new(&[
            ("NODE", Align::Left),
            ("HOST", Align::Left),
            ("MEDIAN", Align::Right),
            ("FROM", Align::Right),
            ("TO", Align::Right),
        ]);
        for Told { node, run_time } in &self.nodes {
            let show = |seconds| time(seconds, run_time.horizon_seconds);
            table.row([
                node.clone(),
                run_time.host.clone(),
                show(run_time.median_seconds),
                show(run_time.lower_seconds),
                show(run_time.upper_seconds),
            ]);
        }
        writeln!(out, "{} takes (from and to: {} %)", task(job), job.percent())?;
        write!(out, "{table}")?;
        for Failed { node, reason } in &self.failed {
            writeln!(out, "{}", printable(&format!("no answer from {node}: {reason}")))?;
        }
        Ok(())
    }
}

/// `10s of CPU in 4 threads`.
fn task(job: Job) -> String {
    let threads = if job.threads == 1 { String::new() } else { format!(" in {} threads", job.threads) };
    format!("{} of CPU{threads}", span::format(job.cpu))
}

/// `10s of CPU on db1: 12.31s (95 %: 10.40s to 19.80s), by AUTO`.
fn sentence(job: Job, run_time: &api::RunTime) -> String {
    let show = |seconds| time(seconds, run_time.horizon_seconds);
    printable(&format!(
        "{} on {}{}: {} ({} %: {} to {}), by {}",
        task(job),
        run_time.host,
        run_time.n_cores.map(|n_cores| format!(" with {n_cores} cores")).unwrap_or_default(),
        show(run_time.median_seconds),
        job.percent(),
        show(run_time.lower_seconds),
        show(run_time.upper_seconds),
        run_time.model
    ))
}

/// Seconds up to two minutes, then minutes, then hours: people plan in these.
fn time(seconds: Option<f64>, horizon: f64) -> String {
    let show = |seconds: f64| match seconds {
        seconds if seconds < 120.0 => format!("{}s", number(seconds)),
        seconds if seconds < 7200.0 => format!("{}min", number(seconds / 60.0)),
        seconds => format!("{}h", number(seconds / 3600.0)),
    };
    seconds.map_or_else(|| format!("longer than {}", show(horizon)), show)
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    const JOB: Job = Job { cpu: Duration::from_secs(10), threads: 1, confidence: Confidence::P95 };

    fn told(host: &str, median: Option<f64>, upper: Option<f64>) -> Told {
        let run_time = api::RunTime {
            host: host.to_owned(),
            cpu_seconds: 10.0,
            threads: 1,
            confidence: 0.95,
            origin: Timestamp::from_nanos(0),
            series: vec!["cpu.availability".to_owned()],
            n_cores: None,
            model: "AUTO".to_owned(),
            horizon_seconds: 600.0,
            median_seconds: median,
            lower_seconds: Some(10.0),
            upper_seconds: upper,
            quantiles: Vec::new(),
        };
        Told { node: format!("http://{host}:7311"), run_time }
    }

    #[test]
    fn a_time_beyond_the_horizon_is_said_to_be_longer() {
        let said = sentence(JOB, &told("db1", Some(130.0), None).run_time);
        assert_eq!(said, "10s of CPU on db1: 2.17min (95 %: 10.00s to longer than 10.00min), by AUTO");
    }

    #[test]
    fn a_host_with_fewer_cores_than_threads_says_so() {
        let run_time = api::RunTime { n_cores: Some(2), ..told("db1", Some(5.0), Some(6.0)).run_time };
        let said = sentence(Job { threads: 4, ..JOB }, &run_time);
        assert_eq!(said, "10s of CPU in 4 threads on db1 with 2 cores: 5.00s (95 %: 10.00s to 6.00s), by AUTO");
    }

    #[test]
    fn the_least_median_comes_first_and_what_cannot_be_told_last() {
        let mut nodes = [
            told("a", None, None),
            told("b", Some(12.0), None),
            told("c", Some(12.0), Some(13.0)),
            told("d", Some(11.0), None),
        ];
        nodes.sort_by(|a, b| rank(&a.run_time, &b.run_time));
        assert_eq!(nodes.map(|told| told.run_time.host), ["d", "c", "b", "a"]);
    }

    #[test]
    fn nodes_without_an_answer_are_listed_below() {
        let failed = Failed { node: "http://db9:7311".to_owned(), reason: "no\u{1b}body".to_owned() };
        let mut out = Vec::new();
        let job = Job { threads: 4, ..JOB };
        Report::of(job, vec![told("db1", Some(12.0), Some(13.0))], vec![failed]).write(job, &mut out).unwrap();
        let expected = "10s of CPU in 4 threads takes (from and to: 95 %)\n\
            NODE             HOST  MEDIAN    FROM      TO\n\
            http://db1:7311  db1   12.00s  10.00s  13.00s\n\
            no answer from http://db9:7311: no\u{fffd}body\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
