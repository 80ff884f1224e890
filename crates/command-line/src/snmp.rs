//! `[snmp]`: agents of the network, and the flows over their links.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use feed::snmp::{
    AgentSettings, Authentication, Cipher, Credentials, Digest, Direction, FlowSettings, Hop, Interface, LinkSettings,
    Path, SnmpSettings, SnmpSource, User,
};
use secret::{Form, Secret};
use serde::{Deserialize, Serialize};

use crate::secret::read_secret;
use crate::span_text;

/// Agents of the network, and the flows over their links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnmpSection {
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
    #[serde(default)]
    pub agent: Vec<AgentSection>,
    #[serde(default)]
    pub link: Vec<LinkSection>,
    #[serde(default)]
    pub flow: Vec<FlowSection>,
}

/// The parts of a node's configuration that concern SNMP agents.
#[derive(Deserialize)]
struct Configuration {
    snmp: Option<SnmpSection>,
    #[serde(default)]
    node: NodeSection,
}

#[derive(Default, Deserialize)]
struct NodeSection {
    root: Option<PathBuf>,
}

/// Returns the step and the source of the `[snmp]` section of a node's configuration, for use without a node.
///
/// # Errors
/// If there is no such section, a setting in it makes no sense, or a secret cannot be read.
pub fn snmp_of(configuration: &std::path::Path) -> anyhow::Result<(Duration, SnmpSource)> {
    let place = configuration.display();
    let text = std::fs::read_to_string(configuration).with_context(|| format!("cannot read `{place}`"))?;
    let read: Configuration = toml::from_str(&text).with_context(|| format!("`{place}` is not a configuration"))?;
    let section = read.snmp.with_context(|| format!("`{place}` has no [snmp]"))?;
    let root = read.node.root.as_deref().unwrap_or(std::path::Path::new("/"));
    Ok((section.every, section.to_source(root)?))
}

/// A switch, a router or a host that answers SNMP: version 2c with a community, version 3 with a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSection {
    pub name: String,
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub community_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<DigestName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cipher: Option<CipherName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy_file: Option<PathBuf>,
    #[serde(default = "default_timeout", with = "span_text")]
    pub timeout: Duration,
    #[serde(default = "default_retries")]
    pub retries: u32,
    #[serde(default = "default_refresh", with = "span_text")]
    pub refresh: Duration,
}

/// An interface of an agent, by its name or its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSection {
    pub name: String,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
}

/// A flow over given links, `NAME:sent`, `NAME:received` or `NAME:shared`, or to an address that is looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSection {
    pub peer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rivals: Option<NonZeroU32>,
}

/// A hash, as configuration files call it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestName {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// A cipher, as configuration files call it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CipherName {
    Des,
    Aes128,
}

/// Agents bring their counters up to date every few seconds.
fn default_every() -> Duration {
    Duration::from_secs(5)
}

fn defaults() -> AgentSettings {
    AgentSettings::new("", "", Credentials::Community(Secret::new("")))
}

fn default_timeout() -> Duration {
    defaults().timeout
}

fn default_retries() -> u32 {
    defaults().n_retries
}

fn default_refresh() -> Duration {
    defaults().refresh
}

impl SnmpSection {
    /// Returns the source that reads these agents.
    ///
    /// # Errors
    /// If a setting makes no sense or a secret cannot be read.
    pub fn to_source(&self, root: &std::path::Path) -> anyhow::Result<SnmpSource> {
        let settings = SnmpSettings {
            agents: self.agent.iter().map(AgentSection::to_settings).collect::<anyhow::Result<_>>()?,
            links: self.link.iter().map(LinkSection::to_settings).collect::<anyhow::Result<_>>()?,
            flows: self.flow.iter().map(FlowSection::to_settings).collect::<anyhow::Result<_>>()?,
        };
        SnmpSource::new(settings, root).context("[snmp]")
    }
}

