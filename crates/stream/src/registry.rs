//! The registry: which streams run, and where they can be read.
//!
//! RPS left it to its users to know the addresses of their components. Here each mirror that is told to announces what
//! its description says: on this host as a small file in a folder of the user's, on the local network by multicast DNS
//! (RFC 6762 and 6763) where it listens beyond the loopback, and across sites in a bucket of a NATS server. No place
//! has the whole truth: whoever looks asks those that it is told to ask.

mod across;
mod lan;
mod local;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal::Glob;

use crate::endpoint::{Endpoint, Host, Place, StreamName};
use crate::error::OpenError;
use crate::message::{Carries, Description};
use crate::security::Security;

/// The interval at which an announcement is made again.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// Time without an announcement after which a stream counts as gone.
const SILENCE: Duration = Duration::from_secs(10);

/// More than a host or a network of ours ever has.
const N_FOUND_MAX: usize = 4096;

/// Longer, and it is no name.
const NAME_BYTES_MAX: usize = 256;

/// The places where streams are announced and looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// The folder of this host's streams; that of the user where there is none.
    pub folder: Option<PathBuf>,
    /// Whether mirrors announce themselves.
    pub announces: bool,
    /// Whether the local network is told of what listens beyond this host, and asked.
    pub lan: bool,
    /// Whether the NATS server is told, and asked.
    pub across: bool,
}

/// A running stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// The component that provides the stream, as in `pred-server`.
    #[serde(default)]
    pub component: String,
    /// The name of the stream.
    pub stream: String,
    /// The host whose signals these are.
    pub host: String,
    /// The kind of the stream's messages.
    pub carries: Carries,
    /// The ids of its signals; of one that was found on the network the first of them only, as many as fit.
    pub signals: Vec<String>,
    /// The model that forecasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The addresses at which the stream can be read, as in `tcp:127.0.0.1:5011`.
    pub addresses: Vec<String>,
    /// The addresses at which the stream's component can be asked.
    #[serde(default)]
    pub servers: Vec<String>,
    /// The process that gives it, on its host.
    pub pid: u32,
    /// When it was announced, in nanoseconds since 1970-01-01 UTC by the clock of that host.
    pub heartbeat_ns: i64,
}

/// The criteria of a search; all absent if every stream will do.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The component that gives it.
    pub component: Option<Glob>,
    /// The name of the stream.
    pub stream: Option<Glob>,
    /// The host whose signals these are.
    pub host: Option<Glob>,
    /// A signal that it has to have.
    pub signal: Option<Glob>,
    /// The model that forecasts.
    pub model: Option<Glob>,
}

