//! `foretop play simulate`: laws compared on traces of arrival.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use playback::report::{Row, by_trace, draw, totals};
use playback::{Kind, Law, Limits, Outcome, Setting, Trace, simulate};
use predict::Policy;
use program::{Failure, written};
use rayon::prelude::*;
use series::csv::{self, Column};
use text::figure::percent;
use text::help::examples;

/// Compare the laws that choose the rate, on traces of arrival and by a virtual clock
///
/// A trace is a CSV file with times and a column of rates, in media seconds per second, as `foretop play record-trace` writes them; or one of those that
/// are made: steady, markov, step, saw, bursts, outage, slow-sender, slow-disk, mobile, starved. Without any, all that are made.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop play simulate --law all",
    "foretop play simulate train.csv --law restricted --law shaka --plot pictures",
    "foretop play simulate mobile outage --seconds 3600 --seed 7 --live",
]))]
pub struct Simulate {
    /// Files, and names of traces that are made
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,

    /// The column of files
    #[arg(long, value_name = "NAME", default_value = "arrival_rate")]
    column: String,

    /// A law, or `all`; several are compared
    #[arg(long = "law", value_name = "LAW", default_value = "all")]
    laws: Vec<String>,

    /// How long made traces are
    #[arg(long, value_name = "SECONDS", default_value_t = 1_200.0)]
    seconds: f64,

    /// Seed for made traces
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The medium is made while it is played: nothing arrives earlier, and play can be behind
    #[arg(long)]
    live: bool,

    /// Media that play starts with, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    start: f64,

    /// Media that the buffer can hold, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    capacity: f64,

    /// The rate that the listener asks for
    #[arg(long, value_name = "RATE", default_value_t = 1.0)]
    speed: f64,

    /// The slowest rate that the listener accepts, as a share of that
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    max_slow: f64,

    /// The fastest
    #[arg(long, value_name = "SHARE", default_value_t = 1.1)]
    max_fast: f64,

    /// The model that forecasts arrival, or `none` to play without forecasts
    #[arg(long, value_name = "MODEL", default_value = "AUTO")]
    model: String,

    /// Write all moments of all runs to this folder, as CSV files
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Draw rates and buffers into this folder, a picture for each trace
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
}

