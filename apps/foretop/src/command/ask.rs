//! `foretop ask`: what a signal will be, or how probable something is, in a line or two.

mod sentence;
mod soonest;

use std::io::Write;
use std::time::Duration;

use clap::Args;
use node_api::{self as api, Client, ClientError, ErrorCode, Seasons, moment};
use serde::Serialize;
use text::printable;
use units::{Confidence, Moment, Timestamp};
use warn::{Statement, StatementError};

use command_line::argument::{NodeArgs, TextOrJson, positive_span};
use command_line::near_name::{explain_unknown_signal, explain_unknown_signals};
use command_line::terminal::write_json;
use text::help::examples;

use sentence::{sentence, statement_sentence, worth};
use soonest::soonest;

/// Ask what a signal will be, or how probable an event is
///
/// Beyond the horizon of the signal's own model (an hour, or 600 samples if that is less), the answer comes from a
/// model of daily and weekly seasons, if the node has measured for long enough.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop ask cpu.availability --horizon 30s",
    "foretop ask load.1m --horizon 24h --confidence 0.8 --format json",
    "foretop ask 'cpu.busy > 90%' --within 1h --for 5min",
    "foretop ask 'memory.available < 500MB' --why",
    "foretop ask 'filesystem./.used > 99%' --within 6h",
    "foretop ask 'cpu.user + cpu.system > 90%' --within 6h",
    "foretop ask --soonest",
]))]
pub struct Ask {
    /// The signal (`foretop signals` lists them), or a statement: SIGNAL, max(SIGNAL), min(SIGNAL) or mean(SIGNAL),
    /// then <, <=, > or >= and a number. SIGNAL can be an expression of several signals: `+`, `-` and `/` with spaces
    /// around them, and brackets
    #[arg(
        value_name = "SIGNAL|STATEMENT",
        required_unless_present = "soonest",
        default_value = "",
        hide_default_value = true
    )]
    subject: String,

    /// List what runs out within 14 days, soonest first, on this host and those that the node follows: file systems,
    /// inodes, open files, tasks and tracked connections (95 % used), memory and batteries (5 % left). None is looked
    /// ahead for longer than three times its known past
    #[arg(long, conflicts_with_all = ["subject", "horizon", "confidence", "within", "lasting", "why", "no_season"])]
    soonest: bool,

    /// The horizon [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    horizon: Option<Duration>,

    /// The probability that the prediction interval holds the value, between 0 and 1 [default: 0.95]
    #[arg(long, value_name = "SHARE")]
    confidence: Option<Confidence>,

    /// The time in which the statement may come true [default: 30min]
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    within: Option<Duration>,

    /// The time for which the statement has to hold [default: one value is enough]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_span)]
    lasting: Option<Duration>,

    /// Name the programs that account for the change of the signal, over a past as long as the time ahead but at least
    /// 30 min and at most 6 h
    #[arg(long)]
    why: bool,

    /// Use no seasons, neither days and weeks nor others that were found. (`AUTO`, which forecasts the next minutes,
    /// may use one all the same.)
    #[arg(long)]
    no_season: bool,

    /// The format of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

/// The default horizons: of a forecast, and of a probability.
const HORIZON: Duration = Duration::from_secs(30);
const WITHIN: Duration = Duration::from_secs(1800);

/// The answer: one lead of a forecast, and where it starts from. Specified in docs/formats/cli.md.
#[derive(Debug, PartialEq, Serialize)]
struct Answer {
    id: String,
    unit: String,
    origin: Timestamp,
    time: Timestamp,
    lead_seconds: f64,
    confidence: f64,
    model: String,
    /// The candidates of a model that weighs several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speakers: Vec<api::Weighed>,
    /// Absent where the model has a median instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
    lower: f64,
    upper: f64,
    last: Option<f64>,
    /// The time since which there has been no sample, if that is not just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_sample_since: Option<Timestamp>,
    /// The longest lead at which forecasts have been compared with what came, of a model with days and weeks.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_seconds: Option<f64>,
    /// The length of the past that such a model has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    history_seconds: Option<f64>,
    /// The time over which the value is a mean, if that is more than a sample's.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_over_seconds: Option<f64>,
    /// Seasons beside days and weeks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seasons: Vec<api::Season>,
    scale: api::Scale,
}

