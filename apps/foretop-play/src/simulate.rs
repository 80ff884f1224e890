//! `foretop play simulate`: laws compared on traces of arrival.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use playback::report::{Row, by_trace, draw, totals};
use playback::{Kind, Law, Outcome, Setting, TierCosts, Trace, requested, simulate};
use program::{Failure, written};
use rayon::prelude::*;
use series::Resampling;
use series::csv::{self, Column};
use text::figure::percent;
use text::help::examples;

use crate::laws::{Accepted, within};

/// Compare the laws that choose the rate, on traces of arrival and by a virtual clock
///
/// A trace is a CSV file with times in its first column and a column of rates, in media seconds per second, as `foretop
/// play record-trace` writes them; or a generated one: steady, markov, step, saw, bursts, outage, slow-sender,
/// slow-disk, mobile, starved. The default is all generated ones.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop play simulate --law all",
    "foretop play simulate train.csv --law restricted --law shaka --plot pictures",
    "foretop play simulate mobile outage --seconds 3600 --seed 7 --live",
]))]
pub struct Simulate {
    /// Files, and names of generated traces
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,

    /// The column of files
    #[arg(long, value_name = "NAME", default_value = "arrival_rate")]
    column: String,

    /// A law, or `all`; several are compared
    #[arg(long = "law", value_name = "LAW", default_value = "all")]
    laws: Vec<String>,

    /// The length of generated traces, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1_200.0)]
    seconds: f64,

    /// Seed for generated traces
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Simulate a medium that is made at the same time: nothing arrives earlier, and play can be behind
    #[arg(long)]
    live: bool,

    /// The capacity of the buffer, in seconds of media
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    capacity: f64,

    /// Shares of a core that decoding gets, repeated: a CSV file with a column `cpu.availability`, as a node exports it
    #[arg(long, value_name = "FILE.csv")]
    cpu: Option<PathBuf>,

    /// The media seconds that a whole core decodes and stretches in a second, with --cpu
    #[arg(long, value_name = "RATE", default_value_t = 1.5, requires = "cpu")]
    cpu_speed: f64,

    /// Ignore the processor, to see the effect of its forecast
    #[arg(long)]
    blind_to_cpu: bool,

    #[command(flatten)]
    accepted: Accepted,

    /// Write all moments of all runs to this folder, a CSV file for each, and their figures to laws.csv
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
            self.accepted.start,
            self.capacity,
            self.accepted.max_slow,
            self.accepted.max_fast,
            self.accepted.speed,
            self.accepted.model,
            totals(&rows),
        ))
    }

    fn setting(&self) -> Result<Setting, Failure> {
        let start_seconds = within("start", self.accepted.start, 0.0, 3_600.0)?;
        let capacity_seconds = within("capacity", self.capacity, 0.0, 86_400.0)?;
        if capacity_seconds < start_seconds {
            return Err(Failure::usage(format!(
                "`--capacity {capacity_seconds}`: play would never start with `--start {start_seconds}`"
            )));
        }
        within("seconds", self.seconds, 0.0, 86_400.0)?;
        Ok(Setting {
            law: Law::Restricted,
            limits: self.accepted.limits()?,
            requested_rate: requested(self.accepted.speed).map_err(Failure::usage)?,
            start_seconds,
            capacity_seconds,
            media_seconds: None,
            is_live: self.live,
            policy: self.accepted.policy()?,
            heeds_processor: !self.blind_to_cpu,
            costs: TierCosts::PLAYER,
        })
    }

    fn traces(&self) -> Result<Vec<Trace>, Failure> {
        let traces: Vec<Trace> = if self.traces.is_empty() {
            Kind::ALL.map(|kind| Trace::made(kind, self.seconds, self.seed)).into()
        } else {
            let read = |path: &PathBuf| trace(path, &self.column, self.seconds, self.seed);
            self.traces.iter().map(read).collect::<Result<_, _>>()?
        };
        let Some(path) = &self.cpu else { return Ok(traces) };
        let speed = within("cpu-speed", self.cpu_speed, 0.0, 1_000.0)?;
        let shares = read(path, "cpu.availability")?;
        Ok(traces.into_iter().map(|trace| trace.on_processor(&shares, speed)).collect())
    }
}

/// A trace by the name of a kind that is made, or of a file.
pub fn trace(path: &Path, column: &str, seconds: f64, seed: u64) -> Result<Trace, Failure> {
    match path.to_str().and_then(|name| name.parse::<Kind>().ok()) {
        Some(kind) => Ok(Trace::made(kind, seconds, seed)),
        None => read(path, column),
    }
}

fn read(path: &Path, column: &str) -> Result<Trace, Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::work(format!("cannot read `{}`: {error}", path.display()));
    let bytes = fs::read(path).map_err(|error| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        cannot(&format!("{error}; traces that are made: {known}"))
    })?;
    let options = |resample| csv::Options {
        column: Some(Column::Name(column.to_owned())),
        time_column: Some(Column::Number(1)),
        resample,
        ..csv::Options::default()
    };
    let series = csv::read(&*bytes, &options(None)).or_else(|error| match error.step_to_try() {
        // Moments that were taken by a real clock are not quite even.
        Some(step) => csv::read(&*bytes, &options(Some((step, Resampling::Mean)))),
        None => Err(error),
    });
    let series = series.map_err(|error| cannot(&error))?;
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
    let mut all = String::from(
        "law,trace,seconds,stalled_seconds,stalls,mean_deviation,rms_deviation,least_stalled_seconds,least_mean_deviation,slew_per_second,lost_seconds\n",
    );
    for row in rows {
        for (trace, outcome) in traces.iter().zip(&row.outcomes) {
            all += &format!(
                "{},{},{:.1},{:.1},{},{:.6},{:.6},{:.1},{:.6},{:.4},{:.1}\n",
                row.law,
                trace.name,
                outcome.seconds,
                outcome.stalled_seconds,
                outcome.n_stalls,
                outcome.mean_deviation,
                outcome.rms_deviation,
                outcome.least_stalled_seconds,
                outcome.least_mean_deviation,
                outcome.slew_per_second,
                outcome.lost_seconds
            );
            let mut text =
                String::from("seconds,arrival_rate,buffer_seconds,rate,least_rate,expected_rate,ahead_seconds\n");
            for step in &outcome.steps {
                let (least, expected) = step.forecast;
                let forecast = if least.is_nan() { ",".to_owned() } else { format!("{least:.4},{expected:.4}") };
                text += &format!(
                    "{:.1},{:.4},{:.4},{:.4},{forecast},{:.4}\n",
                    step.seconds, step.arrival_rate, step.buffer_seconds, step.rate, step.ahead_seconds
                );
            }
            write(folder, &format!("{}-{}.csv", trace.name, row.law), text.as_bytes())?;
        }
    }
    write(folder, "laws.csv", all.as_bytes())
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
