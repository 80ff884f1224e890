//! Sources of traces: files, a node, a Prometheus server.

mod prometheus;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use crossval::{Trace, TraceFileError};
use jiff::tz::TimeZone;
use series::csv::CsvError;
use units::Moment;

use command_line::argument::{NodeArgs, positive_span, time_zone};
use command_line::history::Query;
use command_line::terminal::say;

/// Step of what a server is asked for, unless a command sets another.
const STEP: Duration = Duration::from_secs(15);

#[derive(Args)]
#[group(skip)]
pub struct Source {
    /// A CSV or Parquet file with a trace, or a folder of them; may be repeated
    #[arg(long = "traces", value_name = "PATH", required_unless_present_any = ["signals", "queries"])]
    files: Vec<PathBuf>,

    /// The column of samples, if a file has several
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// The time zone of times without an offset in CSV files, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = time_zone)]
    zone: Option<TimeZone>,

    /// A signal of a node; may be repeated
    #[arg(long = "signal", value_name = "ID")]
    signals: Vec<String>,

    /// A Prometheus server
    #[arg(long, value_name = "URL", requires = "queries")]
    prometheus: Option<String>,

    /// A PromQL expression to ask the server; each series of the answer is a trace; may be repeated
    #[arg(long = "query", value_name = "QUERY", requires = "prometheus")]
    queries: Vec<String>,

    /// The earliest moment to request from a node or server. To be able to resume a run, give both ends as times
    #[arg(long, value_name = "TIME|-LENGTH", default_value = "-1d", allow_hyphen_values = true)]
    from: Moment,

    /// The end, exclusive [default: now]
    #[arg(long, value_name = "TIME|-LENGTH", allow_hyphen_values = true)]
    to: Option<Moment>,

    /// Time between samples [default: as the node has them; 15s from a server]
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    #[command(flatten)]
    node: NodeArgs,
}

impl Source {
    pub fn traces(&self) -> anyhow::Result<Vec<Trace>> {
        let mut traces = Vec::new();
        for path in &self.files {
            let read = Trace::read_in(path, self.column.as_deref(), self.zone.as_ref());
            for trace in read.map_err(with_option)? {
                if let Some(merged) = trace.merged() {
                    say(&format!("foretop: warning: in trace `{}`, {merged}", trace.name()));
                }
                traces.push(trace);
            }
        }
        for signal in &self.signals {
            traces.push(self.of_node(signal)?);
        }
        if let Some(url) = &self.prometheus {
            let now = clock::now();
            let range = prometheus::Range {
                from: self.from.resolve(now),
                to: self.to.map_or(now, |to| to.resolve(now)),
                step: self.step.unwrap_or(STEP),
            };
            for query in &self.queries {
                traces.extend(prometheus::ask(url, query, range, self.node.access.trust()?)?);
            }
        }
        Ok(traces)
    }

    fn of_node(&self, signal: &str) -> anyhow::Result<Trace> {
        let query = Query { signal, from: self.from, to: self.to, step: self.step };
        let client = self.node.client()?;
        let (series, pages) = query.ask(&client)?;
        let mut samples = Vec::new();
        for page in pages {
            samples.extend(page?.into_iter().map(|sample| sample.value.unwrap_or(f64::NAN)));
        }
        Ok(Trace::new(series.id, samples)?)
    }
}

/// Adds the option that helps, where there is one.
fn with_option(error: TraceFileError) -> anyhow::Error {
    let needs_zone = matches!(&error, TraceFileError::Csv { source: CsvError::RepeatedTime { .. }, .. });
    let error = anyhow::Error::new(error);
    if needs_zone {
        error.context("state the time zone of these times with --zone, such as --zone Europe/Berlin")
    } else {
        error
    }
}
