//! `[[stream]]`: what the node sends to whoever reads it. `[[follow]]`: streams of other hosts, shown beside this one.
//! Specified in docs/formats/cli.md.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use node::{FollowSettings, Outgoing, OutletSettings};
use secret::Token;
use serde::{Deserialize, Serialize};
use signal::Selection;
use stream::registry::Registry;
use stream::{ClientTls, Endpoint, NatsServer, Security, ServerTls};

use command_line::span_text;

/// A stream that the node sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSection {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub endpoints: Vec<Endpoint>,
    #[serde(default)]
    pub carries: Carried,
    #[serde(default, rename = "match")]
    pub globs: Vec<String>,
    #[serde(default = "default_horizon", with = "span_text")]
    pub horizon: Duration,
    #[serde(flatten)]
    pub protection: Protection,
}

/// A stream of another host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowSection {
    pub endpoint: Endpoint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, rename = "match")]
    pub globs: Vec<String>,
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
    #[serde(default = "default_max_signals")]
    pub max_signals: usize,
    #[serde(flatten)]
    pub protection: Protection,
}

/// The content of a stream of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    #[default]
    Measurements,
    Forecasts,
}

/// The protection of the connections of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Protection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The certificate of the side that listens; its key is the field beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Certificates that are believed, of what connects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    pub allow_plain: bool,
    /// The NATS server, for endpoints that name a subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nats: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nats_credentials: Option<PathBuf>,
    /// Whether nobody is told of the stream.
    pub unannounced: bool,
}

fn default_horizon() -> Duration {
    Duration::from_secs(30)
}

/// The step that nodes have unless they are told otherwise.
fn default_every() -> Duration {
    Duration::from_secs(1)
}

fn default_max_signals() -> usize {
    FollowSettings::N_SIGNALS_MAX
}

impl StreamSection {
    /// Everything that is measured, to these places.
    pub fn new(endpoints: Vec<Endpoint>, token_file: Option<PathBuf>) -> Self {
        Self {
            name: None,
            endpoints,
            carries: Carried::Measurements,
            globs: Vec::new(),
            horizon: default_horizon(),
            protection: Protection { token_file, ..Protection::default() },
        }
    }

    pub fn to_outlet(&self) -> anyhow::Result<OutletSettings> {
        let (carries, name) = match self.carries {
            Carried::Measurements => (Outgoing::Measurements, "measurements"),
            Carried::Forecasts => (Outgoing::Forecasts { horizon: self.horizon }, "forecasts"),
        };
        let name = self.name.clone().unwrap_or_else(|| name.to_owned());
        let place = || format!("[[stream]] `{}`", name.escape_debug());
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
            return Err(anyhow::anyhow!("a name has 1 to {NAME_BYTES_MAX} bytes without control characters"))
                .with_context(place);
        }
        if self.endpoints.is_empty() {
            return Err(anyhow::anyhow!("it has no `endpoints`, as in [\"connect:tcp:7313\"]")).with_context(place);
        }
        let select = Selection::new(&self.globs, &[]).with_context(place)?;
        let security = self.protection.to_security().with_context(place)?;
        Ok(OutletSettings { endpoints: self.endpoints.clone(), carries, select, security, name })
    }
}

/// Longer, and it is no name.
const NAME_BYTES_MAX: usize = 64;

impl FollowSection {
    /// Everything that comes from this place.
    pub fn new(endpoint: Endpoint, token_file: Option<PathBuf>) -> Self {
        Self {
            endpoint,
            name: None,
            globs: Vec::new(),
            every: default_every(),
            max_signals: default_max_signals(),
            protection: Protection { token_file, ..Protection::default() },
        }
    }

    pub fn to_follow(&self) -> anyhow::Result<FollowSettings> {
        let place = || format!("[[follow]] `{}`", self.endpoint);
        if self.max_signals == 0 {
            return Err(anyhow::anyhow!("`max_signals` can be 1 or more")).with_context(place);
        }
        Ok(FollowSettings {
            endpoint: self.endpoint.clone(),
            host: self.name.clone(),
            step: self.every,
            select: Selection::new(&self.globs, &[]).with_context(place)?,
            n_signals_max: self.max_signals,
            security: self.protection.to_security().with_context(place)?,
        })
    }
}

impl Protection {
    /// Reads the files that are named.
    fn to_security(&self) -> anyhow::Result<Security> {
        let server = match (&self.certificate, &self.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(ServerTls::from_files(certificate, key)?),
            _ => bail!("a certificate needs both `certificate` and `key`"),
        };
        Ok(Security {
            token: self.token_file.as_deref().map(Token::from_file).transpose()?,
            server,
            client: self.authorities.as_deref().map(ClientTls::from_file).transpose()?,
            allow_plain: self.allow_plain,
            nats: NatsServer { url: self.nats.clone(), credentials: self.nats_credentials.clone() },
            registry: Registry { announces: !self.unannounced, lan: true, across: self.nats.is_some(), folder: None },
            ..Security::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    const ALL: &str = r#"
        [[stream]]
        endpoints = ["connect:tcp:7313", "target:unix:/run/a?backlog=4096"]
        carries = "forecasts"
        match = ["cpu.*"]
        horizon = "1m"

        [[follow]]
        endpoint = "source:tcp:db1:7313"
        name = "db1"
        every = "5s"
        allow_plain = true
    "#;

    #[test]
    fn what_is_shown_reads_back() {
        let sections: Settings = toml::from_str(ALL).unwrap();
        assert_eq!(toml::from_str::<Settings>(&toml::to_string(&sections).unwrap()).unwrap(), sections);
        assert_eq!(sections.stream[0].horizon, Duration::from_secs(60));
        let follow = sections.follow[0].to_follow().unwrap();
        assert_eq!((follow.host.as_deref(), follow.step), (Some("db1"), Duration::from_secs(5)));
    }

    #[track_caller]
    fn check_refused(text: &str, wanted: &str) {
        let error = match toml::from_str::<Settings>(text) {
            Err(error) => error.to_string(),
            Ok(sections) => {
                let streams = sections.stream.iter().map(|stream| stream.to_outlet().map(drop));
                let followed = sections.follow.iter().map(|follow| follow.to_follow().map(drop));
                format!("{:#}", streams.chain(followed).collect::<Result<Vec<_>, _>>().unwrap_err())
            }
        };
        assert!(error.contains(wanted), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_section() {
        check_refused("[[stream]]\nendpoints = []", "[[stream]] `measurements`: it has no `endpoints`");
        check_refused("[[stream]]\nendpoints = ['sink:tcp:1']", "`sink` is not a role");
        check_refused("[[stream]]\nendpoints = ['connect:tcp:1']\ncarrys = 'x'", "carrys");
        check_refused("[[stream]]\nendpoints = ['connect:tcp:1']\nkey = 'k'", "both `certificate` and `key`");
        check_refused("[[stream]]\nendpoints = ['connect:tcp:1']\nmatch = ['']", "`` selects nothing");
        check_refused("[[follow]]\nendpoint = 'source:tcp:a:1'\ntoken_file = '/nowhere'", "/nowhere");
        check_refused("[[follow]]\nendpoint = 'source:tcp:a:1'\nmax_signals = 0", "max_signals");
    }
}
