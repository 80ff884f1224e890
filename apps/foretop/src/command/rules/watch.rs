//! `foretop rules watch`: asks a node again and again, and tells who is to be warned.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use http_client::{Address, RequestError, Trust, agent};
use node_api::{self as api, Client, ClientError};
use serde::Serialize;
use text::printable;
use units::{Timestamp, span};
use warn::{Alarm, Rule};

use crate::argument::{NodeArgs, positive_span};
use crate::help::examples;
use crate::interruption::interruptions;
use crate::terminal::say;

/// How long Alertmanager may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A warning that is not renewed for so many rounds is over for Alertmanager, as when this program is gone.
const ROUNDS_KEPT: u32 = 5;

/// Warnings that were taken back and could not be told, at most; the oldest are given up first.
const N_UNTOLD_MAX: usize = 10_000;

/// Ask a node again and again, and tell when a warning is raised or taken back
///
/// Each change is a line on standard output. With --alertmanager, warnings that stand are sent there in every round, and those that
/// were taken back once, as soon as it answers.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop rules watch rules.toml",
    "foretop rules watch rules.toml --alertmanager http://localhost:9093 --node http://db1:7311",
]))]
pub struct Watch {
    /// The file of rules
    file: PathBuf,

    /// Where Prometheus Alertmanager is; its API v2 is used
    #[arg(long, value_name = "URL")]
    alertmanager: Option<Address>,

    /// Time between two rounds
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = positive_span)]
    every: Duration,

    #[command(flatten)]
    node: NodeArgs,
}

/// A rule that is watched.
struct Watched {
    rule: Rule,
    alarm: Alarm,
    since: Timestamp,
    /// Whether the last question had no answer.
    is_mute: bool,
}

/// As Alertmanager's API v2 has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Alert {
    labels: Labels,
    annotations: Annotations,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Labels {
    alertname: String,
    host: String,
    series: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Annotations {
    summary: String,
    probability: String,
    /// When the last value was measured.
    origin: String,
}

impl Watch {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = super::read(&self.file)?;
        let client = self.node.client()?;
        let host = client.list()?.node.host;
        let interruptions = interruptions()?;
        let watch = |rule: &Rule| Watched {
            alarm: Alarm::new(rule.raise, rule.clear),
            rule: rule.clone(),
            since: clock::now(),
            is_mute: false,
        };
        let mut watched: Vec<Watched> = rules.rules().iter().map(watch).collect();
        let mut untold: Vec<Alert> = Vec::new();
        let mut is_told = true;
        loop {
            let mut standing = Vec::new();
            for one in &mut watched {
                let (alert, stands) = self.ask(one, &client, &host, out)?;
                let list = if stands { &mut standing } else { &mut untold };
                list.extend(alert);
            }
            untold.drain(..untold.len().saturating_sub(N_UNTOLD_MAX));
            if let Some(server) = &self.alertmanager {
                let alerts: Vec<&Alert> = untold.iter().chain(&standing).collect();
                match if alerts.is_empty() { Ok(()) } else { tell(server, &alerts) } {
                    Ok(()) => {
                        untold.clear();
                        is_told = true;
                    }
                    // Once, and not in every round.
                    Err(error) if std::mem::take(&mut is_told) => say(&format!("warnings cannot be sent: {error:#}")),
                    Err(_) => {}
                }
            } else {
                untold.clear();
            }
            match interruptions.recv_timeout(self.every) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Asks about a rule and says what has changed. Gives its warning if it stands, and if it has just been taken back.
    fn ask(
        &self,
        watched: &mut Watched,
        client: &Client,
        host: &str,
        out: &mut dyn Write,
    ) -> anyhow::Result<(Option<Alert>, bool)> {
        let Watched { rule, alarm, since, is_mute } = watched;
        let answer = match client.probability(&rule.when.to_string(), rule.within, rule.lasting) {
            Ok(answer) => answer,
            Err(error) => {
                // A rule that cannot be asked stays as it was, and ends at Alertmanager if that lasts.
                if !std::mem::replace(is_mute, true) {
                    say(&printable(&format!("rule `{}` has no answer: {error}", rule.name)));
                }
                return refused(error).map(|()| (None, alarm.stands()));
            }
        };
        *is_mute = false;
        let now = clock::now();
        let change = alarm.hear(answer.probability);
        if let Some(raised) = change {
            if raised {
                *since = now;
            }
            let what = if raised { "WARNING" } else { "over" };
            writeln!(out, "{now} {what} {}: {}", printable(&rule.name), printable(&summary(rule, &answer)))?;
            out.flush()?;
        }
        let stands = alarm.stands();
        if !stands && change.is_none() {
            return Ok((None, false));
        }
        let ends_at = if stands { now + self.every.saturating_mul(ROUNDS_KEPT) } else { now };
        let alert = Alert {
            labels: Labels { alertname: rule.name.clone(), host: host.to_owned(), series: answer.id.clone() },
            annotations: Annotations {
                summary: summary(rule, &answer),
                probability: format!("{:.3}", answer.probability),
                origin: answer.origin.to_string(),
            },
            starts_at: since.to_string(),
            ends_at: ends_at.to_string(),
            generator_url: client.url().to_string(),
        };
        Ok((Some(alert), stands))
    }
}

/// An error that another round cannot mend ends the command.
fn refused(error: ClientError) -> anyhow::Result<()> {
    match error.code() {
        Some(api::ErrorCode::BadParameter | api::ErrorCode::Unauthorized) => Err(error.into()),
        _ => Ok(()),
    }
}

/// `memory.available < 500MB within 30m: 85 %`.
fn summary(rule: &Rule, answer: &api::Probability) -> String {
    let lasting = rule.lasting.map_or_else(String::new, |lasting| format!(" for {}", span::format(lasting)));
    let within = span::format(rule.within);
    format!("{}{lasting} within {within}: {:.0} %", answer.statement, 100.0 * answer.probability)
}

fn tell(server: &Address, alerts: &[&Alert]) -> anyhow::Result<()> {
    let body = serde_json::to_vec(alerts).context("warnings are no JSON")?;
    let address = server.join("/api/v2/alerts");
    let answer = agent(TIMEOUT, "application/json", &address, &Trust::System)
        .post(address.uri())
        .header("Content-Type", "application/json")
        .send(&body[..])
        .map_err(|error| anyhow::Error::from(RequestError::Client(Box::new(error))))
        .with_context(|| format!("{} does not answer", server.host_and_port()))?;
    let status = answer.status();
    anyhow::ensure!(status.is_success(), "{} answered {status}", server.host_and_port());
    Ok(())
}