impl Simulate {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let setting = self.setting()?;
        let traces = self.traces()?;
        let laws = laws(&self.laws)?;
        let runs: Vec<(Law, &Trace)> = laws.iter().flat_map(|law| traces.iter().map(|trace| (*law, trace))).collect();
        let outcomes: Vec<Outcome> =
            runs.par_iter().map(|(law, trace)| simulate(trace, &Setting { law: *law, ..setting.clone() })).collect();
        let rows: Vec<Row> = laws
            .iter()
            .zip(outcomes.chunks(traces.len()))
            .map(|(law, outcomes)| Row { law: *law, outcomes: outcomes.to_vec() })
            .collect();
        if let Some(folder) = &self.out {
            keep(folder, &traces, &rows)?;
        }
        if let Some(folder) = &self.plot {
            plot(folder, &traces, &rows)?;
        }
        let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
        let stalled = by_trace(&rows, &names, |outcome| format!("{:.1}", outcome.stalled_seconds));
        let deviation = by_trace(&rows, &names, |outcome| percent(outcome.mean_deviation));
        let what = if self.live { "live" } else { "on demand" };
        written(writeln!(
            out,
            "{} traces {what}, start-up buffer {} s of {} s, rates {} to {} times {}, forecasts by {}\n\n{}\n\
             Seconds without sound after play had begun\n\n{stalled}\nMean distance from the requested rate\n\n{deviation}",
            traces.len(),
            self.start,
            self.capacity,
            self.max_slow,
            self.max_fast,
            self.speed,
            self.model,
            totals(&rows),
        ))
    }

    fn setting(&self) -> Result<Setting, Failure> {
        let limits = Limits::new(self.max_slow, self.max_fast).map_err(Failure::usage)?;
        let policy: Option<Policy> = match self.model.as_str() {
            "none" => None,
            model => Some(model.parse().map_err(|error| Failure::usage(format!("`--model {model}`: {error}")))?),
        };
        let positive = |name: &str, value: f64, most: f64| {
            (value > 0.0 && value <= most)
                .then_some(value)
                .ok_or_else(|| Failure::usage(format!("`--{name} {value}`: it is above 0 and at most {most}")))
        };
        let start_seconds = positive("start", self.start, 3_600.0)?;
        let capacity_seconds = positive("capacity", self.capacity, 86_400.0)?;
        if capacity_seconds < start_seconds {
            return Err(Failure::usage(format!("`--capacity {}`: play would never start with `--start {}`", self.capacity, self.start)));
        }
        positive("seconds", self.seconds, 86_400.0)?;
        Ok(Setting {
            law: Law::Restricted,
            limits,
            requested_rate: positive("speed", self.speed, 4.0)?,
            start_seconds,
            capacity_seconds,
            media_seconds: None,
            is_live: self.live,
            policy,
        })
    }

    fn traces(&self) -> Result<Vec<Trace>, Failure> {
        if self.traces.is_empty() {
            return Ok(Kind::ALL.map(|kind| Trace::made(kind, self.seconds, self.seed)).into());
        }
        let named = |path: &Path| path.to_str().and_then(|name| name.parse::<Kind>().ok());
        let trace = |path: &PathBuf| match named(path) {
            Some(kind) => Ok(Trace::made(kind, self.seconds, self.seed)),
            None => read(path, &self.column),
        };
        self.traces.iter().map(trace).collect()
    }
}

fn read(path: &Path, column: &str) -> Result<Trace, Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::work(format!("cannot read `{}`: {error}", path.display()));
    let options = csv::Options { column: Some(Column::Name(column.to_owned())), ..csv::Options::default() };
    let file = File::open(path).map_err(|error| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        cannot(&format!("{error}; traces that are made: {known}"))
    })?;
    let series = csv::read(file, &options).map_err(|error| cannot(&error))?;
    Trace::new(&path.file_stem().unwrap_or_default().to_string_lossy(), &series).map_err(Failure::usage)
}

fn laws(texts: &[String]) -> Result<Vec<Law>, Failure> {
    let mut laws = Vec::new();
    for text in texts {
        match text.as_str() {
            "all" => laws.extend(Law::ALL),
            text => laws.push(text.parse().map_err(Failure::usage)?),
        }
    }
    Ok(laws)
}

fn keep(folder: &Path, traces: &[Trace], rows: &[Row]) -> Result<(), Failure> {
    for row in rows {
        for (trace, outcome) in traces.iter().zip(&row.outcomes) {
            let mut text = String::from("seconds,arrival_rate,buffer_seconds,rate,least_rate,expected_rate\n");
            for step in &outcome.steps {
                let (least, expected) = step.forecast;
                let forecast = if least.is_nan() { ",".to_owned() } else { format!("{least:.4},{expected:.4}") };
                text += &format!(
                    "{:.1},{:.4},{:.4},{:.4},{forecast}\n",
                    step.seconds, step.arrival_rate, step.buffer_seconds, step.rate
                );
            }
            write(folder, &format!("{}-{}.csv", trace.name, row.law), text.as_bytes())?;
        }
    }
    Ok(())
}

fn plot(folder: &Path, traces: &[Trace], rows: &[Row]) -> Result<(), Failure> {
    for (idx, trace) in traces.iter().enumerate() {
        let runs: Vec<(Law, &Outcome)> = rows.iter().map(|row| (row.law, &row.outcomes[idx])).collect();
        write(folder, &format!("{}.svg", trace.name), draw(&trace.name, &runs).to_svg().as_bytes())?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(name);
    let cannot = |error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)).map_err(cannot)
}
