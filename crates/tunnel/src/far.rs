//! The far end: near ends connect to it, and it to the targets that they may reach.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dedup::RunId;
use secret::Token;
use signal::Glob;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::config::{Config, FarReady};
use crate::counters::Counters;
use crate::error::{LinkError, StartError};
use crate::files;
use crate::handshake::{HANDSHAKE_LIMIT, LINK, Terms, random, welcome};
use crate::link::{Common, Link, Opening, Work};
use crate::memory::Memory;
use crate::part::{Component, Components};
use crate::relay::{Local, relay};
use crate::status::{Status, Teller, Watcher};
use crate::transport::{Arrived, Listener, tune};

/// Time limit for the answer of a target.
const TARGET_LIMIT: Duration = Duration::from_secs(10);

/// A far end that listens.
pub struct Far {
    listener: Listener,
    shared: Arc<Shared>,
    teller: Teller,
    status: tokio::net::UnixListener,
    stop: watch::Sender<bool>,
}

struct Shared {
    common: Common,
    components: Components,
    token: Token,
    allow: Vec<Glob>,
    sockets: Vec<PathBuf>,
    files: Option<Arc<Path>>,
    links: Mutex<Vec<Weak<Link>>>,
    /// Becomes true when no more streams are taken.
    draining: watch::Sender<bool>,
}

impl Far {
    /// Opens the store and binds. Needs a runtime around it.
    ///
    /// # Errors
    /// When the configuration makes no sense, or something in it cannot be had.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        Self::start_with(config, Components::default()).await
    }

    /// The same with these components.
    ///
    /// # Errors
    /// When the configuration makes no sense, or something in it cannot be had.
    pub async fn start_with(config: &Config, components: Components) -> Result<Self, StartError> {
        let FarReady { listen, allow, sockets, files, tls } = config.far()?;
        let listener = Listener::bind(listen, tls).await?;
        let ready = config.ready()?;
        let memory = Memory::new(ready.store);
        let counters = Arc::new(Counters::default());
        let teller = Teller {
            end: "far",
            listens: vec![told(listener.address())],
            counters: Arc::clone(&counters),
            memory: memory.clone(),
            steering: ready.steering.clone(),
        };
        let status = teller.listen(&ready.status);
        let status = status.map_err(|source| StartError::Unreadable { path: ready.status, source })?;
        let (stop, stopped) = watch::channel(false);
        let (settings, steering, n_window) = (ready.settings, ready.steering, ready.n_window);
        let common = Common {
            memory,
            counters,
            settings,
            steering,
            neighbours: None,
            n_window,
            drain: ready.drain,
            stop: stopped,
        };
        let (links, draining) = (Mutex::default(), watch::Sender::new(false));
        let token = ready.token;
        let shared = Arc::new(Shared { common, components, token, allow, sockets, files, links, draining });
        Ok(Self { listener, shared, teller, status, stop })
    }

    /// Returns the address at which near ends connect.
    ///
    /// # Panics
    /// Never: what is bound has an address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address().expect("what is bound has an address")
    }

    /// Returns the status of the far end.
    #[must_use]
    pub fn status(&self) -> Status {
        self.teller.status()
    }

    /// Returns a watcher, which reports the status while the far end runs.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        Watcher::new(&self.teller)
    }

    /// Serves until `enough`, then lets streams come to their end for a while, and writes what the store has in memory
    /// only.
    pub async fn run(self, enough: impl Future<Output = ()>) {
        let shared = &self.shared;
        let accept = self.listener.serve(shared.no_more_taken(), |arrived, peer| {
            let shared = Arc::clone(shared);
            async move { serve(&shared, arrived, peer).await }
        });
        let stop = async {
            enough.await;
            self.shared.draining.send_replace(true);
            self.shared.common.drain(|| self.shared.links()).await;
            self.stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = accept => {}
            () = stop => {}
            () = self.teller.tell(self.status) => {}
            () = self.shared.common.keep() => {}
        }
        self.listener.leave().await;
        self.shared.common.end().await;
    }
}

impl Shared {
    /// The links that are there.
    fn links(&self) -> Vec<Arc<Link>> {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.iter().filter_map(Weak::upgrade).collect()
    }

    fn add(&self, link: &Arc<Link>) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(link));
    }

    /// Returns when no more streams are taken.
    async fn no_more_taken(&self) {
        // The sender is in `self`.
        let _ = self.draining.subscribe().wait_for(|draining| *draining).await;
    }
}

pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { address, source })
}

/// An address as it is told.
pub(crate) fn told(address: std::io::Result<SocketAddr>) -> String {
    address.map_or_else(|error| error.to_string(), |address| address.to_string())
}

/// The terms of a new link, whose run has a name that was never used.
pub(crate) fn terms(common: &Common) -> Result<Terms, LinkError> {
    let run = RunId(random()?);
    Ok(Terms { run, anchor_bits: common.settings.anchor_bits, n_window: common.n_window })
}

