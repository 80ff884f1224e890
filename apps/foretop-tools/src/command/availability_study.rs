//! `foretop availability-study`: how right sensors and forecasts of CPU availability are on this host.

mod progress;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use availability_study::{BUSY_MAX, End, Format, Length, Programs, Record, Report, Settings, Study, StudyError};
use clap::{Args, Subcommand, ValueEnum};
use progress::Progress;
use units::span;

use super::internal::{load_worker, study_test};
use command_line::failure::OrUsage;
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// Time for which the host is looked at before anything is started.
const LOOK: Duration = Duration::from_secs(3);

/// Measure how accurate CPU availability forecasts are here
///
/// Test processes run under generated loads, and the CPU time that they get is compared with sensors and forecasts.
/// This repeats the study of Wolski, Spring and Hayes on this host. The full study takes a day; --for limits its time,
/// and --quick rehearses it in minutes. All results are in the folder's journal: the same command resumes a stopped
/// study, and `report` prints its tables at any time.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = examples(&[
    "foretop availability-study --quick",
    "foretop availability-study --for 75min --dir study --format markdown --out study.md",
    "foretop availability-study --scenario idle --scenario bursty --for 30min",
    "foretop availability-study report study --format csv",
]))]
pub struct AvailabilityStudy {
    #[command(subcommand)]
    report: Option<Part>,

    #[command(flatten)]
    make: Make,
}

#[derive(Subcommand)]
enum Part {
    Report(ReportOf),
}

/// Print the tables of a study's results so far
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop availability-study report study --format markdown",
    "foretop availability-study report study --series readings --plots figures",
    "foretop availability-study report monday tuesday",
]))]
struct ReportOf {
    /// Folder of the study; several studies with the same settings, on hosts with as many cores, are joined
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,

    /// Also write the readings of each visit into this folder, as CSV for `foretop analyze`
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,

    /// Also draw each scenario into this folder: readings, correlations, pox plots and averages, as SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,

    #[command(flatten)]
    paper: Paper,
}

/// The format of a report, and its file.
#[derive(Args)]
struct Paper {
    /// The format of the tables
    #[arg(long, value_enum, default_value = "text")]
    format: FormatName,

    /// Write the tables to this file
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum FormatName {
    /// Tables for terminals.
    Text,
    /// Markdown for documents.
    Markdown,
    /// CSV for programs; see docs/formats/cli.md.
    Csv,
    /// JSON for programs, as one object; see docs/formats/cli.md.
    Json,
}

#[derive(Args)]
struct Make {
    /// Folder of the study's journal
    #[arg(long, value_name = "PATH", default_value = "availability-study")]
    dir: PathBuf,

    /// Rehearse in minutes, with tests of 1s and 4s; the figures have little meaning
    #[arg(long)]
    quick: bool,

    /// A load to study under; may be repeated [default: all of them]
    #[arg(long = "scenario", value_name = "NAME")]
    scenarios: Vec<String>,

    /// The time limit of the whole study [default: 24h]
    #[arg(long = "for", value_name = "TIME", value_parser = span::parse)]
    total: Option<Duration>,

    /// The target time of one visit to a scenario; it sets the number of rounds [default: 20min]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    visit: Option<Duration>,

    /// The number of visits to each scenario
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with = "visit")]
    rounds: Option<u32>,

    /// The length of a short test [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    short: Option<Duration>,

    /// The length of a long test [default: 5min]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    long: Option<Duration>,

    /// Share of the time for long tests [default: 0.3]
    #[arg(long, value_name = "SHARE")]
    long_share: Option<f64>,

    /// The time that a load runs before the first test [default: 75s]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    warm_up: Option<Duration>,

    /// Minimum time between two tests [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    rest: Option<Duration>,

    /// Seed for loads and demands [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    paper: Paper,
}

impl AvailabilityStudy {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.report {
            Some(Part::Report(report)) => report.run(out),
            None => self.make.run(out),
        }
    }
}

