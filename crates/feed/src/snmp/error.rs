//! Errors in the settings, and errors of asking agents.

use std::{io, net::IpAddr, time::Duration};

use async_snmp::ErrorKind;
use sensor::ReadError;

/// The reason why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Two agents, two links or two flows have one name.
    #[error("two {kind} are called `{name}`: each needs its own name")]
    NameTaken {
        /// The kind of thing: `agents`, `links` or `flows`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An agent, a link or a flow has no name.
    #[error("one of the {kind} has no name")]
    NoName {
        /// The kind of thing: `agents`, `links` or `flows`.
        kind: &'static str,
    },
    /// A link is said to be of an agent that is not there.
    #[error("the link `{link}` names the agent `{agent}`, which does not exist")]
    NoAgent {
        /// The link.
        link: String,
        /// The agent that it names.
        agent: String,
    },
    /// A path leads over a link that is not there.
    #[error("the flow `{flow}` uses the link `{link}`, which does not exist")]
    NoLink {
        /// The flow.
        flow: String,
        /// The link that it names.
        link: String,
    },
    /// A path has no links.
    #[error("the flow `{flow}` has no links: give it the links of its path, or its destination")]
    NoPath {
        /// The flow.
        flow: String,
    },
    /// A capacity is no rate.
    #[error("the link `{link}` has a capacity of {given} bytes/s: needs a positive number")]
    Capacity {
        /// The link.
        link: String,
        /// The capacity given.
        given: f64,
    },
    /// A timeout is too short or too long.
    #[error("the agent `{agent}` has a time-out of {given:?}: needs {min:?} to {max:?}")]
    Timeout {
        /// The agent.
        agent: String,
        /// The timeout given.
        given: Duration,
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// There are too many retries.
    #[error("the agent `{agent}` has {given} retries: needs at most {max}")]
    Retries {
        /// The agent.
        agent: String,
        /// The number given.
        given: u32,
        /// The most.
        max: u32,
    },
    /// The credentials cannot be used by the protocol.
    #[error("the credentials for the agent `{agent}` cannot be used")]
    Credentials {
        /// The agent.
        agent: String,
        /// The error in the credentials.
        source: async_snmp::CryptoError,
    },
    /// The runtime that drives the requests could not be set up.
    #[error("cannot set up the SNMP client")]
    Runtime {
        /// The system's error.
        source: io::Error,
    },
}

/// The reason why an agent gave no reading, or a flow has none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnmpError {
    /// There was no answer, or none that belongs to the question.
    #[error(
        "the agent `{agent}` did not answer within {limit:?}: it is down, refuses this host, or has another community, user or passphrase"
    )]
    Silent {
        /// The agent.
        agent: String,
        /// The time that the agent had to answer.
        limit: Duration,
    },
    /// The agent does not take the user, or its answer is not authentic.
    #[error("the agent `{agent}` refuses the user, the passphrases or their protocols: {reason}")]
    Denied {
        /// The agent.
        agent: String,
        /// The report that it sent.
        reason: String,
    },
    /// The agent answered with an error.
    #[error("the agent `{agent}` answers with an error: {status}")]
    Refused {
        /// The agent.
        agent: String,
        /// The error status.
        status: String,
    },
    /// The answer is not one to the question: other objects, objects that do not increase, a table without end.
    #[error("the agent `{agent}` answers something other than it was asked: {what}")]
    Strange {
        /// The agent.
        agent: String,
        /// The difference from a right answer.
        what: &'static str,
    },
    /// The question could not be sent.
    #[error("the agent `{agent}` cannot be asked")]
    Unreachable {
        /// The agent.
        agent: String,
        /// The reason.
        source: Box<async_snmp::Error>,
    },
    /// The agent has no such interface.
    #[error("the agent `{agent}` has no interface {interface}")]
    NoInterface {
        /// The agent.
        agent: String,
        /// Its name or number.
        interface: String,
    },
    /// The agent has several interfaces of one name.
    #[error("the agent `{agent}` has {n_found} interfaces called `{interface}`: give the number of the right one")]
    Ambiguous {
        /// The agent.
        agent: String,
        /// The name.
        interface: String,
        /// The number of interfaces of that name.
        n_found: usize,
    },
    /// The agent does not count bytes of this interface, or counts something that is no number.
    #[error("the agent `{agent}` does not count the bytes of interface {interface}")]
    Uncounted {
        /// The agent.
        agent: String,
        /// Its name or number.
        interface: String,
    },
    /// The agent's values of an interface are impossible.
    #[error("the values of interface {interface} at the agent `{agent}` are not plausible")]
    Impossible {
        /// The agent.
        agent: String,
        /// Its name or number.
        interface: String,
        /// The reason why the values are impossible.
        source: Implausible,
    },
    /// A file of this host's kernel cannot be read.
    #[error("cannot find out how this host reaches {destination}")]
    Host {
        /// The destination of the flow.
        destination: IpAddr,
        /// The reason.
        source: ReadError,
    },
    /// There is no way from this host.
    #[error("this host has no route to {destination}")]
    NoRouteHere {
        /// The destination of the flow.
        destination: IpAddr,
    },
    /// No agent has the address that the flow comes from.
    #[error("no agent has the address {address} that the flow `{flow}` comes from")]
    NoSource {
        /// The flow.
        flow: String,
        /// The source of the flow.
        address: IpAddr,
    },
    /// A router on the way has no route.
    #[error("the agent `{agent}` has no route to {destination}")]
    NoRoute {
        /// The agent.
        agent: String,
        /// The destination of the flow.
        destination: IpAddr,
    },
    /// A router on the way has no agent that is known.
    #[error("the path of the flow `{flow}` is lost at {hop}: no agent has that address")]
    Lost {
        /// The flow.
        flow: String,
        /// The router's address.
        hop: IpAddr,
    },
    /// The routers send the flow round and round.
    #[error("the path of the flow `{flow}` has more than {limit} routers")]
    TooFar {
        /// The flow.
        flow: String,
        /// The greatest number of routers.
        limit: usize,
    },
    /// No agent covers any link of the way.
    #[error("no agent covers any link on the path of the flow `{flow}`")]
    NoLinks {
        /// The flow.
        flow: String,
    },
}