async fn serve(shared: &Arc<Shared>, arrived: Arrived, peer: SocketAddr) {
    let (openings_in, openings) = mpsc::unbounded_channel();
    let made = async {
        let (mut stream, binding) = arrived.admit().await?;
        let ours = terms(&shared.common)?;
        let theirs = welcome(&mut stream, binding, &shared.token, LINK, ours).await?;
        Ok::<_, LinkError>(Link::new(shared.common.clone(), stream, (ours, theirs), Some(openings_in)))
    };
    let made = tokio::select! {
        made = tokio::time::timeout(HANDSHAKE_LIMIT, made) => made,
        () = shared.common.stopped() => return,
    };
    let (link, parts) = match made.unwrap_or(Err(LinkError::Silent { seconds: HANDSHAKE_LIMIT.as_secs() })) {
        Ok(made) => made,
        Err(error) => {
            shared.common.counters.links_failed_total.add(1);
            tracing::warn!(%peer, error = &error as &dyn std::error::Error, "no link with a near end");
            return;
        }
    };
    shared.common.counters.links_total.add(1);
    shared.add(&link);
    tracing::info!(%peer, "link made");
    let (error, ()) = tokio::join!(link.run(parts), open_all(shared, &link, openings));
    if !matches!(error, LinkError::Ended) {
        shared.common.counters.links_failed_total.add(1);
    }
    tracing::info!(%peer, error = &error as &dyn std::error::Error, "link ended");
}

/// Connects what the near end opens, until the link has ended and all streams with it.
async fn open_all(shared: &Arc<Shared>, link: &Arc<Link>, mut openings: mpsc::UnboundedReceiver<Opening>) {
    let mut streams = JoinSet::new();
    loop {
        let opening = tokio::select! {
            Some(opening) = openings.recv() => opening,
            Some(_) = streams.join_next() => continue,
            () = link.ended() => break,
        };
        let (shared, link) = (Arc::clone(shared), Arc::clone(link));
        streams.spawn(async move { open(&shared, &link, opening).await });
    }
    streams.shutdown().await;
}

async fn open(shared: &Shared, link: &Arc<Link>, opening: Opening) {
    let Opening { stream, component, target, inbound } = opening;
    let counters = &shared.common.counters;
    match reach(shared, &component, &target).await {
        Ok((local, cutter)) => {
            link.send_opened(stream);
            if let Err(broken) = relay(link, stream, cutter, inbound, local).await {
                counters.streams_failed_total.add(1);
                tracing::info!(stream, target, %broken, "stream broken");
            }
        }
        Err(reason) => {
            counters.streams_failed_total.add(1);
            tracing::info!(stream, target, reason, "stream refused");
            link.give(Work::Reset { stream, reason }).await;
            link.forget(stream);
        }
    }
}

async fn reach(shared: &Shared, component: &str, target: &str) -> Result<(Local, Box<dyn Component>), String> {
    if *shared.draining.borrow() {
        return Err("the far end is about to end".to_owned());
    }
    let cutter = shared.components.make(component);
    let cutter = cutter
        .ok_or_else(|| format!("the far end has no component `{component}`; it has {}", shared.components.names()))?;
    let local = match target.strip_prefix("unix:") {
        Some(path) => Local::Unix(reach_process(shared, Path::new(path)).await?),
        None if target == files::TARGET => Local::Unix(reach_files(shared)?),
        None => Local::Tcp(reach_host(shared, target).await?),
    };
    Ok((local, cutter))
}

fn reach_files(shared: &Shared) -> Result<UnixStream, String> {
    let root = shared.files.as_ref().ok_or("the far end has no `files`")?;
    files::connect(root).map_err(|error| format!("the far end cannot open a connection to its files: {error}"))
}

async fn reach_process(shared: &Shared, path: &Path) -> Result<UnixStream, String> {
    let shown = path.display();
    if !shared.sockets.iter().any(|socket| socket == path) {
        return Err(format!("`{shown}` is not among what the far end's `sockets` lists"));
    }
    UnixStream::connect(path).await.map_err(|error| format!("the far end cannot reach `{shown}`: {error}"))
}

async fn reach_host(shared: &Shared, target: &str) -> Result<TcpStream, String> {
    if !shared.allow.iter().any(|allowed| allowed.matches(target)) {
        return Err(format!("`{target}` is not among what the far end's `allow` lists"));
    }
    let connected = tokio::time::timeout(TARGET_LIMIT, TcpStream::connect(target)).await;
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(format!("the far end cannot reach `{target}`: {error}")),
        Err(_) => return Err(format!("`{target}` does not answer the far end")),
    };
    tune(&stream).map_err(|error| error.to_string())?;
    Ok(stream)
}
