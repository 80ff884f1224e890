//! The configuration of a node: built-in values, under a file, under the environment and the flags.
//!
//! Reading it does not look at the machine; [`Settings::to_node_config`] does. Specified in docs/formats/cli.md.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use door::Door;
use etcetera::BaseStrategy;
use http_client::{Address, Login, Trust};
use node::Config;
use secret::Token;
use sensor::WatchList;
use serde::{Deserialize, Serialize};
use signal::Selection;
use watch::Watch;

use super::Flags;
use super::feeds::{KernelSection, QuerySection, ResponderSection, ScrapeSection, SnmpSection, TransferSection};
use super::remote_write::RemoteWriteSection;
use super::sections::{
    AccessSection, ForecastSection, HybridSection, LogSection, MpiSection, NodeSection, StoreSection,
};
use super::streams::{FollowSection, StreamSection};
use super::warnings::{ServerSection, WarnSection};
use command_line::argument::Peer;
use command_line::secret::warn_of;

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub node: NodeSection,
    pub hybrid: HybridSection,
    pub forecast: ForecastSection,
    pub store: StoreSection,
    pub access: AccessSection,
    pub mpi: MpiSection,
    pub warn: WarnSection,
    pub log: LogSection,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelSection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responder: Option<ResponderSection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snmp: Option<SnmpSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<QuerySection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote_write: Vec<RemoteWriteSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scrape: Vec<ScrapeSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transfer: Vec<TransferSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stream: Vec<StreamSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow: Vec<FollowSection>,
}

impl Settings {
    /// Built-in values, under those of `file`, under those of `flags`, which the environment has filled up.
    pub fn load(file: Option<&Path>, flags: Flags) -> anyhow::Result<Self> {
        let mut settings = match file {
            None => Self::default(),
            Some(path) => Self::read(path)?,
        };
        settings.overlay(flags);
        if !settings.store.in_memory && settings.store.data_dir.is_none() {
            settings.store.data_dir = Some(default_data_dir()?);
        }
        Ok(settings)
    }

    /// Reads a file, with built-in values for what it leaves out.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        toml::from_str(&text).with_context(|| format!("`{}` is not a configuration", path.display()))
    }

    fn overlay(&mut self, flags: Flags) {
        let Flags {
            listen,
            data_dir,
            in_memory,
            every,
            model,
            time_zone,
            retention,
            tls_cert,
            tls_key,
            ca,
            store_max,
            token_file,
            only,
            without,
            watch,
            hybrid,
            root,
            scrape,
            patterns,
            flow,
            responder,
            flow_token_file,
            query,
            prometheus,
            history,
            remote_write,
            stream,
            follow,
            stream_token_file,
            rules,
            alertmanager,
            mpi_jobs,
            kernel,
            log,
        } = flags;
        replace(&mut self.node.listen, listen);
        replace(&mut self.node.every, every);
        replace(&mut self.node.root, root);
        replace_all(&mut self.node.only, only);
        replace_all(&mut self.node.without, without);
        replace_all(&mut self.node.watch, watch);
        self.hybrid.enabled |= hybrid;
        replace(&mut self.forecast.model, model);
        self.forecast.time_zone = time_zone.or_else(|| self.forecast.time_zone.take());
        replace(&mut self.store.retention, retention);
        replace(&mut self.store.max, store_max);
        replace(&mut self.mpi.jobs, mpi_jobs);
        replace(&mut self.log.filter, log);
        self.warn.rules = rules.or_else(|| self.warn.rules.take());
        replace_all(&mut self.warn.alertmanager, alertmanager.into_iter().map(ServerSection::new));
        // Exporters, queries, peers and servers that are named here stand for all of the file's.
        let scrapes = scrape.into_iter().map(|url| ScrapeSection::new(url, patterns.clone()));
        replace_all(&mut self.scrape, scrapes);
        let server = || prometheus.clone().unwrap_or_default();
        let queries = query.into_iter().map(|one| QuerySection::new(server(), one, history));
        replace_all(&mut self.query, queries);
        replace_all(&mut self.remote_write, remote_write.into_iter().map(RemoteWriteSection::new));
        let token = || flow_token_file.clone().unwrap_or_default();
        let transfers = flow.into_iter().map(|Peer { name, address }| TransferSection::new(name, address, token()));
        replace_all(&mut self.transfer, transfers);
        let responder = responder.map(|listen| ResponderSection { listen, token_file: token() });
        self.responder = responder.or_else(|| self.responder.take());
        self.kernel = kernel.map(KernelSection::new).or_else(|| self.kernel.take());
        let streams = (!stream.is_empty()).then(|| vec![StreamSection::new(stream, stream_token_file.clone())]);
        replace(&mut self.stream, streams);
        let followed = follow.into_iter().map(|endpoint| FollowSection::new(endpoint, stream_token_file.clone()));
        replace_all(&mut self.follow, followed);
        let scraped = self.scrape.iter_mut().map(|section| &mut section.authorities);
        let queried = self.query.iter_mut().map(|section| &mut section.authorities);
        let written = self.remote_write.iter_mut().map(|section| &mut section.authorities);
        let warned = self.warn.alertmanager.iter_mut().chain(&mut self.warn.webhook);
        let warned = warned.map(|section| &mut section.authorities);
        for authorities in scraped.chain(queried).chain(written).chain(warned) {
            *authorities = authorities.take().or_else(|| ca.clone());
        }
        self.access.certificate = tls_cert.or_else(|| self.access.certificate.take());
        self.access.key = tls_key.or_else(|| self.access.key.take());
        self.access.token_file = token_file.or_else(|| self.access.token_file.take());
        // A folder that is given here outweighs a file that asks for none.
        self.store.in_memory = in_memory || (self.store.in_memory && data_dir.is_none());
        self.store.data_dir = data_dir.or_else(|| self.store.data_dir.take());
    }

    /// The form that a configuration file has.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        toml::to_string(self).context("cannot write the configuration as TOML")
    }

    /// Feeds, streams and servers, each of which may have files open.
    pub fn n_neighbours(&self) -> usize {
        let read = self.scrape.len()
            + self.query.len()
            + self.transfer.len()
            + usize::from(self.snmp.is_some())
            + usize::from(self.kernel.is_some());
        let WarnSection { alertmanager, webhook, command, mail, .. } = &self.warn;
        let told = alertmanager.len() + webhook.len() + command.len() + mail.len();
        read + told + self.remote_write.len() + self.stream.len() + self.follow.len()
    }

    /// Returns the node's configuration, checked against this machine; `watch` watches its threads, and all who connect
    /// come through `door`.
    ///
    /// # Errors
    /// When a name does not resolve, a glob is none, an entry of `watch` can match nothing, or a file of a token or
    /// certificate is not usable. Ranges are for the node to check.
    pub fn to_node_config(&self, watch: Watch, door: Door) -> anyhow::Result<Config> {
        let outlet = |stream: &StreamSection| {
            let mut outlet = stream.to_outlet()?;
            outlet.security.door = door.clone();
            anyhow::Ok(outlet)
        };
        Ok(Config {
            listen: resolve(&self.node.listen)?,
            root: self.node.root.clone(),
            data_dir: self.store.place().map(Path::to_owned),
            step: self.node.every,
            model: self.forecast.model.clone(),
            outlooks: self.forecast.outlooks().context("[forecast]")?,
            retention: self.store.retention,
            store_max: self.store.max,
            token: self.access.token_file.as_deref().map(Token::from_file).transpose()?,
            tls: self.access.tls()?,
            select: Selection::new(&self.node.only, &self.node.without)?,
            programs: WatchList::new(&self.node.watch)?,
            hybrid: self.hybrid.enabled.then_some(self.hybrid.settings()),
            remote_writes: self.to_remote_writes()?,
            outlets: self.stream.iter().map(outlet).collect::<Result<_, _>>()?,
            follow: self.follow.iter().map(FollowSection::to_follow).collect::<Result<_, _>>()?,
            warnings: self.to_warnings()?,
            mpi_jobs: self.mpi.jobs.clone(),
            kernel: self.kernel.as_ref().map(|kernel| kernel.socket.clone()),
            watch,
            door,
        })
    }
}

