//! Settings of the agents that are asked, the links, and the flows that go over them: plain data.

use std::{collections::BTreeSet, net::IpAddr, num::NonZeroU32, time::Duration};

use secret::Secret;

use super::SettingsError;

/// The shortest time to give an agent: half the granularity of common timers.
const MIN_TIMEOUT: Duration = Duration::from_millis(5);

/// The longest time to give an agent. Longer than any that is there needs.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// The most times to ask again.
const MAX_RETRIES: u32 = 10;

/// The agents that are asked, the links, and the flows that go over them.
#[derive(Clone, Debug, Default)]
pub struct SnmpSettings {
    /// Switches, routers and hosts that answer SNMP.
    pub agents: Vec<AgentSettings>,
    /// Interfaces of theirs that are watched, each as `link.{name}.received`, `.sent` and `.capacity`.
    pub links: Vec<LinkSettings>,
    /// Flows whose bandwidth is worked out, each as `flow.{peer}`.
    pub flows: Vec<FlowSettings>,
}

/// A switch, a router or a host that answers SNMP.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The name of the agent here.
    pub name: String,
    /// Its address or host name, with a port after a colon unless that is 161.
    pub address: String,
    /// The credentials that the agent needs of a client.
    pub credentials: Credentials,
    /// The time that the agent has for an answer. The default lets an agent that is gone cost 0.6 s, so that one read a
    /// second can be kept.
    pub timeout: Duration,
    /// The number of times that an unanswered question is repeated.
    pub n_retries: u32,
    /// The longest that it goes without bringing its counters up to date.
    ///
    /// Counters that stand still for less than this are taken for old, and for idle after it. Net-SNMP brings them up
    /// to date every 3 s, many switches every 5 s or so.
    pub refresh: Duration,
}

impl AgentSettings {
    /// An agent with the default limits: 150 ms to answer, one more try, counters at most 6 s old.
    #[must_use]
    pub fn new(name: impl Into<String>, address: impl Into<String>, credentials: Credentials) -> AgentSettings {
        AgentSettings {
            name: name.into(),
            address: address.into(),
            credentials,
            timeout: Duration::from_millis(150),
            n_retries: 1,
            refresh: Duration::from_secs(6),
        }
    }

    /// The longest that asking it everything can take.
    ///
    /// One question may use up all its retries, and those before it may have taken as long together.
    #[must_use]
    pub fn longest_read(&self) -> Duration {
        self.longest_exchange() * 2
    }

    /// The longest that one question can take.
    pub(crate) fn longest_exchange(&self) -> Duration {
        self.timeout * (self.n_retries + 1)
    }
}

/// The credentials that an agent needs of a client.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Version 2c: a word that goes over the wire in the clear.
    Community(Secret),
    /// Version 3 with the user-based security model (RFC 3414).
    User(User),
}

/// A user of version 3.
#[derive(Clone, Debug)]
pub struct User {
    /// Its name.
    pub name: String,
    /// The proof of the user's identity; without a proof, anyone can be the user.
    pub authentication: Option<Authentication>,
}

/// The proof of a user's identity.
#[derive(Clone, Debug)]
pub struct Authentication {
    /// The hash that signs messages.
    pub digest: Digest,
    /// The passphrase for it.
    pub passphrase: Secret,
    /// The cipher that hides messages, with a passphrase of its own; without a cipher, messages are in the clear.
    pub privacy: Option<(Cipher, Secret)>,
}

/// A hash that signs messages: RFC 3414 and RFC 7860.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Digest {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// A cipher that hides messages: RFC 3414 and RFC 3826.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Cipher {
    Des,
    Aes128,
}

/// An interface that is watched.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The name of the link in signals.
    pub name: String,
    /// The name of its agent.
    pub agent: String,
    /// The interface of the agent.
    pub interface: Interface,
    /// Bytes per second that it can carry each way, if the agent does not know or is wrong.
    pub capacity_bytes_per_sec: Option<f64>,
}

