//! `foretop rules watch`: asks a node again and again, and tells who is to be warned.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use alert::{Alert, Post, Server, Way};
use anyhow::Context;
use clap::Args;
use http_client::{Address, Login, Trust};
use node_api::{self as api, Client, ClientError, Seasons};
use text::printable;
use units::Timestamp;
use warn::{Alarm, Rule};

use command_line::argument::{NodeArgs, positive_span};
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// Ask a node repeatedly, and report each warning that is raised or cleared
///
/// Each change is a line on standard output. With --alertmanager, warnings that fire are sent there in every round, and
/// cleared ones once, as soon as it answers. Quiet hours make no difference.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop rules watch rules.toml",
    "foretop rules watch rules.toml --alertmanager http://localhost:9093 --node http://db1:7311",
]))]
pub struct Watch {
    /// The file of rules
    file: PathBuf,

    /// The address of Prometheus Alertmanager; its API v2 is used
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

impl Watch {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = super::read(&self.file)?;
        let client = self.node.client()?;
        let host = client.list()?.node.host;
        super::say_quiet_is_ignored(&rules, "warnings are reported at these hours too");
        let interruptions = interruptions()?;
        let watch = |rule: &Rule| Watched {
            alarm: Alarm::new(rule.raise, rule.clear),
            rule: rule.clone(),
            since: clock::now(),
            is_mute: false,
        };
        let mut watched: Vec<Watched> = rules.rules().iter().map(watch).collect();
        let post = self.alertmanager.clone().map(|address| {
            let way = Way::Alertmanager(Server { address, login: Login::None, trust: Trust::System });
            Post::start("alertmanager", way, Vec::new(), self.every, &::watch::Watch::default())
        });
        let post = post.transpose().context("cannot start a thread")?;
        let mut problem = None;
        loop {
            let (mut standing, mut changes) = (Vec::new(), Vec::new());
            for one in &mut watched {
                let (alert, has_changed) = self.ask(one, &client, &host, out)?;
                changes.extend(alert.clone().filter(|_| has_changed));
                standing.extend(alert.filter(|alert| alert.stands));
            }
            if let Some(post) = &post {
                // Of the round before; the answer to this one comes later.
                let status = post.status();
                if problem.is_none()
                    && let Some(problem) = &status.problem
                {
                    // Once, and not in every round.
                    say(&format!("warnings cannot be sent: {problem}"));
                }
                problem = status.problem;
                post.put(&changes, &standing);
            }
            match interruptions.recv_timeout(self.every) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Asks about a rule, says what has changed, and gives its warning if it stands or has just been taken back, and
    /// whether that is new.
    fn ask(
        &self,
        watched: &mut Watched,
        client: &Client,
        host: &str,
        out: &mut dyn Write,
    ) -> anyhow::Result<(Option<Alert>, bool)> {
        let Watched { rule, alarm, since, is_mute } = watched;
        let answer = match client.probability(&rule.when.to_string(), rule.within, rule.lasting, Seasons::Learned) {
            Ok(answer) => answer,
            Err(error) => {
                // A rule that cannot be asked stays as it was, and ends at Alertmanager if that lasts.
                if !std::mem::replace(is_mute, true) {
                    say(&printable(&format!("rule `{}` has no answer: {error}", rule.name)));
                }
                return refused(error).map(|()| (None, false));
            }
        };
        *is_mute = false;
        let at = clock::now();
        let counts = alarm.is_raised() || super::no_reason(rule, &answer).is_none();
        let change = if counts { alarm.update(answer.probability) } else { None };
        if change == Some(true) {
            *since = at;
        }
        let says = [Some(rule.says(answer.probability)), super::stale(&answer)];
        let alert = Alert {
            rule: rule.name.clone(),
            host: host.to_owned(),
            series: answer.id,
            summary: says.into_iter().flatten().collect::<Vec<_>>().join("; "),
            probability: answer.probability,
            stands: alarm.is_raised(),
            repeated: false,
            escalated: false,
            since: *since,
            at,
            origin: answer.origin,
            cause: None,
            culprit: None,
            url: client.url().to_string(),
            acknowledge_url: String::new(),
            picture_url: String::new(),
            png: None,
        };
        if change.is_some() {
            writeln!(out, "{at} {}", printable(&alert.to_string()))?;
            out.flush()?;
        }
        Ok((Some(alert).filter(|alert| alert.stands || change.is_some()), change.is_some()))
    }
}

/// An error that another round cannot mend ends the command.
fn refused(error: ClientError) -> anyhow::Result<()> {
    match error.code() {
        Some(api::ErrorCode::Unauthorized) => Err(error.into()),
        _ => Ok(()),
    }
}