/// The reason why nothing can be announced or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The folder of this host's streams cannot be used.
    #[error("cannot use the folder `{}` of running streams", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could put lies into it.
    #[error("the folder `{}` of running streams must belong to this user alone: it needs mode 700 and this owner", path.display())]
    Exposed {
        /// The folder.
        path: PathBuf,
    },
    /// The local network cannot be asked.
    #[error("cannot ask the local network")]
    Lan(#[source] Box<mdns_sd::Error>),
    /// The NATS server cannot be asked.
    #[error("cannot ask the NATS server")]
    Nats(#[source] Box<OpenError>),
    /// It was asked, and failed.
    #[error("the NATS server cannot keep the list of running streams")]
    Bucket(#[source] io::Error),
}

impl Announcement {
    pub(crate) fn new(
        component: String,
        description: Description,
        addresses: Vec<String>,
        servers: Vec<String>,
    ) -> Self {
        Self {
            component,
            stream: description.stream,
            host: description.host,
            carries: description.carries,
            signals: description.signals.into_iter().map(|signal| signal.id).collect(),
            model: description.model,
            addresses,
            servers,
            pid: std::process::id(),
            heartbeat_ns: clock::now().as_nanos(),
        }
    }

    /// Returns the name by which the stream is found.
    #[must_use]
    pub fn name(&self) -> StreamName {
        let component = (!self.component.is_empty()).then(|| self.component.clone());
        StreamName { component, stream: self.stream.clone(), host: Some(self.host.clone()) }
    }

    /// Returns the key that distinguishes the announcement from all others of its host.
    fn key(&self) -> String {
        let places = [&self.addresses[..], &self.servers[..]].concat().join(" ");
        format!("{}-{:08x}", self.pid, crc32fast::hash(places.as_bytes()))
    }

    fn is_sound(&self) -> bool {
        let names = [&self.component, &self.stream, &self.host].into_iter().chain(&self.model).chain(&self.signals);
        names.chain(&self.addresses).chain(&self.servers).all(|name| name.len() <= NAME_BYTES_MAX)
    }

    /// Returns the announcement with only the places that `is_kept` accepts; `None` if there are none.
    fn with_places(&self, is_kept: impl Fn(&str) -> bool) -> Option<Self> {
        let kept = |places: &[String]| places.iter().filter(|text| is_kept(text)).cloned().collect::<Vec<_>>();
        let there = Self { addresses: kept(&self.addresses), servers: kept(&self.servers), ..self.clone() };
        (there.n_places() > 0).then_some(there)
    }

    fn n_places(&self) -> usize {
        self.addresses.len() + self.servers.len()
    }
}

/// Parses a place as that of a target, so that a subject stands for one subject, never for many.
fn place(text: &str) -> Option<Place> {
    format!("target:{text}").parse().ok().map(|endpoint: Endpoint| endpoint.place)
}

/// Whether the local network is told of a place.
fn is_beyond_host(text: &str) -> bool {
    matches!(place(text), Some(Place::Tcp { host: Some(host), .. }) if !host.is_loopback())
}

/// Whether a place that somebody else announced may be connected to: a subject, or a port of another host.
///
/// Anybody can announce anything, and where that leads to this host it is somebody's wish to have this process connect
/// there, or make a file. A name could lead here when it is looked up, so there has to be an address. Options are for
/// whoever reads to choose.
fn is_elsewhere(text: &str) -> bool {
    place(text).is_some_and(|place| {
        let leads_away = match &place {
            Place::Tcp { host: Some(Host::Address(ip)), .. } => {
                let ip = ip.to_canonical();
                !ip.is_loopback() && !ip.is_unspecified()
            }
            place => matches!(place, Place::Nats(_)),
        };
        leads_away && place.to_string() == text
    })
}

/// The announcements that were found, and the number of places that are not trusted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) announcements: Vec<Announcement>,
    /// Places that others announced and that may be on this host.
    pub(crate) n_ignored: usize,
}

impl Found {
    /// Adds what others say, as far as it leads to others.
    fn add_hearsay(&mut self, heard: Vec<Announcement>) {
        for announcement in heard {
            let believed = announcement.with_places(is_elsewhere);
            self.n_ignored += announcement.n_places() - believed.as_ref().map_or(0, Announcement::n_places);
            self.announcements.extend(believed);
        }
    }
}

impl Query {
    /// Exactly this stream.
    #[must_use]
    pub fn of_name(StreamName { component, stream, host }: &StreamName) -> Self {
        let [component, host] = [component, host].map(|name| name.as_deref().map(Glob::exactly));
        Self { component, stream: Some(Glob::exactly(stream)), host, ..Self::default() }
    }

    fn matches(&self, found: &Announcement) -> bool {
        agrees(self.component.as_ref(), [&found.component])
            && agrees(self.stream.as_ref(), [&found.stream])
            && agrees(self.host.as_ref(), [&found.host])
            && agrees(self.signal.as_ref(), &found.signals)
            && agrees(self.model.as_ref(), &found.model)
    }
}

fn agrees<'a>(glob: Option<&Glob>, names: impl IntoIterator<Item = &'a String>) -> bool {
    glob.is_none_or(|glob| names.into_iter().any(|name| glob.matches(name)))
}