fn replace<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

/// Replaces all values by the given ones, if there are any.
fn replace_all<T>(values: &mut Vec<T>, given: impl IntoIterator<Item = T>) {
    let given: Vec<T> = given.into_iter().collect();
    if !given.is_empty() {
        *values = given;
    }
}

/// `$XDG_DATA_HOME/foretop`, or `~/.local/share/foretop`.
fn default_data_dir() -> anyhow::Result<PathBuf> {
    let base = etcetera::base_strategy::Xdg::new()
        .context("cannot tell the user's data folder; name one with --data-dir, or keep nothing with --in-memory")?;
    Ok(base.data_dir().join("foretop"))
}

pub fn resolve(listen: &str) -> anyhow::Result<SocketAddr> {
    let wanted = || format!("cannot listen on `{listen}`; it must be HOST:PORT, as in 127.0.0.1:7311");
    match listen.to_socket_addrs().with_context(wanted)?.next() {
        Some(address) => Ok(address),
        None => bail!("cannot listen on `{listen}`: this name has no address"),
    }
}

/// Returns the certificate authorities that are trusted, from the key that sections have for them.
pub fn trust(authorities: &Option<PathBuf>) -> anyhow::Result<Trust> {
    Ok(authorities.as_deref().map(Trust::from_file).transpose()?.unwrap_or_default())
}

/// Says in the log when a token or password leaves this host unencrypted.
pub fn warn_of_clear(login: &Login, server: &Address) {
    if *login != Login::None && server.is_in_the_clear() {
        let server = server.host_and_port();
        tracing::warn!(server, "the token or password is sent in the clear, for all on the way to read; use https://");
    }
}

/// Returns the credentials of the log-in, from the three keys that sections have for it.
pub fn login(
    token_file: &Option<PathBuf>,
    user: &Option<String>,
    password_file: &Option<PathBuf>,
) -> anyhow::Result<Login> {
    let login = match (token_file.clone(), user.clone(), password_file.clone()) {
        (None, None, None) => Login::None,
        (Some(token_file), None, None) => Login::Bearer { token_file },
        (None, Some(user), Some(password_file)) => Login::Basic { user, password_file },
        _ => bail!("to log in, it needs `token_file`, or both `user` and `password_file`"),
    };
    warn_of(login.exposed().as_ref());
    Ok(login)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        let settings = Settings::default();
        assert_eq!(toml::from_str::<Settings>(&settings.to_toml().unwrap()).unwrap(), settings);
    }

    #[test]
    fn a_file_may_set_a_part() {
        let settings: Settings = toml::from_str("[node]\nevery = '100ms'\n[forecast]\nmodel = 'bm(8)'\n").unwrap();
        assert_eq!(settings.node.every, Duration::from_millis(100));
        assert_eq!(settings.forecast.model.to_string(), "BM(8)");
        assert_eq!(settings.store, StoreSection::default());
    }

    #[test]
    fn a_slip_in_a_file_is_refused_by_name() {
        for (text, name) in
            [("[nodes]\n", "nodes"), ("[node]\nevry = '1s'\n", "evry"), ("[node]\nevery = '1'\n", "`1`")]
        {
            let error = toml::from_str::<Settings>(text).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