/// An answer with its cause.
#[derive(Serialize)]
struct Explained<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    cause: Option<api::ChangeCause>,
}

impl Ask {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let client = self.node.client()?;
        if self.soonest {
            return self.soonest(&client, out);
        }
        // A signal may be called `disk./mnt/1 < 2.used`.
        if Statement::is_one(&self.subject) && client.detail(&self.subject).is_err() {
            self.probability(&client, out)
        } else {
            self.forecast(&client, out)
        }
    }

    fn soonest(&self, client: &Client, out: &mut dyn Write) -> anyhow::Result<()> {
        let list = client.exhaustion()?;
        match self.format {
            TextOrJson::Json => write_json(out, &list)?,
            TextOrJson::Text => write!(out, "{}", soonest(&list))?,
        }
        Ok(())
    }

    fn probability(&self, client: &Client, out: &mut dyn Write) -> anyhow::Result<()> {
        for (flag, is_given) in [("--horizon", self.horizon.is_some()), ("--confidence", self.confidence.is_some())] {
            anyhow::ensure!(!is_given, "{flag} is for a signal; a statement takes --within and --for");
        }
        let answer = client
            .probability(&self.subject, self.within.unwrap_or(WITHIN), self.lasting, self.seasons())
            .map_err(|error| match self.subject.parse::<Statement>() {
                Ok(statement) => explain_unknown_signals(client, statement.of.signals(), error),
                Err(_) => error.into(),
            })?;
        let of = answer.statement.parse::<Statement>()?.of;
        let within = self.within.unwrap_or(WITHIN);
        match self.format {
            TextOrJson::Json => self.write_json(client, &answer, of.signals(), within, out)?,
            TextOrJson::Text => {
                writeln!(out, "{}\n{}", statement_sentence(&answer), worth(&answer))?;
                self.write_cause(client, of.signals(), within, out)?;
                tell_silent(client, of.signals(), out)?;
            }
        }
        Ok(())
    }

    fn forecast(&self, client: &Client, out: &mut dyn Write) -> anyhow::Result<()> {
        for (flag, is_given) in [("--within", self.within.is_some()), ("--for", self.lasting.is_some())] {
            anyhow::ensure!(
                !is_given,
                "{flag} is for a statement such as '{} > 1'; a signal takes --horizon",
                self.subject
            );
        }
        let answer = self.answer(client).map_err(|error| match self.subject.parse::<Statement>() {
            Err(equality @ StatementError::Equality { .. }) if error.code() == Some(ErrorCode::UnknownSeries) => {
                equality.into()
            }
            _ => explain_unknown_signal(client, &self.subject, error),
        })?;
        let horizon = self.horizon.unwrap_or(HORIZON);
        match self.format {
            TextOrJson::Json => self.write_json(client, &answer, std::slice::from_ref(&self.subject), horizon, out)?,
            TextOrJson::Text => {
                writeln!(out, "{}", sentence(&self.subject, &answer))?;
                self.write_cause(client, std::slice::from_ref(&self.subject), horizon, out)?;
                tell_silent(client, std::slice::from_ref(&self.subject), out)?;
            }
        }
        Ok(())
    }

    fn write_json(
        &self,
        client: &Client,
        answer: &impl Serialize,
        signals: &[String],
        ahead: Duration,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        if !self.why {
            return Ok(write_json(out, answer)?);
        }
        Ok(write_json(out, &Explained { answer, cause: cause(client, signals, ahead)?.ok() })?)
    }

    /// Writes who accounts for the change of the signals, or the reason why that is not known.
    fn write_cause(
        &self,
        client: &Client,
        signals: &[String],
        ahead: Duration,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        if self.why {
            let answer = cause(client, signals, ahead)?.map_or_else(|reason| reason, |cause| cause.summary);
            writeln!(out, "Cause: {}", printable(&answer))?;
        }
        Ok(())
    }

    fn seasons(&self) -> Seasons {
        if self.no_season { Seasons::Off } else { Seasons::Learned }
    }

    fn answer(&self, client: &Client) -> Result<Answer, ClientError> {
        let (horizon, confidence) = (self.horizon.unwrap_or(HORIZON), self.confidence.unwrap_or_default());
        let api::Series { near_seconds, last, no_sample_since, .. } = client.detail(&self.subject)?.series;
        let answer = if horizon.as_secs_f64() > near_seconds {
            far_answer(client.outlook(&self.subject, horizon, confidence, self.seasons())?, last)
        } else {
            answer(client.forecast(&self.subject, horizon, confidence)?, last)
        };
        answer.map(|answer| Answer { no_sample_since, ..answer }).ok_or_else(|| ClientError::NotANode {
            url: client.url().clone(),
            reason: "its forecast is empty".to_owned(),
        })
    }
}

