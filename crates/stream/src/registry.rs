//! The registry: which streams run, and where they can be read.
//!
//! RPS left it to its users to know the addresses of their components. Here each mirror that is told to announces what its description
//! says: on this host as a small file in a folder of the user's, on the local network by multicast DNS (RFC 6762 and 6763) where
//! it listens beyond the loopback, and across sites in a bucket of a NATS server. No place has the whole truth: whoever looks asks
//! those that it is told to ask.

mod across;
mod lan;
mod local;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal::Glob;

use crate::endpoint::{Endpoint, Place};
use crate::error::OpenError;
use crate::message::{Carries, Description};
use crate::security::Security;

/// How often an announcement is made again.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// What was not announced for so long is there no more.
const SILENCE: Duration = Duration::from_secs(10);

/// More than a host or a network of ours ever has.
const N_FOUND_MAX: usize = 4096;

/// Longer, and it is no name.
const NAME_BYTES_MAX: usize = 256;

/// Where streams are announced and looked for.
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
    /// What it is called.
    pub stream: String,
    /// Whose signals these are.
    pub host: String,
    /// What its messages are.
    pub carries: Carries,
    /// The ids of its signals; of one that was found on the network the first of them only, as many as fit.
    pub signals: Vec<String>,
    /// What it is forecast with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it can be read, as in `tcp:127.0.0.1:5011`.
    pub addresses: Vec<String>,
    /// Where its component can be asked.
    #[serde(default)]
    pub servers: Vec<String>,
    /// The process that gives it, on its host.
    pub pid: u32,
    /// When it was announced, in nanoseconds since 1970-01-01 UTC by the clock of that host.
    pub heartbeat_ns: i64,
}

/// What is looked for; nothing where all will do.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// What the stream is called.
    pub stream: Option<Glob>,
    /// Whose signals.
    pub host: Option<Glob>,
    /// A signal that it has to have.
    pub signal: Option<Glob>,
    /// What it is forecast with.
    pub model: Option<Glob>,
}

/// Why nothing can be announced or found.
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
    pub(crate) fn new(description: Description, addresses: Vec<String>, servers: Vec<String>) -> Self {
        Self {
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

    /// What names it among all of its host.
    fn key(&self) -> String {
        let places = [&self.addresses[..], &self.servers[..]].concat().join(" ");
        format!("{}-{:08x}", self.pid, crc32fast::hash(places.as_bytes()))
    }

    fn is_sound(&self) -> bool {
        let names = [&self.stream, &self.host].into_iter().chain(&self.model).chain(&self.signals);
        names.chain(&self.addresses).chain(&self.servers).all(|name| name.len() <= NAME_BYTES_MAX)
    }

    /// Without the places that only its host can reach; `None` when there are no others.
    fn beyond_host(&self, tells: impl Fn(&Place) -> bool) -> Option<Self> {
        let reaches =
            |text: &&String| format!("source:{text}").parse().is_ok_and(|endpoint: Endpoint| tells(&endpoint.place));
        let kept = |places: &[String]| places.iter().filter(reaches).cloned().collect::<Vec<_>>();
        let there = Self { addresses: kept(&self.addresses), servers: kept(&self.servers), ..self.clone() };
        (!there.addresses.is_empty() || !there.servers.is_empty()).then_some(there)
    }
}

impl Query {
    /// Exactly this stream.
    #[must_use]
    pub fn of_name(stream: &str, host: Option<&str>) -> Self {
        Self { stream: Some(Glob::exactly(stream)), host: host.map(Glob::exactly), ..Self::default() }
    }

    fn matches(&self, found: &Announcement) -> bool {
        agrees(self.stream.as_ref(), [&found.stream])
            && agrees(self.host.as_ref(), [&found.host])
            && agrees(self.signal.as_ref(), &found.signals)
            && agrees(self.model.as_ref(), &found.model)
    }
}

fn agrees<'a>(glob: Option<&Glob>, names: impl IntoIterator<Item = &'a String>) -> bool {
    glob.is_none_or(|glob| names.into_iter().any(|name| glob.matches(name)))
}

/// Looks for running streams on this host, and where `security`'s registry says so on the network, which is waited for, and in NATS.
/// Sorted by stream and host, this host's before others.
///
/// # Errors
/// [`RegistryError`] when one of them cannot be asked.
pub fn find(query: &Query, wait: Duration, security: &Security) -> Result<Vec<Announcement>, RegistryError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(RegistryError::Bucket)?.block_on(find_async(query, wait, security))
}

pub(crate) async fn find_async(
    query: &Query,
    wait: Duration,
    security: &Security,
) -> Result<Vec<Announcement>, RegistryError> {
    let registry = &security.registry;
    let mut found = local::find(registry.folder.as_deref())?;
    if registry.lan {
        found.extend(lan::find(wait).await?);
    }
    if registry.across {
        found.extend(across::find(security).await?);
    }
    found.retain(|found| found.is_sound() && query.matches(found));
    // One that is known here already is not told again as others see it.
    let mut known = std::collections::HashSet::new();
    found.retain(|found| known.insert((found.stream.clone(), found.host.clone(), found.pid, found.carries)));
    found.sort_by(|a, b| (&a.stream, &a.host).cmp(&(&b.stream, &b.host)));
    Ok(found)
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
            && let Some(beyond) = announcement
                .beyond_host(|place| matches!(place, Place::Tcp { host: Some(host), .. } if !host.is_loopback()))
        {
            self.lan = Some(lan::announce(&beyond, self.lan.take())?);
        }
        let reaches_sites = |place: &Place| match place {
            Place::Tcp { host: Some(host), .. } => !host.is_loopback(),
            place => matches!(place, Place::Nats(_)),
        };
        if registry.across
            && let Some(beyond) = announcement.beyond_host(reaches_sites)
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
