//! `foretop rules`: what somebody wants to be warned of, tried on what a node has seen.

mod prometheus;
mod watch;

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use node::RulesFile;
use node_api::{self as api, Client, ErrorCode, Seasons};
use predict::Calendar;
use serde::Serialize;
use statistics::median;
use text::{Align, Table, printable};
use units::{Moment, Timestamp, span};
use warn::{Alarm, Expression, Foresight, Frame, History, Question, Rule, Rules, Trial, n_steps};

use crate::argument::{NodeArgs, TableOrJson, positive_span, time_zone};
use crate::failure::OrUsage;
use crate::help::examples;
use crate::history::{Query, Sample};
use crate::near_name::{explain_unknown_signal, explain_unknown_signals};
use crate::terminal::write_json;

/// Try rules for warnings on the past, and watch them
///
/// A rule is a statement, how far ahead to look, and the probability from which on somebody is to be warned:
///
///   [[rule]]
///   name = "memory runs out"
///   when = "memory.available < 500MB"
///   within = "30min"
///   raise = 0.8     # this is the default
///   clear = 0.5     # and this
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = examples(&["foretop rules check rules.toml", "foretop rules test rules.toml --past 7d", "foretop rules watch rules.toml --alertmanager http://localhost:9093"]))]
pub struct RulesCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Check(Check),
    Test(Test),
    Watch(watch::Watch),
    Silence(Silence),
    Prometheus(prometheus::Prometheus),
}

/// Say how probable each rule's statement is now, and whether it would warn
#[derive(Args)]
#[command(after_help = examples(&["foretop rules check rules.toml"]))]
struct Check {
    /// The file of rules
    file: PathBuf,

    /// How to print them
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// Say how often each rule would have warned, how often rightly, and how long ahead
///
/// Each decision is made from what was known at the time.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules test rules.toml --past 7d"]))]
struct Test {
    /// The file of rules
    file: PathBuf,

    /// Over how much of the past, up to now
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = positive_span)]
    past: Duration,

    /// See no season, neither days and weeks nor others
    #[arg(long)]
    no_season: bool,

    /// The time zone of days and weeks, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "NAME", value_parser = time_zone)]
    time_zone: Option<TimeZone>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// Have a node tell nobody of a rule for a while
///
/// The rules are those that the node was started with (`foretop up --rules`). Whoever was warned already hears of the end.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules silence 'memory runs out' --for 2h", "foretop rules silence 'memory runs out' --for 0s"]))]
struct Silence {
    /// The name of the rule
    rule: String,

    /// For how long, at most 30d; 0s ends a silence
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = span::parse)]
    length: Duration,

    #[command(flatten)]
    node: NodeArgs,
}

/// What a rule says now. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Told {
    #[serde(flatten)]
    rule: Rule,
    probability: Option<f64>,
    warns: bool,
    /// Why there is no probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// What a rule would have done. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Tried {
    #[serde(flatten)]
    rule: Rule,
    past_seconds: f64,
    n_warned: usize,
    n_right: usize,
    n_events: usize,
    n_foreseen: usize,
    ahead_median_seconds: Option<f64>,
}

impl RulesCommand {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Check(check) => check.run(out),
            What::Test(test) => test.run(out),
            What::Watch(watch) => watch.run(out),
            What::Silence(silence) => silence.run(out),
            What::Prometheus(prometheus) => prometheus.run(out),
        }
    }
}

impl Check {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = read(&self.file)?;
        let client = self.node.client()?;
        let tell = |rule: &Rule| {
            let (probability, problem) =
                match client.probability(&rule.when.to_string(), rule.within, rule.lasting, Seasons::Learned) {
                    Ok(answer) => (Some(answer.probability), None),
                    // The others may have an answer all the same.
                    Err(error) if error.code() == Some(ErrorCode::NotReady) => (None, Some(error.to_string())),
                    Err(error) => {
                        let error = explain_unknown_signals(&client, rule.when.of.signals(), error);
                        return Err(error).with_context(|| of_rule(rule));
                    }
                };
            let warns = probability.is_some_and(|probability| probability >= rule.raise);
            Ok(Told { rule: rule.clone(), probability, warns, problem })
        };
        let told = rules.rules().iter().map(tell).collect::<anyhow::Result<Vec<_>>>()?;
        match self.format {
            TableOrJson::Json => write_json(out, &told)?,
            TableOrJson::Table => {
                let mut table = Table::new(&[
                    ("RULE", Align::Left),
                    ("WHEN", Align::Left),
                    ("WITHIN", Align::Right),
                    ("NOW", Align::Right),
                    ("WARNS", Align::Left),
                ]);
                for Told { rule, probability, warns, problem } in &told {
                    let from = || format!("from {:.0} % on", 100.0 * rule.raise);
                    table.row([
                        printable(&rule.name),
                        printable(&rule.when.to_string()),
                        span::format(rule.within),
                        probability.map_or_else(|| "-".to_owned(), |known| format!("{:.0} %", 100.0 * known)),
                        if *warns { "yes".to_owned() } else { problem.as_deref().map_or_else(from, printable) },
                    ]);
                }
                write!(out, "{table}")?;
            }
        }
        Ok(())
    }
}

impl Silence {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let warning = self.node.client()?.silence(&self.rule, self.length)?;
        let name = printable(&warning.name);
        match warning.silent_until {
            Some(until) => writeln!(out, "{name} is silent until {until}")?,
            None => writeln!(out, "{name} is not silent")?,
        }
        Ok(())
    }
}

