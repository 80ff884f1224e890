//! The node itself: everything put together, started in order and stopped in reverse.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use clock::Clock;
use door::Door;
use sensor::{ContainerLimits, Host};
use signal::{FAMILIES, Family, Readings};
use stream::ServerTls;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use watch::{Thread, Watch};

use crate::api;
use crate::catch_up::{Bell, CatchUp};
use crate::config::Config;
use crate::engine::{Engine, FeedPlan};
use crate::error::StartError;
use crate::feed::{self, Feed};
use crate::fitter::Fitter;
use crate::http::{self, Access};
use crate::hub::{Facts, Hub, Listeners};
use crate::listen::listen;
use crate::mpi::Jobs;
use crate::outlet::{Home, Outlets};
use crate::processes::{self, HostProcesses};
use crate::remote::Remotes;
use crate::restore::{Restored, restore};
use crate::sampler::{self, Sampler};
use crate::schedule::Schedule;
use crate::store::{self, MEMORY_RETENTION_MAX, Opened, Store};
use crate::warnings::{Warden, Warnings};

/// A running node: samples, stores, forecasts and serves until it is stopped.
///
/// One that is dropped ends its threads too, but cuts off requests under way; prefer [`Node::stop`].
#[derive(Debug)]
pub struct Node {
    address: SocketAddr,
    is_encrypted: bool,
    absent: Vec<api::Absent>,
    watch: Watch,
    hub: Weak<Hub>,
    server: Server,
    parts: Parts,
}

/// Parts that run on threads of their own, in the order in which they end: whoever hands something on before whoever
/// takes it. Nothing here is held by the hub, and the hub is gone with the last of those who hold it.
struct Parts {
    /// Its threads read what no other part has to do with. Handlers of requests hold it too.
    jobs: Arc<Jobs>,
    /// It asks the hub, and writes beside the store.
    _warnings: Warnings,
    /// They hand ticks to the hub, and with it to all that follow.
    _samplers: sampler::Running,
    /// It reads the processes, and hands minutes of them to the store.
    _processes: Thread,
    /// Their threads ask the hub.
    _remotes: Remotes,
    _outlets: Outlets,
    /// It lets models take what they are behind with.
    _catch_up: CatchUp,
    _fitter: Fitter,
    /// Nobody steps a model any more.
    _saver: Saver,
    /// It writes what all others said.
    _store: store::Running,
}

/// Saves the states of all series when it is dropped.
struct Saver(Arc<Hub>);

impl Drop for Saver {
    fn drop(&mut self) {
        self.0.save_states();
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Reads after which every signal of a host has been there: rates and availabilities take two or three.
const N_LOOKS: usize = 5;

/// The time between these reads: the kernel counts the time of a core in hundredths of a second.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time between checks whether the node can go on.
const LOOK_FOR_FAILURE_EVERY: Duration = Duration::from_millis(200);

/// The task that serves requests. Dropping it cuts off those that are under way.
#[derive(Debug)]
struct Server {
    shutdown: oneshot::Sender<()>,
    task: AbortOnDrop,
}

#[derive(Debug)]
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    fn start(listener: TcpListener, tls: Option<ServerTls>, door: Door, router: axum::Router) -> Self {
        let (shutdown, asked) = oneshot::channel();
        let task = tokio::spawn(serve(listener, tls, door, router, asked));
        Self { shutdown, task: AbortOnDrop(task) }
    }

    /// Lets requests under way come to their end, for some seconds.
    async fn stop(mut self) {
        // An error says that the server has ended already.
        let _ = self.shutdown.send(());
        if let Err(error) = (&mut self.task.0).await {
            tracing::error!(%error, "the server failed");
        }
    }
}

impl Node {
    /// Starts a node that reads its host and `feeds`. When this returns, it listens, the store is open, the states of
    /// series are restored, and the samplers run; models take beside that what came after their states.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    ///
    /// # Cancellation
    /// Whoever drops the future may have to wait until the store is open before the data directory is free again.
    pub async fn start(config: Config, feeds: Vec<Feed>) -> Result<Self, StartError> {
        config.check()?;
        let listener = listen(config.listen).await?;
        let address =
            listener.local_addr().map_err(|source| StartError::CannotListen { address: config.listen, source })?;
        let access = Access { listen: address, token: config.token.clone(), guesses: Default::default() };
        let (tls, door) = (config.tls.clone(), config.door.clone());
        if access.token.is_some() && tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(%address, "the token and all samples travel in the clear; give --tls-cert and --tls-key");
        }
        let kernel = config.kernel.clone();
        let (clock, watch): (Arc<dyn Clock>, _) = (Arc::new(clock::System::start()), config.watch.clone());
        let begun = tokio::task::spawn_blocking(move || begin(&config, feeds, clock, address)).await;
        let (parts, hub) = begun.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let absent = hub.health().absent;
        let is_encrypted = tls.is_some();
        let kept = Arc::downgrade(&hub);
        let router = http::router(hub, Arc::clone(&parts.jobs), kernel, access);
        let server = Server::start(listener, tls, door, router);
        Ok(Self { address, is_encrypted, absent, watch, hub: kept, server, parts })
    }

