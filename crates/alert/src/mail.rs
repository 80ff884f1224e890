//! Mail, one for all that has changed at one moment.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport};
use secret::{Form, Privacy};
use serde::{Deserialize, Serialize};

use crate::{Alert, DeliveryError};

/// The longest time of each step of the conversation.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The protection of the connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// Encrypted from the first byte on, usually port 465.
    Tls,
    /// Encrypted before anything is said (STARTTLS), usually port 587.
    #[default]
    StartTls,
    /// Not at all; only for a server on this host.
    None,
}

/// The recipients of mail, and the server that takes it.
#[derive(Clone, Debug)]
pub struct Mail {
    /// The server's name.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The protection of the connection.
    pub encryption: Encryption,
    /// The name and the file of the password to log in with.
    pub login: Option<(String, PathBuf)>,
    /// The sender.
    pub from: Mailbox,
    /// The recipients, at least one.
    pub recipients: Vec<Mailbox>,
}

impl Mail {
    pub(crate) fn to(&self) -> String {
        self.recipients.iter().map(|one| one.email.to_string()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn send(&self, changes: &[Alert]) -> Result<(), DeliveryError> {
        let server = format!("{}:{}", self.host, self.port);
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| DeliveryError::Mail { server, source };
        let credentials = match &self.login {
            None => None,
            Some((user, file)) => {
                let password = secret::read(file, Form::Password, Privacy::Advised)?.secret;
                Some(Credentials::new(user.clone(), password.reveal().to_owned()))
            }
        };
        let sent = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            let tls = || TlsParameters::new(self.host.clone());
            let tls = match self.encryption {
                Encryption::Tls => Tls::Wrapper(tls()?),
                Encryption::StartTls => Tls::Required(tls()?),
                Encryption::None => Tls::None,
            };
            let mut transport =
                SmtpTransport::builder_dangerous(&self.host).port(self.port).tls(tls).timeout(Some(TIMEOUT));
            if let Some(credentials) = credentials {
                transport = transport.credentials(credentials);
            }
            transport.build().send(&self.message(changes)?)?;
            Ok(())
        };
        sent().map_err(refused)
    }

    fn message(&self, changes: &[Alert]) -> Result<Message, lettre::error::Error> {
        let builder = Message::builder().from(self.from.clone()).subject(subject(changes));
        let builder = self.recipients.iter().cloned().fold(builder, |builder, one| builder.to(one));
        let text = SinglePart::plain(body(changes));
        let pictures = changes.iter().filter_map(|alert| alert.png.as_deref()).enumerate();
        let mut parts = pictures.map(|(idx, png)| {
            let kind = ContentType::parse("image/png").expect("a type of pictures");
            Attachment::new(format!("forecast-{}.png", idx + 1)).body(png.to_vec(), kind)
        });
        match parts.next() {
            None => builder.singlepart(text),
            Some(first) => builder
                .multipart(parts.fold(MultiPart::mixed().singlepart(text).singlepart(first), MultiPart::singlepart)),
        }
    }
}

/// The only warning, or how many there are.
fn subject(changes: &[Alert]) -> String {
    if let [one] = changes {
        let what = match (one.stands, one.repeated) {
            (true, false) => "Warning",
            (true, true) if one.escalated => "Unacknowledged",
            (true, true) => "Still",
            (false, _) => "Over",
        };
        return text::printable(&format!("{what}: {} on {}", one.rule, one.host));
    }
    let n_over = changes.iter().filter(|alert| !alert.stands).count();
    let n_repeated = changes.iter().filter(|alert| alert.repeated).count();
    let still = if n_repeated > 0 { format!(", {n_repeated} still stand") } else { String::new() };
    format!("{} warnings{still}, {n_over} over", changes.len() - n_over - n_repeated)
}

fn body(changes: &[Alert]) -> String {
    let lines = |alert: &Alert| {
        let Alert { at, origin, url, acknowledge_url, cause, .. } = alert;
        let what = text::printable(&alert.to_string());
        let cause = cause.as_ref().map(|cause| format!("cause: {}\r\n", text::printable(cause))).unwrap_or_default();
        let acknowledge = match alert.stands && !acknowledge_url.is_empty() {
            true => format!("to acknowledge it: {acknowledge_url}\r\n"),
            false => String::new(),
        };
        format!("{what}\r\n{cause}said at {at}, from samples up to {origin}\r\n{url}\r\n{acknowledge}")
    };
    changes.iter().map(lines).collect::<Vec<_>>().join("\r\n")
}
