//! `foretop rules`: what somebody wants to be warned of, tried on what a node has seen.

mod acknowledge;
mod prometheus;
mod trial;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use node::RulesFile;
use node_api::{self as api, Client, ClientError, ErrorCode, RuleText, RuleTrial, Seasons, TriedRule};
use program::Progress;
use serde::Serialize;
use text::{Align, Table, printable};
use units::span;
use warn::{Rule, Rules};

use command_line::argument::{NodeArgs, TableOrJson, positive_span};
use command_line::failure::OrUsage;
use command_line::near_name::explain_unknown_signals;
use command_line::terminal::{say, write_json};
use text::help::examples;

/// So many rules are answered before anybody wonders.
const N_AT_ONCE: usize = 10;

/// Try rules for warnings on the past, and watch them
///
/// A rule is a statement, a horizon, and the probability that raises a warning:
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
    Acknowledge(acknowledge::Acknowledge),
    Try(trial::Try),
    Prometheus(prometheus::Prometheus),
}

/// Show the probability of each rule's statement now, and whether it would warn
#[derive(Args)]
#[command(after_help = examples(&["foretop rules check rules.toml"]))]
struct Check {
    /// The file of rules
    file: PathBuf,

    /// The format of the output
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// Show how often each rule would have warned, how often rightly, and with what lead
///
/// Each decision uses only what was known at the time. Days and weeks are those of the node's time zone. Quiet hours
/// make no difference.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules test rules.toml --past 7d"]))]
struct Test {
    /// The file of rules
    file: PathBuf,

    /// The length of the past to try the rules on, up to now
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = positive_span)]
    past: Duration,

    /// Use no seasons, neither days and weeks nor others
    #[arg(long)]
    no_season: bool,

    /// The format of the output
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// Silence a rule for a while
///
/// The rule is one that the node was started with (`foretop up --rules`) or one that was made on its page. Recipients
/// who were already warned are notified when the warning ends.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules silence 'memory runs out' --for 2h", "foretop rules silence 'memory runs out' --for 0s"]))]
struct Silence {
    /// The name of the rule
    rule: String,

    /// The length of the silence, at most 30d; 0s ends a silence
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = span::parse)]
    length: Duration,

    #[command(flatten)]
    node: NodeArgs,
}

/// The reason why a rule has no answer.
#[derive(Debug, PartialEq, Serialize)]
#[serde(transparent)]
struct Problem {
    text: String,
    /// Whether the rule is wrong, rather than its series too young.
    #[serde(skip)]
    is_wrong: bool,
}

impl Problem {
    fn shown(&self) -> String {
        printable(&self.text)
    }
}

/// The answer to a rule now. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Told {
    #[serde(flatten)]
    rule: Rule,
    probability: Option<f64>,
    warns: bool,
    /// The reason why there is no probability, or none to warn by.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// The warnings that a rule would have given. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Tried {
    #[serde(flatten)]
    rule: Rule,
    #[serde(flatten)]
    tried: Option<TriedRule>,
    /// The reason why they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

impl RulesCommand {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.what {
            What::Check(check) => check.run(out),
            What::Test(test) => test.run(out),
            What::Watch(watch) => watch.run(out),
            What::Silence(silence) => silence.run(out),
            What::Acknowledge(acknowledge) => acknowledge.run(out),
            What::Try(trial) => trial.run(out),
            What::Prometheus(prometheus) => prometheus.run(out),
        }
    }
}

impl Check {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = read(&self.file)?;
        let client = self.node.client()?;
        let tell = |rule: &Rule| {
            let asked = client.probability(&rule.when.to_string(), rule.within, rule.lasting, Seasons::Learned);
            let (answer, problem) = answer(&client, rule, asked)?;
            let problem = problem.or(answer.as_ref().and_then(|answer| no_reason(rule, answer)));
            let probability = answer.map(|answer| answer.probability);
            let warns = problem.is_none() && probability.is_some_and(|probability| probability >= rule.raise);
            Ok(Told { rule: rule.clone(), probability, warns, problem })
        };
        let (told, ended) = of_each(&rules, "rules checked", tell)?;
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
                        if *warns { "yes".to_owned() } else { problem.as_ref().map_or_else(from, Problem::shown) },
                    ]);
                }
                write!(out, "{table}")?;
            }
        }
        out.flush()?;
        ended?;
        all_make_sense(told.iter().map(|told| &told.problem))
    }
}

impl Silence {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let warning = self.node.client()?.silence(&self.rule, self.length)?;
        let name = printable(&warning.name);
        match warning.silent_until {
            Some(until) => writeln!(out, "{name} is silent until {}", until.floor_to(Duration::from_secs(1)))?,
            None => writeln!(out, "{name} is not silent")?,
        }
        Ok(())
    }
}

