//! The configuration of a tunnel's end, as `docs/howto/tunnel.md` explains it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dedup::{Key, Packing};
use rustls::pki_types::ServerName;
use secret::Token;
use segment_store::{Folder, Policy, Store};
use serde::Deserialize;
use signal::Glob;
use units::ByteCount;

use crate::error::StartError;
use crate::frame::dedup_group_max;
use crate::level::Level;
use crate::near::RAW;
use crate::part::Components;
use crate::steering::Steering;
use crate::transport::{Carrier, FarTls, NearTls, NearTlsChoice, is_loopback};

/// A file's text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    #[serde(default)]
    transfer: Transfer,
    security: Security,
    store: StoreText,
    near: Option<Near>,
    far: Option<Far>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Transfer {
    level: LevelText,
    carrier: Carrier,
    anchor_bits: u32,
    window: ByteCount,
    drain: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`level` is \"paced\", \"auto\", \"bypass\", \"anchors\", or a level of zstd from 0, which packs nothing, to 19"
)]
enum LevelText {
    Number(u8),
    Name(LevelName),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LevelName {
    Paced,
    Auto,
    Bypass,
    Anchors,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Security {
    token: PathBuf,
    authorities: Option<PathBuf>,
    name: Option<String>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreText {
    folder: PathBuf,
    tenant: Option<String>,
    memory: Option<ByteCount>,
    disk: Option<ByteCount>,
    #[serde(default)]
    give_up: GiveUp,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GiveUp {
    #[default]
    LeastRecentlyUsed,
    Oldest,
}

/// The addresses at which programs connect, and the far end to which the connections go.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Near {
    pub connect: String,
    #[serde(default)]
    pub forward: Vec<Forward>,
    pub proxy: Option<SocketAddr>,
    /// The address at which other near ends may ask for what this one remembers.
    lend: Option<SocketAddr>,
    /// Near ends that are asked for what is missing here.
    #[serde(default)]
    neighbours: Vec<String>,
}

/// A place here that stands for one at the far end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forward {
    pub listen: SocketAddr,
    pub target: String,
    #[serde(default = "raw")]
    pub component: String,
}

fn raw() -> String {
    RAW.to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Far {
    listen: SocketAddr,
    allow: Vec<String>,
    #[serde(default)]
    sockets: Vec<PathBuf>,
    files: Option<PathBuf>,
}

/// An end of a tunnel as it is described in a file.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    text: Text,
}

/// The settings of a near end, and the TLS settings of those whom it calls and of those who call it.
pub(crate) struct NearReady {
    pub near: Near,
    pub tls: NearTlsChoice,
    pub neighbours: Vec<(String, NearTlsChoice)>,
    pub lend: Option<(SocketAddr, FarTls)>,
}

/// The services of a far end.
pub(crate) struct FarReady {
    pub listen: SocketAddr,
    pub allow: Vec<Glob>,
    pub sockets: Vec<PathBuf>,
    pub files: Option<Arc<Path>>,
    pub tls: FarTls,
}

/// The settings that both ends need.
pub(crate) struct Ready {
    pub token: Token,
    pub settings: dedup::Settings,
    pub steering: Steering,
    pub n_window: u32,
    pub drain: Duration,
    pub store: Store,
    pub status: PathBuf,
}

/// The first level, if levels are chosen.
const LEVEL: u8 = 5;

impl Default for Transfer {
    fn default() -> Self {
        let level = LevelText::Name(LevelName::Paced);
        let (window, drain) = (ByteCount::new(4 << 20), "5s".to_owned());
        Self { level, carrier: Carrier::Tcp, anchor_bits: 8, window, drain }
    }
}

impl Config {
    /// Reads a file. Paths in it begin at its folder.
    ///
    /// # Errors
    /// When it cannot be read, or makes no sense.
    pub fn read(path: &Path) -> Result<Self, StartError> {
        let text =
            fs::read_to_string(path).map_err(|source| StartError::Unreadable { path: path.to_owned(), source })?;
        let text: Text = toml::from_str(&text)
            .map_err(|source| StartError::Config { path: path.to_owned(), source: Box::new(source) })?;
        let config = Self { path: path.to_owned(), text };
        config.check()?;
        Ok(config)
    }

    /// Returns the path of the socket at which a running tunnel reports its status.
    #[must_use]
    pub fn status(&self) -> PathBuf {
        self.place(&self.text.store.folder).join("status.sock")
    }

    fn check(&self) -> Result<(), StartError> {
        let Transfer { level, anchor_bits, window, .. } = self.text.transfer;
        if self.text.format != 1 {
            return Err(self.wrong(format!("`format` is {}, and this version reads 1", self.text.format)));
        }
        if let LevelText::Number(level @ 20..) = level {
            return Err(self.wrong(format!("`level` is {level}; it goes from 0, which packs nothing, to 19")));
        }
        if !(4..=16).contains(&anchor_bits) {
            return Err(self.wrong(format!("`anchor_bits` is {anchor_bits}; it goes from 4 to 16")));
        }
        if !((64 << 10)..=(64 << 20)).contains(&window.bytes()) {
            return Err(self.wrong(format!("`window` is {window}; it goes from 64KiB to 64MiB")));
        }
        self.drain().map(drop)
    }

    fn drain(&self) -> Result<Duration, StartError> {
        units::span::parse(&self.text.transfer.drain).map_err(|error| self.wrong(format!("`drain`: {error}")))
    }

    pub(crate) fn ready(&self) -> Result<Ready, StartError> {
        let Transfer { level, anchor_bits, window, .. } = self.text.transfer;
        let token = Token::from_file(&self.place(&self.text.security.token))?;
        let text = &self.text.store;
        let key = Key::of_tenant(token.reveal().as_bytes(), text.tenant.as_deref().unwrap_or(""));
        let (level, is_chosen) = match level {
            LevelText::Number(0) | LevelText::Name(LevelName::Anchors) => (Level::Anchors, false),
            LevelText::Number(level) => (Level::Zstd(level), false),
            LevelText::Name(LevelName::Bypass) => (Level::Bypass, false),
            LevelText::Name(LevelName::Paced) => (Level::Paced, false),
            LevelText::Name(LevelName::Auto) => (Level::Zstd(LEVEL), true),
        };
        // What each encoder is told before its first group.
        let packing = Packing::Plain;
        let settings = dedup::Settings { key, anchor_bits, packing, n_group_max: dedup_group_max() };
        let defaults = segment_store::Settings::default();
        let store_settings = segment_store::Settings {
            key,
            anchor_bits,
            memory_bytes: text.memory.map_or(defaults.memory_bytes, ByteCount::bytes),
            disk_bytes: text.disk.map_or(defaults.disk_bytes, ByteCount::bytes),
            policy: match text.give_up {
                GiveUp::LeastRecentlyUsed => Policy::LeastRecentlyUsed,
                GiveUp::Oldest => Policy::Oldest,
            },
            ..defaults
        };
        let path = self.place(&text.folder);
        let folder = Folder::open(&path)?;
        let store = Store::open(Box::new(folder), store_settings)
            .map_err(|source| StartError::Store { path: path.clone(), source })?;
        let steering = Steering::new(level, is_chosen);
        Ok(Ready {
            token,
            settings,
            steering,
            n_window: window.bytes() as u32,
            drain: self.drain()?,
            store,
            status: self.status(),
        })
    }

    pub(crate) fn near(&self, components: &Components) -> Result<NearReady, StartError> {
        let near = self.text.near.clone().ok_or_else(|| self.wrong("there is no section [near]".to_owned()))?;
        if near.forward.is_empty() && near.proxy.is_none() {
            return Err(self.wrong("nothing would listen: [near] has neither `forward` nor `proxy`".to_owned()));
        }
        for Forward { listen, component, .. } in &near.forward {
            if components.make(component).is_none() {
                let known = components.names();
                return Err(self.wrong(format!("`component` of {listen} is `{component}`; there are {known}")));
            }
        }
        let tls = self.calling("connect", &near.connect, self.text.security.name.as_ref())?;
        let calling = |address: &String| Ok((address.clone(), self.calling("neighbours", address, None)?));
        let neighbours = near.neighbours.iter().map(calling).collect::<Result<_, StartError>>()?;
        let lend = match near.lend {
            Some(listen) => Some((listen, self.called(&listen)?)),
            None => None,
        };
        Ok(NearReady { near, tls, neighbours, lend })
    }

    /// Returns how the listener at `address`, which `key` has, is authenticated: by this name, or that of the host.
    fn calling(&self, key: &str, address: &str, name: Option<&String>) -> Result<NearTlsChoice, StartError> {
        let host = address.rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']']).to_owned());
        let host = host.ok_or_else(|| self.wrong(format!("`{key}` has `{address}`, which lacks `:PORT`")))?;
        let Some(authorities) = &self.text.security.authorities else {
            let is_local = host == "localhost" || host.parse().is_ok_and(|ip| is_loopback(&SocketAddr::new(ip, 0)));
            let is_quic = self.text.transfer.carrier == Carrier::Quic;
            return match is_local {
                true if is_quic => Err(self.wrong(
                    "QUIC is always encrypted: give `authorities`, certificates that vouch for the other end, in [security]"
                        .to_owned(),
                )),
                true => Ok(NearTlsChoice::Tcp(None)),
                false => Err(self.wrong(format!(
                    "`{host}` is another machine: give `authorities`, certificates that vouch for it, in [security]"
                ))),
            };
        };
        let path = self.place(authorities);
        let config = tls::certificates(&read(&path)?).and_then(tls::client);
        let config = config.map_err(|source| StartError::Tls { path, source })?;
        let name = name.cloned().unwrap_or(host);
        let name = ServerName::try_from(name.clone())
            .map_err(|_| self.wrong(format!("`name` is `{name}`, which is neither a host's name nor an address")))?;
        let tls = NearTls { config, name };
        Ok(match self.text.transfer.carrier {
            Carrier::Tcp => NearTlsChoice::Tcp(Some(tls)),
            Carrier::Quic => NearTlsChoice::Quic(tls),
        })
    }

    pub(crate) fn far(&self) -> Result<FarReady, StartError> {
        let far = self.text.far.as_ref().ok_or_else(|| self.wrong("there is no section [far]".to_owned()))?;
        let allow = far
            .allow
            .iter()
            .map(|text| text.parse::<Glob>().map_err(|error| self.wrong(format!("`allow` has `{text}`: {error}"))));
        let allow = allow.collect::<Result<Vec<Glob>, _>>()?;
        let files = far.files.as_ref().map(|folder| Arc::from(self.place(folder)));
        if let Some(missing) = files.as_ref().filter(|folder: &&Arc<Path>| !folder.is_dir()) {
            return Err(self.wrong(format!("`files` is `{}`, which is no folder", missing.display())));
        }
        let tls = self.called(&far.listen)?;
        Ok(FarReady { listen: far.listen, allow, sockets: far.sockets.clone(), files, tls })
    }

    /// Returns how this end is authenticated to those who call it at `listen`.
    fn called(&self, listen: &SocketAddr) -> Result<FarTls, StartError> {
        let (certificate, key) = match (&self.text.security.certificate, &self.text.security.key) {
            (Some(certificate), Some(key)) => (self.place(certificate), self.place(key)),
            (None, None) if self.text.transfer.carrier == Carrier::Quic => {
                let wanted = "QUIC is always encrypted: give `certificate` and `key` in [security]";
                return Err(self.wrong(wanted.to_owned()));
            }
            (None, None) if is_loopback(listen) => return Ok(FarTls::Tcp(None)),
            (None, None) => {
                let wanted = format!("other machines can reach {listen}: give `certificate` and `key` in [security]");
                return Err(self.wrong(wanted));
            }
            _ => return Err(self.wrong("`certificate` and `key` go together".to_owned())),
        };
        let config = tls::server(&read(&certificate)?, &read(&key)?);
        let config = config.map_err(|source| StartError::Tls { path: certificate, source })?;
        Ok(match self.text.transfer.carrier {
            Carrier::Tcp => FarTls::Tcp(Some(config)),
            Carrier::Quic => FarTls::Quic(config),
        })
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    fn wrong(&self, what: String) -> StartError {
        StartError::Value { path: self.path.clone(), what }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    fs::read(path).map_err(|source| StartError::Unreadable { path: path.to_owned(), source })
}
