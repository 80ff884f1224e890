//! Endpoints: where a component's streams come from and go to, in RPS's notation.
//!
//! `source:tcp:pyramid:5009` reads a stream that another component offers; `connect:tcp:5011` offers one to whoever
//! connects; `target:udp:239.99.99.99:5012` sends one there; `server:tcp:5010` answers requests (Dinda and O'Hallaron
//! 1999, section 6.4). One role is added: `accept:tcp:5013` reads from whoever connects, the other end of a `target:`.
//! Options follow a question mark: `connect:tcp:5011?backlog=256KiB&overflow=disconnect`.

mod nats;
mod options;
mod place;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use nats::{Keep, NatsPlace, Replay};
pub use place::{Host, Multicast, Place, Stdio, StreamName};

use options::Options;

/// The source or destination of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint {
    /// The direction of the stream, and the side that opens the connection.
    pub role: Role,
    /// The transport, and the place on it.
    pub place: Place,
    /// The backlog that is kept for a slow reader, if the role writes.
    pub backlog: Backlog,
    /// Whether TLS is used, of TCP.
    pub encryption: Encryption,
}

/// Whether a TCP endpoint uses TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encryption {
    /// TLS if the component has a certificate, or certificates to trust.
    #[default]
    AsConfigured,
    /// Not, for peers on this machine that have none.
    Off,
}

/// The direction of a stream, and the side that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// We connect, and read.
    Source,
    /// We connect, and write.
    Target,
    /// Others connect, and read.
    Connect,
    /// Others connect, and write.
    Accept,
    /// Others connect, ask, and are answered.
    Server,
}

/// The backlog that is kept for a slow reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backlog {
    /// The most bytes for each reader, 4 KiB to 1 GiB.
    pub bytes: usize,
    /// The action when there would be more.
    pub overflow: Overflow,
}

/// The treatment of a reader whose backlog is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The oldest messages go, and are counted.
    DropOldest,
    /// The reader goes.
    Disconnect,
}

impl Default for Backlog {
    /// 1 MiB, some 2,000 forecasts of 30 steps; the oldest go.
    fn default() -> Self {
        Self { bytes: 1 << 20, overflow: Overflow::DropOldest }
    }
}

/// A text that names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an endpoint: {reason}")]
pub struct EndpointError {
    /// The text given.
    pub given: String,
    /// The fault of the text, and its correction.
    pub reason: String,
}

impl Role {
    const ALL: [Self; 5] = [Self::Source, Self::Target, Self::Connect, Self::Accept, Self::Server];

    /// Returns the role as it is written in an endpoint.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
            Self::Connect => "connect",
            Self::Accept => "accept",
            Self::Server => "server",
        }
    }

    /// Whether messages come in by it.
    #[must_use]
    pub fn is_input(self) -> bool {
        matches!(self, Self::Source | Self::Accept)
    }

    /// Whether messages go out by it.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::Target | Self::Connect)
    }

    /// Whether others connect to it.
    #[must_use]
    pub fn listens(self) -> bool {
        matches!(self, Self::Connect | Self::Accept | Self::Server)
    }
}

impl Overflow {
    fn as_str(self) -> &'static str {
        match self {
            Self::DropOldest => "drop-oldest",
            Self::Disconnect => "disconnect",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = Options { backlog: self.backlog, encryption: self.encryption, ..Options::default() };
        match &self.place {
            Place::Nats(place) => (options.keep, options.replay) = (place.keep, place.replay),
            Place::Udp { multicast, .. } => options.multicast = multicast.clone(),
            _ => {}
        }
        write!(f, "{}:{}{options}", self.role, self.place)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        parse(given).map_err(|reason| EndpointError { given: given.to_owned(), reason })
    }
}