impl Test {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = read(&self.file)?;
        let client = self.node.client()?;
        let tried = rules
            .rules()
            .iter()
            .map(|rule| self.try_rule(&client, rule).with_context(|| of_rule(rule)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        match self.format {
            TableOrJson::Json => write_json(out, &tried)?,
            TableOrJson::Table => {
                let mut table = Table::new(&[
                    ("RULE", Align::Left),
                    ("OVER", Align::Right),
                    ("WARNED", Align::Right),
                    ("RIGHTLY", Align::Right),
                    ("IT CAME", Align::Right),
                    ("FORESEEN", Align::Right),
                    ("AHEAD (MEDIAN)", Align::Right),
                ]);
                for one in &tried {
                    table.row([
                        printable(&one.rule.name),
                        length(one.past_seconds),
                        one.n_warned.to_string(),
                        one.n_right.to_string(),
                        one.n_events.to_string(),
                        one.n_foreseen.to_string(),
                        one.ahead_median_seconds.map_or_else(|| "-".to_owned(), length),
                    ]);
                }
                write!(out, "{table}")?;
            }
        }
        Ok(())
    }

    fn try_rule(&self, client: &Client, rule: &Rule) -> anyhow::Result<Tried> {
        let signals = rule.when.of.signals();
        let detail = |signal: &String| {
            client
                .detail(signal)
                .map(|detail| detail.series)
                .map_err(|error| explain_unknown_signal(client, signal, error))
        };
        let series = signals.iter().map(detail).collect::<anyhow::Result<Vec<_>>>()?;
        let own = series.iter().map(|series| series.step_seconds).fold(0.0, f64::max);
        let step = warn::step(Duration::try_from_secs_f64(own)?, rule.within);
        let Past { start, step, samples } = Past::ask(client, &rule.when.of, step)?;
        let units: Vec<&str> = series.iter().map(|series| &*series.unit).collect();
        let question = Question::of(&rule.when, &rule.when.of.unit(&units)?, rule.within, rule.lasting, step)?;
        let n_tried = usize::try_from(n_steps(self.past, step)).unwrap_or(usize::MAX);
        let zone = self.time_zone.clone().unwrap_or_else(TimeZone::system);
        let calendar = Some(Calendar::new(zone, BTreeSet::new())).filter(|_| !self.no_season);
        let outlook = |series: &api::Series| {
            let range = (series.range.min.unwrap_or(f64::NEG_INFINITY), series.range.max.unwrap_or(f64::INFINITY));
            Frame { start, step, range, calendar: calendar.as_ref() }.outlook(question.n_leads)
        };
        let foresight = Foresight::new(rule.when.of.clone(), series.iter().map(outlook).collect());
        let history = History { samples: &samples, foresight };
        let alarm = Alarm::new(rule.raise, rule.clear);
        let trial = warn::trial(history, &question, alarm, samples[0].len().saturating_sub(n_tried), SEED);
        Ok(tried(rule, &trial, step))
    }
}

/// What a node knows of signals in steps of the same length over the time in which it knows all.
struct Past {
    start: Timestamp,
    step: Duration,
    samples: Vec<Vec<f64>>,
}

impl Past {
    /// In such steps, or in longer ones where the node has nothing finer or its steps begin at other moments.
    fn ask(client: &Client, of: &Expression, mut step: Duration) -> anyhow::Result<Self> {
        loop {
            if let Some(past) = Self::in_steps(client, of.signals(), step)? {
                return Ok(past);
            }
            step = warn::longer(step).with_context(|| {
                format!("there are no steps in which the node has all signals of `{of}` at the same time")
            })?;
        }
    }

    fn in_steps(client: &Client, signals: &[String], step: Duration) -> anyhow::Result<Option<Self>> {
        let ask = |signal: &String| {
            let (_, pages) =
                Query { signal, from: Moment::BeforeNow(warn::past(step)), to: None, step: Some(step) }.ask(client)?;
            let samples: Vec<Sample> = pages.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
            anyhow::ensure!(!samples.is_empty(), "there is no sample of `{signal}` yet");
            Ok(samples)
        };
        let all = signals.iter().map(ask).collect::<anyhow::Result<Vec<_>>>()?;
        let of =
            |samples: &Vec<Sample>| samples.get(1).map_or(step, |second| second.time.saturating_since(samples[0].time));
        let step = of(&all[0]);
        let known: Vec<_> = all.iter().map(|samples| (samples[0].time, samples.len())).collect();
        let found = warn::in_common(&known, step).filter(|_| all.iter().all(|samples| of(samples) == step));
        Ok(found.map(|(start, ranges)| {
            let values = |(samples, range): (&Vec<Sample>, Range<usize>)| {
                samples[range].iter().map(|sample| sample.value.unwrap_or(f64::NAN)).collect()
            };
            Self { start, step, samples: all.iter().zip(ranges).map(values).collect() }
        }))
    }
}

/// Paths are drawn from this: a trial comes to the same each time.
const SEED: u64 = 1;

fn tried(rule: &Rule, trial: &Trial, step: Duration) -> Tried {
    let seconds = |n_steps: f64| n_steps * step.as_secs_f64();
    let leads: Vec<f64> = trial.leads.iter().map(|lead| *lead as f64).collect();
    Tried {
        rule: rule.clone(),
        past_seconds: seconds(trial.n_steps as f64),
        n_warned: trial.n_warned,
        n_right: trial.n_right,
        n_events: trial.n_events,
        n_foreseen: leads.len(),
        ahead_median_seconds: median(&leads).map(seconds),
    }
}

fn read(file: &Path) -> anyhow::Result<Rules> {
    Ok(RulesFile::open(file).or_usage()?.rules().clone())
}

fn of_rule(rule: &Rule) -> String {
    printable(&format!("rule `{}`", rule.name))
}

fn length(seconds: f64) -> String {
    span::format(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