impl AgentSection {
    fn to_settings(&self) -> anyhow::Result<AgentSettings> {
        let credentials = self.credentials().with_context(|| format!("[snmp] agent `{}`", self.name.escape_debug()))?;
        Ok(AgentSettings {
            timeout: self.timeout,
            n_retries: self.retries,
            refresh: self.refresh,
            ..AgentSettings::new(&self.name, &self.address, credentials)
        })
    }

    fn credentials(&self) -> anyhow::Result<Credentials> {
        match (&self.community_file, &self.user) {
            (Some(file), None) => Ok(Credentials::Community(read_secret(file, Form::Passphrase)?)),
            (None, Some(user)) => {
                Ok(Credentials::User(User { name: user.clone(), authentication: self.authentication()? }))
            }
            _ => bail!("it needs `community_file` for version 2c, or `user` for version 3"),
        }
    }

    fn authentication(&self) -> anyhow::Result<Option<Authentication>> {
        let privacy = match (self.cipher, &self.privacy_file) {
            (None, None) => None,
            (cipher, Some(file)) => {
                Some((cipher.unwrap_or(CipherName::Aes128).into(), read_secret(file, Form::Passphrase)?))
            }
            (Some(_), None) => bail!("`cipher` needs `privacy_file`, which holds the passphrase for it"),
        };
        let Some(file) = &self.passphrase_file else {
            if privacy.is_some() || self.digest.is_some() {
                bail!("`digest` and `privacy_file` need `passphrase_file`, which holds what proves the user");
            }
            return Ok(None);
        };
        let digest = self.digest.unwrap_or(DigestName::Sha256).into();
        Ok(Some(Authentication { digest, passphrase: read_secret(file, Form::Passphrase)?, privacy }))
    }
}

impl LinkSection {
    fn to_settings(&self) -> anyhow::Result<LinkSettings> {
        let interface = match (&self.interface, self.index) {
            (Some(name), None) => Interface::Named(name.clone()),
            (None, Some(index)) => Interface::Numbered(index),
            _ => bail!("[snmp] link `{}` needs either `interface` or `index`", self.name.escape_debug()),
        };
        Ok(LinkSettings {
            name: self.name.clone(),
            agent: self.agent.clone(),
            interface,
            capacity_bytes_per_sec: self.capacity,
        })
    }
}

impl FlowSection {
    fn to_settings(&self) -> anyhow::Result<FlowSettings> {
        let path = match (self.path.as_slice(), self.to) {
            ([], Some(destination)) => Path::Found { source: self.from, destination },
            (hops @ [_, ..], None) => Path::Given(hops.iter().map(|hop| read_hop(hop)).collect::<anyhow::Result<_>>()?),
            _ => bail!("[snmp] flow `{}` needs either `path` or `to`", self.peer.escape_debug()),
        };
        Ok(FlowSettings { peer: self.peer.clone(), path, n_rivals_max: self.rivals })
    }
}

fn read_hop(text: &str) -> anyhow::Result<Hop> {
    let direction = match text.rsplit_once(':') {
        Some((_, "sent")) => Direction::Sent,
        Some((_, "received")) => Direction::Received,
        Some((_, "shared")) => Direction::Shared,
        _ => bail!(
            "[snmp] `{}` is not a part of a path: write NAME:sent, NAME:received or NAME:shared",
            text.escape_debug()
        ),
    };
    let link = text.rsplit_once(':').map_or(text, |(link, _)| link).to_owned();
    Ok(Hop { link, direction })
}

impl From<DigestName> for Digest {
    fn from(name: DigestName) -> Self {
        match name {
            DigestName::Md5 => Self::Md5,
            DigestName::Sha1 => Self::Sha1,
            DigestName::Sha224 => Self::Sha224,
            DigestName::Sha256 => Self::Sha256,
            DigestName::Sha384 => Self::Sha384,
            DigestName::Sha512 => Self::Sha512,
        }
    }
}

impl From<CipherName> for Cipher {
    fn from(name: CipherName) -> Self {
        match name {
            CipherName::Des => Self::Des,
            CipherName::Aes128 => Self::Aes128,
        }
    }
}