fn parse(given: &str) -> Result<Endpoint, String> {
    let (text, options) = given.split_once('?').unwrap_or((given, ""));
    let (role, place) = text.split_once(':').ok_or("it must be ROLE:TRANSPORT:PLACE, as in source:tcp:pyramid:5009")?;
    let role = Role::ALL
        .into_iter()
        .find(|candidate| candidate.as_str() == role)
        .ok_or_else(|| format!("`{role}` is not a role: it must be {}", Role::ALL.map(Role::as_str).join(", ")))?;
    let mut place = Place::parse(role, place)?;
    let Options { backlog, encryption, keep, replay, multicast: given } = options.parse()?;
    match &mut place {
        Place::Udp { host, multicast, .. } if host.is_group() => *multicast = given,
        _ if given != Multicast::default() => {
            return Err("interface and ttl are options of a multicast group".to_owned());
        }
        _ => {}
    }
    match &mut place {
        Place::Nats(place) => place.take(role, keep, replay)?,
        _ if keep.is_some() || replay.is_some() => return Err("durable and replay are options of nats".to_owned()),
        _ => {}
    }
    Ok(Endpoint { role, place, backlog, encryption })
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(text: &str) {
        assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
    }

    #[track_caller]
    fn check_refused(text: &str, reason: &str) {
        let error = text.parse::<Endpoint>().unwrap_err();
        assert_eq!((error.given.as_str(), error.reason.as_str()), (text, reason));
    }

    #[test]
    fn the_notation_of_rps_reads_back() {
        check_round_trip("source:tcp:pyramid:5009");
        check_round_trip("source:tcp:[fe80::1]:5009");
        check_round_trip("connect:tcp:5011");
        check_round_trip("connect:tcp:0.0.0.0:5011");
        check_round_trip("server:tcp:5010");
        check_round_trip("accept:tcp:5010");
        check_round_trip("target:udp:239.99.99.99:5012");
        check_round_trip("source:udp:[ff15::99]:5012?interface=eth1");
        check_round_trip("target:udp:239.99.99.99:5012?interface=eth1&ttl=4");
        check_round_trip("source:unix:/run/foretop/load");
        check_round_trip("target:pipe:/tmp/a:b");
        check_round_trip("target:stdio:stdout");
        check_round_trip("source:stdio:stdin");
        check_round_trip("target:file:trace.frames");
        check_round_trip("connect:unix:load?backlog=4096&overflow=disconnect");
        check_round_trip("source:tcp:localhost:5009?tls=off");
        check_round_trip("source:nats:foretop.samples.>?replay=600");
        check_round_trip("source:nats:load?since=600s");
        check_round_trip("target:nats:load?backlog=4096&durable=yes");
        check_round_trip("target:nats:load?durable=yes&keep-age=60s&keep-bytes=4096");
        check_round_trip("server:nats:foretop.ask.load");
        check_round_trip("source:name:load");
        check_round_trip("source:name:load@pyramid");
        check_round_trip("source:name:pred-server/load@pyramid");
    }

    #[test]
    fn what_names_no_endpoint_is_refused_with_what_would_be_right() {
        check_refused("tcp", "it must be ROLE:TRANSPORT:PLACE, as in source:tcp:pyramid:5009");
        check_refused("sink:tcp:1", "`sink` is not a role: it must be source, target, connect, accept, server");
        check_refused("source:tcp:5009", "`5009` lacks the host: it must be HOST:PORT");
        check_refused("source:tcp:a:99999", "`99999` is not a port: it must be a number, 1 to 65535");
        check_refused("source:tcp:a:0", "`0` is not a port: it must be a number, 1 to 65535");
        check_refused(
            "connect:tcp::1:5009",
            "`:1` is not a host: an IPv6 address stands in brackets, as in [::1]:5009",
        );
        check_refused("connect:udp:5009", "nobody connects by UDP: it must be target: or source:");
        check_refused("server:file:a", "nobody connects to a file: it must be target: or source:");
        check_refused("source:stdio:stdout", "it must be stdin for a source, stdout for a target");
        check_refused("source:unix:", "the path is missing");
        check_refused(
            "source:name:@a",
            "`@a` names no stream: it must be STREAM, STREAM@HOST or COMPONENT/STREAM@HOST",
        );
        check_refused("target:name:load", "a name can be read from only: it must be source:");
        check_refused("connect:tcp:1?backlog=1", "backlog must be 4KiB to 1GiB, not 1");
        check_refused("target:udp:239.99.99.99:5012?ttl=0", "ttl must be 1 to 255 hops, not `0`");
        check_refused("target:udp:pyramid:5012?ttl=4", "interface and ttl are options of a multicast group");
        check_refused("connect:tcp:1?overflow=block", "overflow must be drop-oldest or disconnect, not `block`");
        check_refused(
            "connect:tcp:1?colour=red",
            "there is no option `colour`: there are backlog, overflow, tls, of a multicast group interface, ttl, and of nats replay, since, after, durable, keep-age, keep-bytes",
        );
    }

    #[test]
    fn what_no_subject_can_do_is_refused() {
        check_refused("connect:nats:load", "nobody connects to a subject: it must be target: or source:");
        check_refused(
            "source:nats:",
            "`` is not a subject: it must be words joined by dots, without space, up to 256 bytes",
        );
        check_refused(
            "source:nats:a..b",
            "`a..b` is not a subject: it must be words joined by dots, without space, up to 256 bytes",
        );
        check_refused("target:nats:load.*", "`load.*` stands for many subjects, which only a source can have");
        check_refused("source:nats:load?durable=yes", "durable is for a target, replay for a source");
        check_refused("target:nats:load?replay=5", "durable is for a target, replay for a source");
        check_refused("target:nats:load?keep-age=5s", "keep-age and keep-bytes need durable=yes");
        check_refused("source:nats:load?replay=0", "replay must be a number of messages, 1 to 1000000, not 0");
        check_refused("source:tcp:a:1?replay=5", "durable and replay are options of nats");
    }

    #[test]
    fn a_backlog_is_written_in_units() {
        let endpoint: Endpoint = "connect:tcp:0?backlog=2MiB".parse().unwrap();
        assert_eq!(endpoint.backlog, Backlog { bytes: 2 << 20, overflow: Overflow::DropOldest });
    }
}