/// Returns the cause of the first signal that has one, or the reason why none has.
fn cause(
    client: &Client,
    signals: &[String],
    ahead: Duration,
) -> Result<Result<api::ChangeCause, String>, ClientError> {
    let from = Moment::BeforeNow(warn::look_back(ahead));
    let mut reason = "not known".to_owned();
    for signal in signals {
        match client.cause(signal, from) {
            Ok(cause) => return Ok(Ok(cause)),
            Err(error) if matches!(error.code(), Some(ErrorCode::NotFound | ErrorCode::NotReady)) => {
                reason = format!("not known: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Err(reason))
}

/// Says of each signal since when it has been silent, if that is not just now.
fn tell_silent(client: &Client, signals: &[String], out: &mut dyn Write) -> anyhow::Result<()> {
    for signal in signals {
        if let Some(since) = client.detail(signal)?.series.no_sample_since {
            writeln!(out, "`{}` has had no sample since {since}.", printable(signal))?;
        }
    }
    Ok(())
}

/// `None` when the forecast has no lead at all, or lists of different lengths.
fn answer(forecast: api::Forecast, last: Option<api::LastSample>) -> Option<Answer> {
    let n_leads = forecast.mean.len();
    let idx = n_leads.checked_sub(1)?;
    Some(Answer {
        time: moment(forecast.origin, forecast.step_seconds, n_leads),
        lead_seconds: forecast.step_seconds * n_leads as f64,
        mean: Some(forecast.mean[idx]),
        standard_error: Some(*forecast.standard_error.get(idx)?),
        median: None,
        seen_seconds: None,
        history_seconds: None,
        mean_over_seconds: None,
        lower: *forecast.lower.get(idx)?,
        upper: *forecast.upper.get(idx)?,
        last: last.and_then(|sample| sample.value),
        no_sample_since: None,
        id: forecast.id,
        unit: forecast.unit,
        origin: forecast.origin,
        confidence: forecast.confidence,
        model: forecast.model,
        speakers: forecast.speakers,
        seasons: Vec::new(),
        scale: api::Scale::Linear,
    })
}

/// The same of a forecast of hours or days.
fn far_answer(outlook: api::Outlook, last: Option<api::LastSample>) -> Option<Answer> {
    let n_leads = outlook.median.len();
    let idx = n_leads.checked_sub(1)?;
    Some(Answer {
        time: moment(outlook.origin, outlook.step_seconds, n_leads),
        lead_seconds: outlook.step_seconds * n_leads as f64,
        mean: None,
        standard_error: None,
        median: Some(outlook.median[idx]),
        lower: *outlook.lower.get(idx)?,
        upper: *outlook.upper.get(idx)?,
        last: last.and_then(|sample| sample.value),
        no_sample_since: None,
        seen_seconds: Some(outlook.seen_seconds),
        history_seconds: Some(outlook.history_seconds),
        mean_over_seconds: Some(outlook.step_seconds),
        id: outlook.id,
        unit: outlook.unit,
        origin: outlook.origin,
        confidence: outlook.confidence,
        model: "OUTLOOK".to_owned(),
        speakers: Vec::new(),
        seasons: outlook.seasons,
        scale: outlook.scale,
    })
}