    /// Returns the address at which the node listens; the real port if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https` where it has a certificate, else `http`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }

    /// The node and all its series, as `GET /api/v1/series` has them; `None` once the server has failed.
    #[must_use]
    pub fn list(&self) -> Option<api::SeriesList> {
        let hub = self.hub.upgrade()?;
        Some(api::SeriesList { node: hub.info(), series: hub.list() })
    }

    /// Signals that this host does not offer, and why.
    #[must_use]
    pub fn absent(&self) -> &[api::Absent] {
        &self.absent
    }

    /// Waits until the node cannot go on, because the thread of its store or the task that accepts connections has
    /// ended, and says why. Whoever runs the node then ends the process with an error, so that a service manager starts
    /// it again.
    pub async fn failed(&self) -> String {
        loop {
            if let Some(reason) = self.failure() {
                return reason;
            }
            tokio::time::sleep(LOOK_FOR_FAILURE_EVERY).await;
        }
    }

    fn failure(&self) -> Option<String> {
        let no_server = || self.server.task.0.is_finished().then(|| "the HTTP server has ended by itself".to_owned());
        self.watch.fatal().or_else(no_server)
    }

    /// Whether the node can go on, and its host is sampled: what a service manager's watchdog wants to know.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.failure().is_none() && self.hub.upgrade().is_some_and(|hub| hub.silence().is_none())
    }

    /// Stops serving and sampling, and writes what waits.
    pub async fn stop(self) {
        self.server.stop().await;
        let parts = self.parts;
        if let Err(error) = tokio::task::spawn_blocking(move || drop(parts)).await {
            tracing::error!(%error, "a part of the node failed while it ended");
        }
    }
}

async fn serve(
    listener: TcpListener,
    tls: Option<ServerTls>,
    door: Door,
    router: axum::Router,
    asked: oneshot::Receiver<()>,
) {
    let shutdown = async {
        // A sender that is gone means the same as one that asks.
        let _ = asked.await;
    };
    http::serve(listener, tls.map(|tls| tls.config()), router, door, shutdown).await;
}

/// Everything that blocks: sensors, store, replay, threads. Who is told something starts before who tells it.
fn begin(
    config: &Config,
    mut feeds: Vec<Feed>,
    clock: Arc<dyn Clock>,
    address: SocketAddr,
) -> Result<(Parts, Arc<Hub>), StartError> {
    let watch = &config.watch;
    let mut followed = Vec::with_capacity(config.follow.len());
    for follow in config.follow.iter().cloned() {
        let (feed, watched) = follow.start()?;
        feeds.push(feed);
        followed.push(watched);
    }
    feed::check(&feeds)?;
    let mut host = open_host(config)?;
    if feeds.is_empty() {
        check_selection(config, &*clock)?;
    }
    if let Some(settings) = config.hybrid {
        host.start_hybrid(settings)?;
    }
    let plans: Vec<FeedPlan> = feeds.iter().map(|feed| feed.plan(&config.model)).collect();
    let base = Base::open(config, &plans, &host, Arc::clone(&clock))?;
    let jobs =
        Jobs::new(config.mpi_jobs.clone(), base.facts.info.host.clone(), Arc::clone(&clock), config.watch.clone());
    let bell = Bell::default();
    let fitter = Fitter::start(Arc::clone(&base.engine), bell.clone(), watch).map_err(StartError::NoThread)?;
    let outlets = Outlets::start(config.outlets.clone(), &base.home(), watch)?;
    let mut remotes = Remotes::open(&config.remote_writes, config.data_dir.as_deref(), watch)?;
    let listeners = Listeners {
        fits: Some(fitter.queue()),
        bell: Some(bell.clone()),
        remotes: remotes.listeners(),
        outlets: outlets.listeners(),
        followed,
    };
    let (hub, schedule, store) = base.hub(listeners);
    let catch_up = CatchUp::start(bell, Arc::clone(&hub), watch).map_err(StartError::NoThread)?;
    remotes.collect(&config.remote_writes, &hub, watch)?;
    let mut samplers = vec![Sampler::new(Arc::clone(&clock), schedule, Box::new(host), None, Arc::clone(&hub))];
    for (feed, plan) in feeds.into_iter().zip(plans) {
        let schedule = Schedule::start(feed.step, clock.monotonic(), clock.wall(), hub.last_label_of_feed(&plan.name));
        samplers.push(Sampler::new(Arc::clone(&clock), schedule, feed.source, Some(plan), Arc::clone(&hub)));
    }
    let samplers = sampler::start(samplers, watch).map_err(StartError::NoThread)?;
    let scanning = processes::start(Arc::clone(&hub), watch).map_err(StartError::NoThread)?;
    let page = page_at(address, config.tls.is_some(), &hub.info().host);
    let warden = Warden::new(&config.warnings, Arc::clone(&hub), config.data_dir.as_deref(), page, watch)?;
    let parts = Parts {
        jobs: Arc::new(jobs),
        _warnings: Warnings::start(warden, watch)?,
        _samplers: samplers,
        _processes: scanning,
        _remotes: remotes,
        _outlets: outlets,
        _catch_up: catch_up,
        _fitter: fitter,
        _saver: Saver(Arc::clone(&hub)),
        _store: store,
    };
    Ok((parts, hub))
}