/// Looks for running streams on this host, and where `security`'s registry says so on the network, which is waited for,
/// and in NATS. Sorted by stream, host and component, this host's before others.
///
/// # Errors
/// [`RegistryError`] when one of them cannot be asked.
pub fn find(query: &Query, wait: Duration, security: &Security) -> Result<Vec<Announcement>, RegistryError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let found = runtime.map_err(RegistryError::Bucket)?.block_on(find_async(query, wait, security))?;
    Ok(found.announcements)
}

pub(crate) async fn find_async(query: &Query, wait: Duration, security: &Security) -> Result<Found, RegistryError> {
    let registry = &security.registry;
    // Nobody else can write to the folder, so what is in it is believed.
    let mut all = Found { announcements: local::find(registry.folder.as_deref())?, n_ignored: 0 };
    if registry.lan {
        all.add_hearsay(lan::find(wait).await?);
    }
    if registry.across {
        all.add_hearsay(across::find(security).await?);
    }
    if all.n_ignored > 0 {
        tracing::warn!(n_places = all.n_ignored, "places that others announced were ignored: they may be on this host");
    }
    let found = &mut all.announcements;
    found.retain(|found| found.is_sound() && query.matches(found));
    // One that is known here already is not told again as others see it.
    let mut known = std::collections::HashSet::new();
    found.retain(|found| known.insert((found.name(), found.pid, found.carries)));
    found.sort_by(|a, b| (&a.stream, &a.host, &a.component).cmp(&(&b.stream, &b.host, &b.component)));
    Ok(all)
}

/// Announces one stream wherever it should be, again and again, and takes that back when it is dropped.
pub(crate) struct Announcer {
    security: Security,
    local: Option<local::Announced>,
    lan: Option<lan::Announced>,
    across: Option<across::Bucket>,
}

impl Announcer {
    pub(crate) fn new(security: &Security) -> Self {
        Self { security: security.clone(), local: None, lan: None, across: None }
    }

    pub(crate) async fn announce(&mut self, announcement: Announcement) -> Result<(), RegistryError> {
        let registry = &self.security.registry;
        self.local = Some(local::announce(registry.folder.as_deref(), &announcement, self.local.take())?);
        if registry.lan
            && let Some(beyond) = announcement.with_places(is_beyond_host)
        {
            self.lan = Some(lan::announce(&beyond, self.lan.take())?);
        }
        if registry.across
            && let Some(beyond) = announcement.with_places(is_elsewhere)
        {
            let bucket = match self.across.take() {
                Some(bucket) => bucket,
                None => across::Bucket::open(&self.security).await?,
            };
            bucket.put(&beyond).await?;
            self.across = Some(bucket);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(addresses: &[&str]) -> Announcement {
        Announcement {
            component: "writer".to_owned(),
            stream: "load".to_owned(),
            host: "pyramid".to_owned(),
            carries: Carries::Sample,
            signals: vec![],
            model: None,
            addresses: addresses.iter().map(ToString::to_string).collect(),
            servers: vec![],
            pid: 1,
            heartbeat_ns: 0,
        }
    }

    #[test]
    fn what_others_announce_leads_to_other_hosts_or_nowhere() {
        let away = ["tcp:192.0.2.1:5011", "tcp:[2001:db8::1]:5011", "nats:foretop.load"];
        let here = [
            "tcp:127.0.0.1:22",
            "tcp:127.1.2.3:22",
            "tcp:[::1]:22",
            "tcp:[::ffff:127.0.0.1]:22",
            "tcp:0.0.0.0:22",
            "tcp:[::]:22",
            "tcp:localhost:22",
            "tcp:localhost.example:22",
            "udp:192.0.2.1:5011",
            "unix:/run/secret",
            "pipe:/tmp/fifo",
            "file:/etc/passwd",
            "stdio:stdin",
            "name:load",
            "nats:load?replay=1000000",
            "nats:>",
            "no place at all",
        ];
        let mut found = Found::default();
        found.add_hearsay(vec![heard(&[&here[..], &away].concat()), heard(&here)]);
        assert_eq!(found, Found { announcements: vec![heard(&away)], n_ignored: 2 * here.len() });
    }
}
