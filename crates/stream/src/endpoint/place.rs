//! The transports, and what a place on each of them is called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::Role;
use super::nats::NatsPlace;

/// A transport and a place on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A TCP port. Without a host it is one of the loopback.
    Tcp {
        /// Where.
        host: Option<Host>,
        /// Which; 0 for any free one, of what listens.
        port: u16,
    },
    /// A UDP port of a host, or of a multicast group.
    Udp {
        /// The host or the group.
        host: Host,
        /// Which.
        port: u16,
        /// The way in which a group is reached.
        multicast: Multicast,
    },
    /// A Unix domain socket.
    Unix(PathBuf),
    /// A named pipe, made where there is none.
    Pipe(PathBuf),
    /// A standard stream of the process.
    Stdio(Stdio),
    /// A file; a source reads it to its end, a target appends.
    File(PathBuf),
    /// A subject of a NATS server.
    Nats(NatsPlace),
    /// A stream that is looked for each time that it is opened.
    Name(StreamName),
}

/// The way in which a multicast group is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Multicast {
    /// The network interface; the one that the routes say where there is none.
    pub interface: Option<String>,
    /// The number of hops that datagrams go, 1 to 255; if absent, the default of the system, which is 1.
    pub ttl: Option<u8>,
}

/// The name by which a stream is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamName {
    /// The component that provides the stream, if that matters.
    pub component: Option<String>,
    /// The name of the stream.
    pub stream: String,
    /// The host of the stream, if that matters.
    pub host: Option<String>,
}

/// A host, by name or address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name, looked up each time that it is connected to.
    Name(String),
}

/// A standard stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stdio {
    /// Standard input.
    Stdin,
    /// Standard output.
    Stdout,
}

impl Host {
    /// This machine, reached by nobody else.
    pub const LOOPBACK: Self = Self::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// Whether it is a group of hosts.
    #[must_use]
    pub fn is_group(&self) -> bool {
        matches!(self, Self::Address(address) if address.is_multicast())
    }

    /// Whether only this machine can be meant.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost",
        }
    }
}

impl Place {
    pub(super) fn parse(role: Role, text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        match scheme {
            "tcp" => tcp(role, rest),
            "udp" => {
                not_listening(role, "by UDP")?;
                let (host, port) = host_and_port(rest)?;
                Ok(Self::Udp { host, port: port_number(port, 1)?, multicast: Multicast::default() })
            }
            "unix" => path(rest).map(Self::Unix),
            "pipe" => {
                not_listening(role, "to a pipe")?;
                path(rest).map(Self::Pipe)
            }
            "file" => {
                not_listening(role, "to a file")?;
                path(rest).map(Self::File)
            }
            "nats" => NatsPlace::parse(role, rest).map(Self::Nats),
            "name" => name(role, rest),
            "stdio" => match (role, rest) {
                (Role::Source, "stdin") => Ok(Self::Stdio(Stdio::Stdin)),
                (Role::Target, "stdout") => Ok(Self::Stdio(Stdio::Stdout)),
                _ => Err("it must be stdin for a source, stdout for a target".to_owned()),
            },
            _ => Err(format!(
                "`{scheme}` is not a transport: it must be tcp, udp, unix, pipe, stdio, file, nats or name"
            )),
        }
    }
}

pub(super) fn not_listening(role: Role, how: &str) -> Result<(), String> {
    if role.listens() {
        return Err(format!("nobody connects {how}: it must be target: or source:"));
    }
    Ok(())
}

fn tcp(role: Role, text: &str) -> Result<Place, String> {
    let port_min = u16::from(!role.listens());
    if role.listens() && !text.contains(':') {
        return Ok(Place::Tcp { host: None, port: port_number(text, port_min)? });
    }
    let (host, port) = host_and_port(text)?;
    Ok(Place::Tcp { host: Some(host), port: port_number(port, port_min)? })
}

fn host_and_port(text: &str) -> Result<(Host, &str), String> {
    let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("`{text}` lacks the host: it must be HOST:PORT"))?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match (bracketed, host.parse::<IpAddr>()) {
        (Some(inner), _) => {
            let address = inner.parse().map_err(|_| format!("`{inner}` is not an IPv6 address"))?;
            Host::Address(IpAddr::V6(address))
        }
        (None, Ok(address)) if address.is_ipv4() => Host::Address(address),
        _ if host.contains(':') => {
            return Err(format!("`{host}` is not a host: an IPv6 address stands in brackets, as in [::1]:5009"));
        }
        _ if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') => {
            return Err(format!("`{host}` is not a host"));
        }
        _ => Host::Name(host.to_owned()),
    };
    Ok((host, port))
}

fn port_number(text: &str, min: u16) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|port| *port >= min)
        .ok_or_else(|| format!("`{text}` is not a port: it must be a number, {min} to 65535"))
}

fn name(role: Role, text: &str) -> Result<Place, String> {
    if role != Role::Source {
        return Err("a name can be read from only: it must be source:".to_owned());
    }
    let (component, rest) = text.split_once('/').map_or((None, text), |(component, rest)| (Some(component), rest));
    let (stream, host) = rest.split_once('@').map_or((rest, None), |(stream, host)| (stream, Some(host)));
    if stream.is_empty() || host == Some("") || component == Some("") {
        return Err(format!("`{text}` names no stream: it must be STREAM, STREAM@HOST or COMPONENT/STREAM@HOST"));
    }
    let [component, host] = [component, host].map(|text| text.map(str::to_owned));
    Ok(Place::Name(StreamName { component, stream: stream.to_owned(), host }))
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("the path is missing".to_owned());
    }
    Ok(PathBuf::from(text))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(component) = &self.component {
            write!(f, "{component}/")?;
        }
        f.write_str(&self.stream)?;
        self.host.as_ref().map_or(Ok(()), |host| write!(f, "@{host}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host: None, port } => write!(f, "tcp:{port}"),
            Self::Tcp { host: Some(host), port } => write!(f, "tcp:{host}:{port}"),
            Self::Udp { host, port, .. } => write!(f, "udp:{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Pipe(path) => write!(f, "pipe:{}", path.display()),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Name(name) => write!(f, "name:{name}"),
            Self::Nats(place) => write!(f, "nats:{}", place.subject),
            Self::Stdio(Stdio::Stdin) => f.write_str("stdio:stdin"),
            Self::Stdio(Stdio::Stdout) => f.write_str("stdio:stdout"),
        }
    }
}
