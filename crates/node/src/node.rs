//! The node itself: everything put together, started in order and stopped in reverse.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use sensor::Host;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api;
use crate::config::Config;
use crate::engine::FeedPlan;
use crate::error::StartError;
use crate::feed::{self, Feed};
use crate::http::{self, Access};
use crate::hub::{Facts, Hub};
use crate::listen::listen;
use crate::remote;
use crate::restore::{Restored, restore};
use crate::sampler::{Pace, Sampler};
use crate::schedule::Schedule;
use crate::store::{MEMORY_RETENTION_MAX, Opened};

/// A running node: samples, stores, forecasts and serves until it is stopped.
///
/// One that is dropped ends its threads too, but cuts off requests under way; prefer [`Node::stop`].
#[derive(Debug)]
pub struct Node {
    address: SocketAddr,
    absent: Vec<api::Absent>,
    shutdown: oneshot::Sender<()>,
    server: JoinHandle<()>,
    parts: Parts,
}

/// What runs on threads of its own.
struct Parts {
    /// Dropped first, so that nothing is handed to a store that is closed.
    paces: Vec<Pace>,
    /// Next, because their threads hold the hub.
    remotes: remote::Running,
    hub: Arc<Hub>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("paces", &self.paces).finish_non_exhaustive()
    }
}

impl Node {
    /// Starts a node that reads its host and `feeds`. When this returns, it listens, the store is open, the last history
    /// is replayed, and the samplers run.
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
        let access = Access { listen: address, token: config.token.clone() };
        let clock: Arc<dyn Clock> = Arc::new(clock::System::start());
        let parts = tokio::task::spawn_blocking(move || begin(&config, feeds, clock)).await;
        let (parts, absent) = parts.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let (shutdown, asked) = oneshot::channel();
        let server = tokio::spawn(serve(listener, Arc::clone(&parts.hub), access, asked));
        Ok(Self { address, absent, shutdown, server, parts })
    }

    /// Where the node listens; the real port where 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Signals that this host does not offer, and why.
    #[must_use]
    pub fn absent(&self) -> &[api::Absent] {
        &self.absent
    }

    /// Stops sampling and serving, and writes what waits.
    pub async fn stop(self) {
        // An error says that the server has ended already.
        let _ = self.shutdown.send(());
        if let Err(error) = self.server.await {
            tracing::error!(%error, "the server failed");
        }
        let parts = self.parts;
        let ended = tokio::task::spawn_blocking(move || {
            parts.paces.iter().for_each(Pace::ask_to_stop);
            drop(parts.paces);
            drop(parts.remotes);
            parts.hub.close();
        });
        if let Err(error) = ended.await {
            tracing::error!(%error, "the sampler or the store failed");
        }
    }
}

async fn serve(listener: TcpListener, hub: Arc<Hub>, access: Access, asked: oneshot::Receiver<()>) {
    let shutdown = async {
        // A sender that is gone means the same as one that asks.
        let _ = asked.await;
    };
    http::serve(listener, http::router(hub, access), shutdown).await;
}

/// Everything that blocks: sensors, store, replay, threads.
fn begin(
    config: &Config,
    mut feeds: Vec<Feed>,
    clock: Arc<dyn Clock>,
) -> Result<(Parts, Vec<api::Absent>), StartError> {
    let mut watched = Vec::with_capacity(config.follow.len());
    for follow in config.follow.iter().cloned() {
        let (feed, followed) = follow.start()?;
        feeds.push(feed);
        watched.push(followed);
    }
    feed::check(&feeds)?;
    let mut host = Host::open(&config.root)?;
    if let Some(settings) = config.hybrid {
        host.start_hybrid(settings)?;
    }
    let plans: Vec<FeedPlan> = feeds.iter().map(|feed| feed.plan(&config.model)).collect();
    let (hub, schedule) = assemble(config, &plans, &host, Arc::clone(&clock))?;
    hub.start_fitter().map_err(StartError::NoThread)?;
    let remotes = remote::start(&config.remote_writes, config.data_dir.as_deref(), &hub)?;
    hub.start_streams(config.outlets.clone(), watched)?;
    let absent = hub.health().absent;
    let mut samplers = vec![Sampler::new(Arc::clone(&clock), schedule, Box::new(host), None, Arc::clone(&hub))];
    for (feed, plan) in feeds.into_iter().zip(plans) {
        let schedule = Schedule::start(feed.step, clock.monotonic(), clock.wall(), hub.last_label_of_feed(&plan.name));
        samplers.push(Sampler::new(Arc::clone(&clock), schedule, feed.source, Some(plan), Arc::clone(&hub)));
    }
    let paces = samplers.into_iter().map(Pace::start).collect::<Result<_, _>>().map_err(StartError::NoThread)?;
    Ok((Parts { paces, remotes, hub }, absent))
}

/// The hub with its store open and its history replayed, and when to sample.
pub(crate) fn assemble(
    config: &Config,
    feeds: &[FeedPlan],
    host: &Host,
    clock: Arc<dyn Clock>,
) -> Result<(Arc<Hub>, Schedule), StartError> {
    let opened = Opened::open(config.data_dir.as_deref(), config.retention)?;
    let Restored { engine, last_label, changed } = restore(&opened, config, feeds)?;
    let store = opened.run()?;
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
        },
        absent: absent.map(|one| api::Absent { signal: one.signal.to_owned(), reason: one.reason.clone() }).collect(),
        patience: patience(config),
        select: config.select.clone(),
        began: monotonic,
    };
    let hub = Arc::new(Hub::new(facts, Arc::clone(&clock), engine, store));
    Ok((hub, Schedule::start(config.step, monotonic, wall, last_label)))
}

/// As long as there is history of a series, it is worth being listed.
fn patience(config: &Config) -> Duration {
    match config.data_dir {
        Some(_) => config.retention,
        None => config.retention.min(MEMORY_RETENTION_MAX),
    }
}