/// One of an agent's interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The interface with this `ifName`, or else this `ifDescr`. Found again when the agent numbers its interfaces
    /// anew.
    Named(String),
    /// The interface with this `ifIndex`.
    Numbered(u32),
}

/// A flow whose bandwidth is worked out.
#[derive(Clone, Debug)]
pub struct FlowSettings {
    /// The name of the flow's other end in signals.
    pub peer: String,
    /// The links that it goes over.
    pub path: Path,
    /// The greatest number of flows that share a full link with this flow, if that is known: see
    /// `docs/decisions/flow-bandwidth.md`.
    pub n_rivals_max: Option<NonZeroU32>,
}

/// The links that a flow goes over.
#[derive(Clone, Debug)]
pub enum Path {
    /// These.
    Given(Vec<Hop>),
    /// Those that the routes and forwarding tables of this host and of the agents say.
    Found {
        /// The source of the flow; this host unless given.
        source: Option<IpAddr>,
        /// The destination of the flow.
        destination: IpAddr,
    },
}

/// A link and the way that a flow goes over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The name of the link.
    pub link: String,
    /// The direction of the flow over the link.
    pub direction: Direction,
}

/// The direction in which a flow goes over an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The agent receives the flow.
    Received,
    /// The agent sends the flow.
    Sent,
    /// Both ways share the capacity, as on radio.
    Shared,
}

impl SnmpSettings {
    /// The longest that one read of everything can take. Agents are asked side by side.
    #[must_use]
    pub fn longest_read(&self) -> Duration {
        self.agents.iter().map(AgentSettings::longest_read).max().unwrap_or_default()
    }

    /// Whether all of it can be used.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let agents = check_names("agents", self.agents.iter().map(|agent| &agent.name))?;
        let links = check_names("links", self.links.iter().map(|link| &link.name))?;
        check_names("flows", self.flows.iter().map(|flow| &flow.peer))?;
        self.agents.iter().try_for_each(AgentSettings::check)?;
        for link in &self.links {
            link.check(&agents)?;
        }
        self.flows.iter().try_for_each(|flow| flow.check(&links))
    }
}

/// The names of all `kind`, each of which is there once.
fn check_names<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<BTreeSet<&'a str>, SettingsError> {
    let mut known = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(SettingsError::NoName { kind });
        }
        if !known.insert(name.as_str()) {
            return Err(SettingsError::NameTaken { kind, name: name.clone() });
        }
    }
    Ok(known)
}

impl AgentSettings {
    fn check(&self) -> Result<(), SettingsError> {
        let agent = || self.name.clone();
        if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&self.timeout) {
            let (min, max) = (MIN_TIMEOUT, MAX_TIMEOUT);
            return Err(SettingsError::Timeout { agent: agent(), given: self.timeout, min, max });
        }
        if self.n_retries > MAX_RETRIES {
            return Err(SettingsError::Retries { agent: agent(), given: self.n_retries, max: MAX_RETRIES });
        }
        Ok(())
    }
}

impl LinkSettings {
    fn check(&self, agents: &BTreeSet<&str>) -> Result<(), SettingsError> {
        if !agents.contains(self.agent.as_str()) {
            return Err(SettingsError::NoAgent { link: self.name.clone(), agent: self.agent.clone() });
        }
        match self.capacity_bytes_per_sec {
            Some(given) if !(given.is_finite() && given > 0.0) => {
                Err(SettingsError::Capacity { link: self.name.clone(), given })
            }
            _ => Ok(()),
        }
    }
}

impl FlowSettings {
    fn check(&self, links: &BTreeSet<&str>) -> Result<(), SettingsError> {
        let Path::Given(hops) = &self.path else {
            return Ok(());
        };
        if hops.is_empty() {
            return Err(SettingsError::NoPath { flow: self.peer.clone() });
        }
        match hops.iter().find(|hop| !links.contains(hop.link.as_str())) {
            Some(hop) => Err(SettingsError::NoLink { flow: self.peer.clone(), link: hop.link.clone() }),
            None => Ok(()),
        }
    }
}
