//! Warnings on their way out: to Prometheus Alertmanager, a webhook, a command, or by mail.
//!
//! Whoever warns makes an [`Alert`] of each warning that is raised or over, and puts it into a [`Post`] for each
//! [`Way`]. A post has a thread of its own: a server that is down delays nobody, and what it missed is told in order
//! when it is back, within limits. Specified in docs/formats/warnings.md.
#![forbid(unsafe_code)]

mod alertmanager;
mod command;
mod mail;
mod post;
mod server;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Timestamp;

pub use command::Command;
pub use mail::{Encryption, Mail};
pub use post::{N_WAITING_MAX, Post, Status};
pub use server::Server;

/// A warning as others are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The name of its rule.
    pub rule: String,
    /// The host that is warned of.
    pub host: String,
    /// The series that the rule is about.
    pub series: String,
    /// The probable event, for people.
    pub summary: String,
    /// The probability, in [0, 1].
    pub probability: f64,
    /// Whether it stands, or is over.
    pub stands: bool,
    /// Whether others were told before that it stands.
    #[serde(default)]
    pub repeated: bool,
    /// Whether it goes to further channels, because nobody has acknowledged it.
    #[serde(default)]
    pub escalated: bool,
    /// When it was raised.
    pub since: Timestamp,
    /// When this was said.
    pub at: Timestamp,
    /// When the last sample was taken that it rests on.
    pub origin: Timestamp,
    /// The cause, for people; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The program, unit or container that accounts for it; `None` for nobody in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
    /// The address to look at.
    pub url: String,
    /// The address of the page on which the warning is acknowledged; empty if nobody takes acknowledgements.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub acknowledge_url: String,
    /// The address of a picture of what may come; empty if nobody draws one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub picture_url: String,
    /// The picture as it was when the warning was raised, as PNG, for who gets mail. It is gone after a restart.
    #[serde(skip)]
    pub png: Option<Arc<[u8]>>,
}

/// A way of sending warnings.
#[derive(Clone, Debug)]
pub enum Way {
    /// Alertmanager is told of all warnings that stand, again and again, by its API v2.
    Alertmanager(Server),
    /// A server gets what has changed, as JSON.
    Webhook(Server),
    /// A program is run with what has changed, as JSON, on its standard input.
    Command(Command),
    /// Somebody gets what has changed as text.
    Mail(Mail),
}

/// The reason why nobody got a warning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// It has no answer.
    #[error("{place} does not answer")]
    Request {
        /// Host and port.
        place: String,
        /// The reason.
        source: http_client::RequestError,
    },
    /// It did not take it.
    #[error("{place} answered {status}")]
    Status {
        /// Host and port.
        place: String,
        /// The status of HTTP.
        status: u16,
    },
    /// Nobody can be logged in.
    #[error(transparent)]
    Login(#[from] http_client::LoginError),
    /// A file of a password cannot be read.
    #[error(transparent)]
    Secret(#[from] secret::SecretError),
    /// A command cannot be run.
    #[error("cannot run `{program}`")]
    Run {
        /// Its name.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{program}` failed: {how}")]
    Failed {
        /// Its name.
        program: String,
        /// Its exit status, or that it took too long.
        how: String,
    },
    /// A mail could not be written or sent.
    #[error("the mail server {server} did not take it")]
    Mail {
        /// Host and port.
        server: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Way {
    /// Returns the name of the way for people: `mail to ops@example.org`. It holds no secret, so that two may have the
    /// same.
    fn name(&self) -> String {
        match self {
            Self::Alertmanager(server) => format!("Alertmanager at {}", server.address.host_and_port()),
            Self::Webhook(server) => format!("webhook at {}", server.address.host_and_port()),
            Self::Command(command) => format!("command {}", command.program),
            Self::Mail(mail) => format!("mail to {}", mail.to()),
        }
    }

    /// Whether it has to hear of warnings that stand again and again.
    fn takes_standing(&self) -> bool {
        matches!(self, Self::Alertmanager(_))
    }

    /// Whether pictures go along, rather than where they are drawn.
    #[must_use]
    pub fn takes_pictures(&self) -> bool {
        matches!(self, Self::Mail(_))
    }

    /// Tells of a warning that is only a trial, to see whether it arrives.
    ///
    /// # Errors
    /// When nobody was told.
    pub fn send_trial(&self, host: &str, at: Timestamp) -> Result<(), DeliveryError> {
        let trial = Alert {
            rule: "trial".to_owned(),
            host: host.to_owned(),
            series: String::new(),
            summary: "this is a trial of `foretop rules try`; nothing is wrong".to_owned(),
            probability: 0.0,
            stands: true,
            repeated: false,
            escalated: false,
            since: at,
            at,
            origin: at,
            cause: None,
            culprit: None,
            url: String::new(),
            acknowledge_url: String::new(),
            picture_url: String::new(),
            png: None,
        };
        let trial = [trial];
        self.deliver(&trial, &trial, Duration::from_secs(60))
    }

    /// Tells of what has changed, and of what stands where that is wanted; what stands is good for `keep`.
    fn deliver(&self, changes: &[Alert], standing: &[Alert], keep: Duration) -> Result<(), DeliveryError> {
        match self {
            Self::Alertmanager(server) => alertmanager::post(server, changes, standing, keep),
            Self::Webhook(server) => server.post(None, &Message::of(changes)),
            Self::Command(command) => command.run(&Message::of(changes)),
            Self::Mail(mail) => mail.send(changes),
        }
    }
}

/// Returns the names of the ways, each of which is unique: a second `webhook at example.org` is `webhook at example.org
/// (2)`.
#[must_use]
pub fn names(ways: &[Way]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(ways.len());
    for name in ways.iter().map(Way::name) {
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// The content that webhooks and commands are given.
#[derive(Serialize)]
struct Message<'a> {
    warnings: Vec<Change<'a>>,
}

/// A warning with the id of what has changed: whoever took it and could not say so gets it again.
#[derive(Serialize)]
struct Change<'a> {
    id: String,
    #[serde(flatten)]
    alert: &'a Alert,
}

impl<'a> Message<'a> {
    fn of(changes: &'a [Alert]) -> Self {
        Self { warnings: changes.iter().map(|alert| Change { id: alert.id(), alert }).collect() }
    }

    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("text and finite numbers have a form in JSON")
    }
}

impl Alert {
    /// The id of this change among all changes of all hosts.
    fn id(&self) -> String {
        format!("{}/{}/{}", self.host, self.rule, self.at)
    }

    /// Returns the warning that this one is over now.
    #[must_use]
    pub fn over(self, at: Timestamp) -> Self {
        Self { stands: false, repeated: false, escalated: false, at, png: None, ..self }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.stands, self.repeated) {
            (true, false) => "WARNING",
            (true, true) if self.escalated => "unacknowledged WARNING",
            (true, true) => "still WARNING",
            (false, _) => "over",
        };
        write!(f, "{what} {} on {}: {}", self.rule, self.host, self.summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_one_name_are_numbered() {
        let command = |program: &str| Way::Command(Command { program: program.to_owned(), arguments: Vec::new() });
        let names = names(&[command("sh"), command("tell"), command("sh"), command("sh")]);
        assert_eq!(names, ["command sh", "command tell", "command sh (2)", "command sh (3)"]);
    }
}
