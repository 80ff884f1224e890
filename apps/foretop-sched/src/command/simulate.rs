//! `foretop sched simulate`: policies compared on recorded availability.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use sched::advice::Advisor;
use sched::draw;
use sched::factors::{Level, vary, weights};
use sched::report::{Case, Row, Setting, SettingError, rows};
use sched::{Job, Spec, Trace};
use series::csv::{self, Column};
use text::figure::{percent, span_ns, three_digits};
use text::help::examples;
use text::{Align, Table};

use program::{Failure, check_folder, written};

/// The column that a node's export has, and other files may not.
const AVAILABILITY: &str = "cpu.availability";

/// Compare policies on recorded availability, in many runs
///
/// Every worker gets a random moment of a trace in each run, and each unit its real cost. Policies use only forecasts
/// that were made from the samples before that moment. A trace that ends during a run starts again.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sched simulate examples/sched/pool.toml --traces testdata/host-load --policy all",
    "foretop sched simulate job.toml --traces exported/ --draws 1 --plot pictures/",
    "foretop sched simulate job.toml --traces exported/ --policy EQUAL --policy 'PREDICTED(q=0.8,tail=0.2)' --model NWS --model AUTO",
]))]
pub struct Simulate {
    /// The work and its workers; docs/formats/job.md
    #[arg(value_name = "JOB.toml")]
    job: PathBuf,

    /// A folder of availability traces, one in each CSV file, as `foretop export` writes them
    #[arg(long, value_name = "FOLDER")]
    traces: PathBuf,

    /// The column of the traces
    #[arg(long, value_name = "NAME", default_value = AVAILABILITY)]
    column: String,

    /// A policy, such as FACTORING(2) or PREDICTED(q=0.8,tail=0.2), or `all`; several are compared
    #[arg(long = "policy", value_name = "POLICY", default_value = "all")]
    policies: Vec<String>,

    /// A model to forecast workers with, MODEL@COLUMN to forecast from another column than the real availability,
    /// PERFECT, or PERFECT(0.5) for forecasts whose logarithm has errors of this standard deviation; several are
    /// compared
    #[arg(long = "model", value_name = "MODEL", default_values = ["AUTO", "PERFECT"])]
    models: Vec<Advisor>,

    /// The number of runs
    #[arg(long, value_name = "N", default_value_t = 200)]
    draws: usize,

    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Also show what decides which policy wins: vary the start of a chunk, how much workers differ, the error of
    /// forecasts and the length of the job, one at a time; takes about thirty times as long
    #[arg(long)]
    vary: bool,

    /// Write every run of every policy to this file, as JSON Lines
    #[arg(long, value_name = "FILE.jsonl")]
    out: Option<PathBuf>,

    /// Draw the first run into this folder: which worker did what when, for each policy, and the availability of
    /// workers
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
}

impl Simulate {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        self.out.as_deref().map_or(Ok(()), check_folder)?;
        let shown = self.job.display();
        let text = fs::read_to_string(&self.job)
            .map_err(|error| Failure::work(format!("cannot read the job `{shown}`: {error}")))?;
        let job = Job::read(&text).map_err(|error| Failure::usage(format!("`{shown}`: {error}")))?;
        let traces = read_traces(&self.traces, &self.column, &self.models)?;
        let policies = policies(&self.policies)?;
        let n_workers = job.each_worker().count();
        let setting = Setting { job, traces, policies, advisors: self.models, n_draws: self.draws, seed: self.seed };
        let cases = setting.cases().map_err(|error| match error {
            SettingError::Job(error) => Failure::usage(format!("`{shown}`: {error}")),
            error => Failure::usage(error),
        })?;
        if let Some(path) = &self.out {
            keep(path, &cases)?;
        }
        if let Some(folder) = &self.plot {
            draw_first(folder, &setting, &cases)?;
        }
        written(describe(&setting, n_workers, out))?;
        let rows = rows(&cases);
        written(write!(out, "{}", table(&rows)))?;
        written(write_intervals(&rows, out))?;
        if self.vary {
            let levels = vary(&setting).map_err(Failure::usage)?;
            if levels.is_empty() {
                return Err(Failure::usage(
                    "--vary compares policies that go by forecasts with others, and needs one of each",
                ));
            }
            written(write_levels(&levels, out))?;
        }
        Ok(())
    }
}

/// Writes the winner at each level of each factor, and how much each factor decides.
fn write_levels(levels: &[Level], out: &mut dyn Write) -> std::io::Result<()> {
    let columns = [
        "varied",
        "level",
        "without forecasts",
        "over bound",
        "by forecast",
        "over bound",
        "ratio",
        "80 % held",
        "width",
    ];
    let columns: Vec<(&str, Align)> = columns
        .iter()
        .zip([true, false, true, false, true, false, false, false, false])
        .map(|(name, is_text)| (*name, if is_text { Align::Left } else { Align::Right }))
        .collect();
    let mut table = Table::new(&columns);
    for level in levels {
        table.row([
            level.factor.to_owned(),
            level.level.clone(),
            level.plain.policy.clone(),
            format!("{:.3}", level.plain.regret),
            level.forecast.policy.clone(),
            format!("{:.3}", level.forecast.regret),
            format!("{:.3}", level.ratio()),
            percent(level.forecast.coverage_80),
            percent(level.forecast.width_80),
        ]);
    }
    writeln!(out, "\nThe best policies of both kinds, one thing varied at a time\n\n{table}")?;
    for (factor, weight) in weights(levels) {
        writeln!(out, "{factor}: changes the ratio by a factor of {weight:.2}")?;
    }
    Ok(())
}

