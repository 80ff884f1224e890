//! `[warn]`: what somebody wants to be warned of, and where warnings go.

use std::path::PathBuf;
use std::time::Duration;

use alert::{Command, Encryption, Mail, Server, Way};
use anyhow::{Context, ensure};
use node::{Config, RulesFile, WarnChannel, WarnSettings};
use serde::{Deserialize, Serialize};

use secret::{Form, Privacy};

use super::settings::{Settings, login, trust, warn_of_clear};
use command_line::secret::warn_of;
use command_line::span_text;

/// `[warn]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarnSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<PathBuf>,
    #[serde(with = "span_text")]
    pub every: Duration,
    #[serde(with = "span_text::optional", skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Duration>,
    pub excursions: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alertmanager: Vec<ServerSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub webhook: Vec<ServerSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<CommandSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<MailSection>,
}

/// `[[warn.alertmanager]]` and `[[warn.webhook]]`: a server that takes JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSection {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    #[serde(default, with = "span_text::optional", skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
}

/// `[[warn.command]]`: a program that gets JSON on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSection {
    pub run: Vec<String>,
    #[serde(default, with = "span_text::optional", skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
}

/// `[[warn.mail]]`: who gets mail, by which server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailSection {
    pub to: Vec<String>,
    pub from: String,
    pub server: String,
    #[serde(default)]
    pub encryption: Encryption,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    #[serde(default, with = "span_text::optional", skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
}

impl Default for WarnSection {
    fn default() -> Self {
        let WarnSettings { every, repeat, excursions, .. } = Config::default().warnings;
        let (alertmanager, webhook, command, mail) = Default::default();
        Self { rules: None, every, repeat, excursions, alertmanager, webhook, command, mail }
    }
}

impl ServerSection {
    pub fn new(url: String) -> Self {
        Self { url, token_file: None, user: None, password_file: None, authorities: None, after: None }
    }

    fn to_server(&self) -> anyhow::Result<Server> {
        let server = Server {
            address: self.url.parse()?,
            login: login(&self.token_file, &self.user, &self.password_file)?,
            trust: trust(&self.authorities)?,
        };
        server.login.check()?;
        warn_of_clear(&server.login, &server.address);
        Ok(server)
    }
}

impl CommandSection {
    fn to_command(&self) -> anyhow::Result<Command> {
        let [program, arguments @ ..] = &*self.run else { anyhow::bail!("`run` is empty; name a program") };
        Ok(Command { program: program.clone(), arguments: arguments.to_vec() })
    }
}

impl MailSection {
    fn to_mail(&self) -> anyhow::Result<Mail> {
        let (host, port) = self.server.rsplit_once(':').context("`server` must be HOST:PORT, as in localhost:25")?;
        let port = port.parse().with_context(|| format!("`{port}` is no port"))?;
        let address = |text: &String| text.parse().with_context(|| format!("`{text}` is no mail address"));
        let encryption = self.encryption;
        ensure!(!self.to.is_empty(), "`to` is empty; name somebody");
        let login = match (&self.user, &self.password_file) {
            (None, None) => None,
            (Some(user), Some(file)) => {
                // One that is not there yet is told of when it is needed.
                warn_of(
                    secret::read(file, Form::Password, Privacy::Advised).ok().and_then(|found| found.exposed).as_ref(),
                );
                Some((user.clone(), file.clone()))
            }
            _ => anyhow::bail!("to log in, it needs both `user` and `password_file`"),
        };
        ensure!(
            login.is_none() || encryption != Encryption::None,
            "a password is not sent in the clear; set `encryption` to \"tls\" or \"starttls\""
        );
        let recipients = self.to.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Mail { host: host.to_owned(), port, encryption, login, from: address(&self.from)?, recipients })
    }
}

impl Settings {
    /// Returns the rules of warnings and the ways to send them. The rules are read; nothing is connected to.
    ///
    /// # Errors
    /// When the file of rules is none, or a way makes no sense. The message begins with the section.
    pub fn to_warnings(&self) -> anyhow::Result<WarnSettings> {
        let WarnSection { rules, every, repeat, excursions, alertmanager, webhook, command, mail } = &self.warn;
        let mut channels = Vec::new();
        let mut add =
            |way, after: Option<Duration>| channels.push(WarnChannel { way, after: after.unwrap_or_default() });
        for one in alertmanager {
            add(Way::Alertmanager(one.to_server().context("[[warn.alertmanager]]")?), one.after);
        }
        for one in webhook {
            add(Way::Webhook(one.to_server().context("[[warn.webhook]]")?), one.after);
        }
        for one in command {
            add(Way::Command(one.to_command().context("[[warn.command]]")?), one.after);
        }
        for one in mail {
            let way = Way::Mail(one.to_mail().with_context(|| format!("[[warn.mail]] by `{}`", one.server))?);
            add(way, one.after);
        }
        ensure!(
            channels.is_empty() || channels.iter().any(|channel| channel.after.is_zero()),
            "[warn] every channel has `after`; leave it out for those that get a warning at once"
        );
        let rules = rules.as_deref().map(RulesFile::open).transpose()?;
        Ok(WarnSettings { rules, channels, every: *every, repeat: *repeat, excursions: *excursions })
    }
}