impl ReportOf {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let record = Record::read_all(&self.dirs)?;
        if let Some(dir) = &self.series {
            write_all(dir, record.series_files())?;
        }
        if let Some(dir) = &self.plots {
            let drawn = record.pictures().into_iter();
            write_all(dir, drawn.map(|(name, picture)| (format!("{name}.svg"), picture.to_svg())).collect())?;
        }
        self.paper.print(&record, out)
    }
}

fn write_all(dir: &Path, files: Vec<(String, String)>) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create the folder `{}`", dir.display()))?;
    files.into_iter().try_for_each(|(name, text)| {
        // A journal may come from anywhere, and names of its scenarios lead nowhere else.
        let path = dir.join(name.replace('/', "-"));
        std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
    })
}

impl Make {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = self.settings();
        settings.check().or_usage()?;
        let programs = programs()?;
        let interrupted = interruptions()?;
        let busy_share = availability_study::busy_share(LOOK)?;
        let opened = Study::open(&self.dir, settings.clone(), programs, busy_share);
        let study = match opened {
            Err(error @ (StudyError::Settings(_) | StudyError::OtherSettings { .. })) => return Err(error).or_usage(),
            opened => opened?,
        };
        announce(&study, &settings, &self.dir, busy_share);
        let mut progress = Progress::new(study.left());
        let end = study.run(&interrupted, &mut |event| progress.show(event))?;
        drop(progress);
        if end == End::Interrupted {
            say("stopped; run the same command to resume");
        }
        self.paper.print(&Record::read(&self.dir)?, out)
    }

    fn settings(&self) -> Settings {
        let defaults = if self.quick { Settings::quick() } else { Settings::full() };
        let scenarios = if self.scenarios.is_empty() { defaults.scenarios } else { self.scenarios.clone() };
        let long = self.long.unwrap_or(defaults.long);
        Settings {
            scenarios,
            seed: self.seed.unwrap_or(defaults.seed),
            total: self.total.unwrap_or(defaults.total),
            visit: self.visit.unwrap_or(defaults.visit),
            rounds: self.rounds,
            short: self.short.unwrap_or(defaults.short),
            long,
            // The series that long tests are compared with is averaged over as long as they take.
            average: long,
            long_share: self.long_share.unwrap_or(defaults.long_share),
            warm_up: self.warm_up.unwrap_or(defaults.warm_up),
            rest: self.rest.unwrap_or(defaults.rest),
            ..defaults
        }
    }
}

impl Paper {
    fn print(&self, record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
        let report = Report::new(record);
        let format = match self.format {
            FormatName::Text => Format::Text,
            FormatName::Markdown => Format::Markdown,
            FormatName::Csv => Format::Csv,
            FormatName::Json => Format::Json,
        };
        let Some(path) = &self.out else { return Ok(report.write(format, out)?) };
        write_file(&report, format, path).with_context(|| format!("cannot write `{}`", path.display()))
    }
}

fn write_file(report: &Report, format: Format, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    report.write(format, &mut file)?;
    file.flush()
}

/// Returns this very program as loads and tests.
fn programs() -> anyhow::Result<Programs> {
    Ok(Programs { worker: load_worker::worker()?, test: study_test::test()? })
}

/// Announces the plan of the study, and what speaks against it.
fn announce(study: &Study, settings: &Settings, dir: &Path, busy_share: f64) {
    let plan = study.plan();
    let rounds = if plan.n_rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", plan.n_rounds) };
    let end = (clock::now() + study.left()).floor_to(Duration::from_secs(1));
    let n_scenarios = settings.scenarios.len();
    say(&format!(
        "{n_scenarios} {} in {rounds}: {} tests of {} and {} of {}, in {}; ends at {end}; journal in {}",
        if n_scenarios == 1 { "scenario" } else { "scenarios" },
        plan.n_tests(Length::Short),
        span::format(settings.short),
        plan.n_tests(Length::Long),
        span::format(settings.long),
        span::format(whole_seconds(study.left())),
        dir.display()
    ));
    if study.was_torn() {
        say("the last line of the journal was torn, and is dropped");
    }
    if busy_share > BUSY_MAX {
        say(&format!(
            "warning: this host is busy to {:.0} % with other things, which will be in all figures",
            100.0 * busy_share
        ));
    }
}

fn whole_seconds(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs())
}