/// The reason why counts of an interface are rejected.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Implausible {
    /// A counter went backwards, and the agent did not start again.
    #[error("a counter went from {from} back to {to}")]
    WentBack {
        /// The count before.
        from: u64,
        /// The count now.
        to: u64,
    },
    /// More bytes than the interface can carry.
    #[error(
        "{rate:.0} bytes/s is more than its capacity of {capacity:.0} bytes/s: if that is right, give the link its capacity"
    )]
    TooFast {
        /// Bytes per second by the counter.
        rate: f64,
        /// Bytes per second that the interface can carry.
        capacity: f64,
    },
    /// The 32-bit counter may have wrapped more than once.
    #[error("its 32-bit counter may have wrapped more than once in {elapsed:?}: read it more often")]
    WrapsTooOften {
        /// The time between the two reads.
        elapsed: Duration,
    },
}

impl SnmpError {
    /// Translates `error`, which was caused by the agent called `agent`, which had `limit` to answer.
    pub(crate) fn of(agent: &str, limit: Duration, error: Box<async_snmp::Error>) -> SnmpError {
        let agent = agent.to_owned();
        match (error.kind(), error.exchange_source()) {
            (ErrorKind::Timeout, _) => SnmpError::Silent { agent, limit },
            (_, async_snmp::Error::Report { status, .. }) => SnmpError::Denied { agent, reason: status.to_string() },
            (ErrorKind::Auth, _) => SnmpError::Denied { agent, reason: "its answer is not authentic".to_owned() },
            (_, async_snmp::Error::Snmp { status, .. }) => SnmpError::Refused { agent, status: status.to_string() },
            (ErrorKind::ResponseShape, _) => SnmpError::Strange { agent, what: "other objects" },
            (ErrorKind::WalkAborted, _) => SnmpError::Strange { agent, what: "a table without end or out of order" },
            (ErrorKind::Decode | ErrorKind::MalformedResponse, _) => {
                SnmpError::Strange { agent, what: "a message that cannot be understood" }
            }
            _ => SnmpError::Unreachable { agent, source: error },
        }
    }
}