/// Reads the traces in a folder, in the order of their names.
fn read_traces(folder: &Path, column: &str, models: &[Advisor]) -> Result<Vec<Trace>, Failure> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::work(format!("cannot read `{}`: {error}", path.display()))
    };
    let entries = fs::read_dir(folder).map_err(|error| cannot(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    let read = |path: &Path, column: &str| {
        let options = csv::Options { column: Some(Column::Name(column.to_owned())), ..csv::Options::default() };
        let file = File::open(path).map_err(|error| cannot(path, &error))?;
        csv::read(file, &options).map_err(|error| cannot(path, &error))
    };
    let sensors = models.iter().filter_map(|model| match model {
        Advisor::Sensor(_, sensor) => Some(sensor),
        _ => None,
    });
    let traces = paths.iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let trace = Trace::new(&name, &read(path, column)?).map_err(Failure::usage)?;
        sensors
            .clone()
            .try_fold(trace, |trace, sensor| trace.with_readings(sensor, &read(path, sensor)?).map_err(Failure::usage))
    });
    let traces: Vec<Trace> = traces.collect::<Result<_, _>>()?;
    if traces.is_empty() {
        return Err(Failure::usage(format!("`{}` has no CSV files: each is one trace", folder.display())));
    }
    Ok(traces)
}

fn policies(texts: &[String]) -> Result<Vec<Spec>, Failure> {
    let mut policies = Vec::new();
    for text in texts {
        if text.eq_ignore_ascii_case("all") {
            policies.extend(Spec::ALL);
        } else {
            policies.push(text.parse().map_err(Failure::usage)?);
        }
    }
    Ok(policies)
}

fn keep(path: &Path, cases: &[Case]) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
    let mut file = BufWriter::new(File::create(path).map_err(cannot)?);
    for case in cases {
        serde_json::to_writer(&mut file, case).map_err(|error| cannot(error.into()))?;
        file.write_all(b"\n").map_err(cannot)?;
    }
    file.flush().map_err(cannot)
}

/// Draws the first run of each case. All pictures go as far as the longest run, so that they can be laid beside each
/// other.
fn draw_first(folder: &Path, setting: &Setting, cases: &[Case]) -> Result<(), Failure> {
    let cannot =
        |path: &Path, error: std::io::Error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let names: Vec<String> = setting.job.each_worker().map(|(name, _)| name).collect();
    let cases: Vec<&Case> = cases.iter().filter(|case| case.draw == 0).collect();
    let until = cases.iter().map(|case| case.outcome.makespan).fold(0.0, f64::max);
    let given = setting.availability(0, until).map_err(Failure::usage)?;
    let mut pictures = vec![("availability".to_owned(), draw::availability(&names, &given, until))];
    for case in cases {
        let title = format!("{} by {}", case.policy, case.advisor);
        pictures.push((file_name(&title), draw::gantt(&title, &names, &case.outcome.stretches, until)));
    }
    for (name, picture) in pictures {
        let path = folder.join(name).with_extension("svg");
        fs::write(&path, picture.to_svg()).map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}

/// `PREDICTED(q=0.5,tail=0.2) by AR(16)` becomes `predicted-q-0-5-tail-0-2-by-ar-16`.
fn file_name(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn describe(setting: &Setting, n_workers: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let work = &setting.job.work;
    let names: Vec<&str> = setting.traces.iter().map(Trace::name).collect();
    writeln!(
        out,
        "{} units of {} on {n_workers} workers, {} runs, seed {}",
        work.units,
        span(work.cost),
        setting.n_draws,
        setting.seed
    )?;
    writeln!(out, "traces: {}", names.join(", "))?;
    writeln!(
        out,
        "over bound: makespan over the least that is possible, if units could be cut and all were known before; medians of runs\n"
    )
}

fn span(span: Duration) -> String {
    span_ns(span.as_nanos() as f64)
}

fn write_intervals(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\nheld: runs whose makespan lay in the interval that was told at the start, and units whose time lay in theirs;\n\
         width: of that interval beside the forecast, a median\n\n{}",
        interval_table(rows)
    )
}

/// Returns the table of run lengths.
fn table(rows: &[Row]) -> Table {
    let columns = ["makespan", "over bound", "90 %", "beside EQUAL", "idle", "chunks", "moved"];
    let mut table = table_of(&columns);
    for row in rows {
        let beside =
            row.beside_equal.map_or_else(|| "-".to_owned(), |share| format!("{:+.1} %", 100.0 * (share - 1.0)));
        table.row([
            row.policy.clone(),
            row.advisor.clone().unwrap_or_default(),
            span_ns(1e9 * row.makespan),
            format!("{:.3}", row.regret),
            format!("{:.3}", row.regret_90),
            beside,
            percent(row.idle),
            three_digits(row.n_chunks),
            percent(row.moved),
        ]);
    }
    table
}

/// Returns the table of how well intervals held, for forecasts that are not certain.
fn interval_table(rows: &[Row]) -> Table {
    let mut table = table_of(&["80 % held", "width", "95 % held", "width", "units 80 %", "units 95 %"]);
    for row in rows.iter().filter(|row| row.width_80 > 0.0) {
        let if_known = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
        table.row([
            row.policy.clone(),
            row.advisor.clone().unwrap_or_default(),
            percent(row.coverage_80),
            percent(row.width_80),
            percent(row.coverage_95),
            percent(row.width_95),
            if_known(row.units_80),
            if_known(row.units_95),
        ]);
    }
    table
}

/// Builds a table of a policy and its forecaster, and figures in these columns.
fn table_of(figures: &[&'static str]) -> Table {
    let figures = figures.iter().map(|name| (*name, Align::Right));
    Table::new(&[("policy", Align::Left), ("forecasts", Align::Left)].into_iter().chain(figures).collect::<Vec<_>>())
}