impl Test {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = read(&self.file)?;
        let client = self.node.client()?;
        let (tried, ended) = of_each(&rules, "rules tried", |rule| self.try_rule(&client, rule))?;
        match self.format {
            TableOrJson::Json => write_json(out, &tried)?,
            TableOrJson::Table => {
                let mut table = Table::new(&[
                    ("RULE", Align::Left),
                    ("OVER", Align::Right),
                    ("WARNED", Align::Right),
                    ("RIGHTLY", Align::Right),
                    ("TOO LATE", Align::Right),
                    ("IT CAME", Align::Right),
                    ("FORESEEN", Align::Right),
                    ("AHEAD (MEDIAN)", Align::Right),
                    ("", Align::Left),
                ]);
                for Tried { rule, tried, problem } in &tried {
                    let n = |count: fn(&TriedRule) -> usize| {
                        tried.as_ref().map_or_else(|| "-".to_owned(), |tried| count(tried).to_string())
                    };
                    let ahead = tried.as_ref().and_then(|tried| tried.ahead_median_seconds);
                    table.row([
                        printable(&rule.name),
                        tried.as_ref().map_or_else(|| "-".to_owned(), |tried| length(tried.past_seconds)),
                        n(|tried| tried.n_warned),
                        n(|tried| tried.n_right),
                        n(|tried| tried.n_late),
                        n(|tried| tried.n_events),
                        n(|tried| tried.n_foreseen),
                        ahead.map_or_else(|| "-".to_owned(), length),
                        problem.as_ref().map_or_else(String::new, Problem::shown),
                    ]);
                }
                write!(out, "{table}")?;
            }
        }
        out.flush()?;
        say_quiet_is_ignored(&rules, "the figures include warnings at these hours");
        ended?;
        all_make_sense(tried.iter().map(|tried| &tried.problem))
    }

    fn try_rule(&self, client: &Client, rule: &Rule) -> anyhow::Result<Tried> {
        let trial = RuleTrial {
            rule: RuleText {
                when: rule.when.to_string(),
                within: span::format(rule.within),
                lasting: rule.lasting.map(span::format),
                raise: Some(rule.raise),
                clear: Some(rule.clear),
                quiet: Vec::new(),
            },
            past: Some(span::format(self.past)),
            season: self.no_season.then_some(false),
        };
        let (tried, problem) = answer(client, rule, client.try_rule(&trial))?;
        Ok(Tried { rule: rule.clone(), tried, problem })
    }
}

fn read(file: &Path) -> anyhow::Result<Rules> {
    Ok(RulesFile::open(file).or_usage()?.rules().clone())
}

/// Says what it means that a command ignores quiet hours, if a rule has some.
fn say_quiet_is_ignored(rules: &Rules, meaning: &str) {
    let n = rules.rules().iter().filter(|rule| !rule.quiet.is_empty()).count();
    if n > 0 {
        say(&format!("quiet hours of {n} of {} rules are ignored: {meaning}", rules.rules().len()));
    }
}

/// Asks for each rule by itself, and says how far it is where that may take a while. A node that goes meanwhile ends
/// it; what it has said until then comes with the error.
fn of_each<T>(
    rules: &Rules,
    what: &str,
    ask: impl Fn(&Rule) -> anyhow::Result<T>,
) -> anyhow::Result<(Vec<T>, anyhow::Result<()>)> {
    let total = rules.rules().len();
    let mut progress = (total > N_AT_ONCE).then(Progress::start);
    let mut answers = Vec::with_capacity(total);
    for (done, rule) in rules.rules().iter().enumerate() {
        if let Some(line) =
            progress.as_mut().and_then(|progress| progress.line(clock::instant(), what, done as u64, total as u64))
        {
            say(&line);
        }
        match ask(rule) {
            Ok(answer) => answers.push(answer),
            Err(error) if answers.is_empty() => return Err(error),
            Err(error) => return Ok((answers, Err(error))),
        }
    }
    Ok((answers, Ok(())))
}

/// Returns a node's answer to a rule, or the problem instead of an answer: there may be answers to the other rules all
/// the same.
fn answer<T>(
    client: &Client,
    rule: &Rule,
    asked: Result<T, ClientError>,
) -> anyhow::Result<(Option<T>, Option<Problem>)> {
    let problem = |text: String, is_wrong| Ok((None, Some(Problem { text, is_wrong })));
    match asked {
        Ok(answer) => Ok((Some(answer), None)),
        Err(error) => match error.code() {
            Some(ErrorCode::NotReady) => problem(error.to_string(), false),
            Some(ErrorCode::UnknownSeries | ErrorCode::BadParameter | ErrorCode::BadBody) => {
                problem(explain_unknown_signals(client, rule.when.of.signals(), error).to_string(), true)
            }
            _ => Err(error).with_context(|| of_rule(rule)),
        },
    }
}

/// Returns the reason why an answer is no reason to warn: it is from long ago, or from next to nothing.
fn no_reason(rule: &Rule, answer: &api::Probability) -> Option<Problem> {
    let known = Duration::try_from_secs_f64(answer.history_seconds).unwrap_or_default();
    let text = stale(answer).or_else(|| rule.too_young(known))?;
    Some(Problem { text, is_wrong: false })
}

/// `no sample since 2026-11-27T10:00:00Z`.
fn stale(answer: &api::Probability) -> Option<String> {
    answer.no_sample_since.map(|since| format!("no sample since {since}"))
}

/// Fails where a rule is wrong as it is written.
fn all_make_sense<'a>(problems: impl ExactSizeIterator<Item = &'a Option<Problem>>) -> anyhow::Result<()> {
    let n_rules = problems.len();
    let n_wrong = problems.flatten().filter(|problem| problem.is_wrong).count();
    ensure!(n_wrong == 0, "{n_wrong} of {n_rules} rules have no answer as they are written");
    Ok(())
}

fn of_rule(rule: &Rule) -> String {
    printable(&format!("rule `{}`", rule.name))
}

fn length(seconds: f64) -> String {
    span::format(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