/// Returns the address of the page for people: by the host's name, unless it can be reached from this host alone or at
/// one address.
fn page_at(address: SocketAddr, is_encrypted: bool, host: &str) -> String {
    let scheme = if is_encrypted { "https" } else { "http" };
    if address.ip().is_unspecified() {
        return format!("{scheme}://{host}:{}/", address.port());
    }
    format!("{scheme}://{address}/")
}

/// Opens the host with all that is read of it without probes.
fn open_host(config: &Config) -> Result<Host, StartError> {
    let mut host = Host::open(&config.root)?;
    host.start_watch(&config.root, &config.programs);
    Ok(host)
}

/// Checks that something of the host is measured.
fn check_selection(config: &Config, clock: &dyn Clock) -> Result<(), StartError> {
    let has_no_label = |family: &&Family| family.label_name().is_none();
    if FAMILIES.iter().filter(has_no_label).any(|family| config.select.takes(&family.pattern)) {
        return Ok(());
    }
    let mut host = open_host(config)?;
    let mut readings = Readings::default();
    let mut ids = BTreeSet::new();
    for _ in 0..N_LOOKS {
        host.read(clock.monotonic(), &mut readings);
        ids.extend(readings.iter().map(|(signal, _)| Arc::clone(signal.id())));
        if ids.iter().any(|id| config.select.takes(id)) {
            return Ok(());
        }
        clock::sleep(LOOK_EVERY);
    }
    // A host that says nothing at this moment may do so later.
    if ids.is_empty() { Ok(()) } else { Err(StartError::NothingSelected { n_signals: ids.len() }) }
}

/// Limits of this node's control group, if any is tighter than the host.
fn limits(root: &Path) -> Option<api::HostLimits> {
    let ContainerLimits { memory_bytes, cpu_cores } = ContainerLimits::read(root);
    (memory_bytes.is_some() || cpu_cores.is_some()).then_some(api::HostLimits { memory_bytes, cpu_cores })
}

/// The base of a hub: an open store, and an engine with the series in it.
pub(crate) struct Base {
    facts: Facts,
    clock: Arc<dyn Clock>,
    pub(crate) engine: Arc<Mutex<Engine>>,
    schedule: Schedule,
    store: Store,
    writing: store::Running,
    processes: HostProcesses,
}

impl Base {
    pub(crate) fn open(
        config: &Config,
        feeds: &[FeedPlan],
        host: &Host,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let opened = Opened::open(config.data_dir.as_deref(), config.retention, config.store_max)?;
        let Restored { engine, last_label, changed } = restore(&opened, config, feeds)?;
        let (store, writing) = opened.run(&config.watch)?;
        store.put(changed);
        let (monotonic, wall) = (clock.monotonic(), clock.wall());
        let absent = host.absent().iter();
        let facts = Facts {
            info: api::NodeInfo {
                host: sensor::host_name(&config.root).unwrap_or_else(|| "unknown".to_owned()),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started: wall,
                step_seconds: config.step.as_secs_f64(),
                model: config.model.to_string(),
                has_kernel_agent: config.kernel.is_some(),
                limits: limits(&config.root),
            },
            absent: absent
                .map(|one| api::Absent { signal: one.signal.to_owned(), reason: one.reason.clone() })
                .collect(),
            patience: patience(config),
            select: config.select.clone(),
            outlooks: config.outlooks.clone(),
            step: config.step,
            watch: config.watch.clone(),
            began: monotonic,
        };
        let schedule = Schedule::start(config.step, monotonic, wall, last_label);
        let (engine, processes) = (Arc::new(Mutex::new(engine)), HostProcesses::open(&config.root));
        Ok(Self { facts, clock, engine, schedule, store, writing, processes })
    }

    /// Returns the properties of the node that streams that go out need.
    fn home(&self) -> Home {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        Home {
            host: self.facts.info.host.clone(),
            model: self.facts.info.model.clone(),
            step: engine.sensor_plan().step,
            engine: Arc::clone(&self.engine),
            clock: Arc::clone(&self.clock),
        }
    }

    /// The hub that tells `listeners`, when to sample the host, and what writes the store.
    pub(crate) fn hub(self, listeners: Listeners) -> (Arc<Hub>, Schedule, store::Running) {
        let hub = Hub::new(self.facts, self.clock, self.engine, self.store, self.processes, listeners);
        (Arc::new(hub), self.schedule, self.writing)
    }
}

/// Returns the time for which a silent series is listed: as long as there is history of it.
fn patience(config: &Config) -> Duration {
    match config.data_dir {
        Some(_) => config.retention,
        None => config.retention.min(MEMORY_RETENTION_MAX),
    }
}
