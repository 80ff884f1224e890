//! A prediction server of a pool: reads what JetStream keeps, for the partitions that it holds, and publishes
//! forecasts.

use std::collections::{BTreeSet, HashSet};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{self as kept, DiscardPolicy};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use futures_util::StreamExt;
use predict::{Policy, Spec};
use stream::{OpenError, Security, nats};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use super::alarm::alarms;
use super::engine::{Counted, Engine, Tense};
use super::lease::{Changes, Leases};
use super::subjects::{forecasts, partition_of, refit_offset};

/// Limit of the messages that wait for the computation, and of the forecasts that wait for the connection.
const N_WAITING_MAX: usize = 1024;

/// A pause before what failed is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// Time that the kept samples reach back longer than they should need to, because some come late.
const SLACK: Duration = Duration::from_secs(10);

/// Configuration of a pool. All its servers are given the same.
#[derive(Clone, Debug)]
pub struct Config {
    /// The subjects of the measurements, with wildcards.
    pub subjects: String,
    /// Prefix of the subjects of forecasts.
    pub forecasts: String,
    /// The model of every signal.
    pub model: Spec,
    /// Number of samples that a model is fitted to.
    pub window: u64,
    /// Number of samples after a fit at which the next is due.
    pub refit_every: u64,
    /// Number of steps to forecast ahead.
    pub horizon: u32,
    /// Time between two samples; the reach of the kept samples follows from it.
    pub step: Duration,
    /// Time that a server may be silent before others take over.
    pub lease: Duration,
    /// Number of partitions that the hosts are spread over.
    pub n_partitions: u32,
    /// The most hosts that one server takes.
    pub n_hosts_max: usize,
    /// Bytes of samples that JetStream keeps, if the stream is made here.
    pub keep_bytes: u64,
}

impl Config {
    /// Returns the configuration for this model, with a window of 600, fits 300 samples apart, 30 steps ahead of
    /// samples of a second, leases of 3 s, 64 partitions, 100,000 hosts and 4 GiB.
    #[must_use]
    pub fn new(model: Spec) -> Self {
        Self {
            subjects: "foretop.samples.>".to_owned(),
            forecasts: "foretop.forecasts".to_owned(),
            model,
            window: 600,
            refit_every: 300,
            horizon: 30,
            step: Duration::from_secs(1),
            lease: Duration::from_secs(3),
            n_partitions: 64,
            n_hosts_max: 100_000,
            keep_bytes: 4 << 30,
        }
    }

    /// Returns the policy of the signals of a subject's host. Hosts differ in when they fit, so that not all do so at
    /// once.
    #[must_use]
    pub fn policy(&self, subject: &str) -> Policy {
        let window = usize::try_from(self.window).unwrap_or(usize::MAX);
        let policy = Policy::with_window(&self.model, window);
        let every = policy.every.unwrap_or(self.refit_every.max(1));
        Policy { every: Some(every), offset: refit_offset(subject, every), ..policy }
    }

    fn reach(&self) -> Duration {
        self.step.saturating_mul(u32::try_from(self.policy("").n_replayed()).unwrap_or(u32::MAX)) + SLACK
    }

    /// Returns the name of the bucket, one for each pool: those who forecast the same subjects in another way are
    /// another pool.
    fn bucket(&self) -> String {
        let text = format!("{} {} {} {}", self.subjects, self.forecasts, self.model, self.n_partitions);
        format!("foretop_pool_{:08x}", crc32fast::hash(text.as_bytes()))
    }
}

/// The reason why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The NATS server cannot be had.
    #[error("cannot join the pool")]
    Open(#[from] OpenError),
    /// The NATS server gives no bucket for the leases.
    #[error("cannot agree on leases")]
    Bucket(#[from] nats::BucketError),
    /// The NATS server does not keep the samples.
    #[error("cannot have the NATS server keep `{subjects}`")]
    Keep {
        /// The subjects.
        subjects: String,
        /// The error of the NATS server.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system gives no thread.
    #[error("cannot start a thread")]
    Thread(#[from] std::io::Error),
    /// A setting is out of range.
    #[error("{what} must be {needed}")]
    Config {
        /// The setting.
        what: &'static str,
        /// The range that it must be in.
        needed: &'static str,
    },
}

/// A running server. Dropping it gives its partitions up.
pub struct Server {
    stop: watch::Sender<bool>,
    counted: Arc<Mutex<Counted>>,
    runtime: Option<Runtime>,
    leases: Option<tokio::task::JoinHandle<()>>,
    computing: Option<JoinHandle<()>>,
    broken: Receiver<&'static str>,
}

/// Work of the computation.
enum Work {
    Message { subject: String, payload: Bytes, tense: Tense },
    Forget(u32),
}

impl Server {
    /// Joins the pool.
    ///
    /// # Errors
    /// [`Error`] when the NATS server cannot be had or does not give what is needed. What breaks later is made again.
    pub fn start(config: Config, security: &Security) -> Result<Self, Error> {
        check(&config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (client, leases) = runtime.block_on(open(&config, security))?;
        let (stop, stopped) = watch::channel(false);
        let (work, works) = mpsc::channel(N_WAITING_MAX);
        let (results, sent) = mpsc::channel(N_WAITING_MAX);
        let (tell, changes) = mpsc::channel(1);
        let counted = Arc::<Mutex<Counted>>::default();
        let ([holds, publishes, reads, computes], broken) = alarms(["leases", "publishing", "reading", "computation"]);
        let computing = {
            let (config, counted) = (config.clone(), Arc::clone(&counted));
            // One thread computes. What it calls shares its work among the threads of the pool that it is in: that one.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(std::io::Error::other)?;
            thread::Builder::new().name("forecasts".to_owned()).spawn(move || {
                let _computes = computes;
                pool.install(|| compute(works, &results, &config, &counted));
            })?
        };
        let leases = runtime.spawn(holds.until_end_of(hold(leases, config.lease / 3, tell, stopped)));
        runtime.spawn(publishes.until_end_of(publish(client.clone(), sent)));
        runtime.spawn(reads.until_end_of(read(client, config, changes, work)));
        Ok(Self { stop, counted, runtime: Some(runtime), leases: Some(leases), computing: Some(computing), broken })
    }

    /// The part that has ended by itself, which is a fault: without it the server is of no use.
    pub fn broken_part(&self) -> Option<&'static str> {
        self.broken.try_recv().ok()
    }

    /// Returns the counts of its work so far.
    #[must_use]
    pub fn counted(&self) -> Counted {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // When nobody listens, it has ended.
        let _ = self.stop.send(true);
        if let (Some(runtime), Some(leases)) = (self.runtime.take(), self.leases.take()) {
            // A server that cannot be reached need not be told; its leases end by themselves.
            let _ = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(2), leases).await });
            runtime.shutdown_background();
        }
        if let Some(computing) = self.computing.take() {
            let _ = computing.join();
        }
    }
}

fn check(config: &Config) -> Result<(), Error> {
    let right = [
        (config.window >= 32, "the window", "32 at least"),
        (config.refit_every >= 1, "the distance of fits", "1 at least"),
        ((1..=1000).contains(&config.horizon), "the horizon", "1 to 1000"),
        ((1..=4096).contains(&config.n_partitions), "the number of partitions", "1 to 4096"),
        (config.lease >= Duration::from_millis(300), "the lease", "300ms at least"),
    ];
    match right.into_iter().find(|(is_right, ..)| !is_right) {
        Some((_, what, needed)) => Err(Error::Config { what, needed }),
        None => Ok(()),
    }
}

async fn open(config: &Config, security: &Security) -> Result<(Client, Leases), Error> {
    let client = nats::connect(security).await?;
    let context = jetstream::new(client.clone());
    if context.stream_by_subject(config.subjects.clone()).await.is_err() {
        let stream = kept::Config {
            name: format!("foretop_samples_{:08x}", crc32fast::hash(config.subjects.as_bytes())),
            subjects: vec![config.subjects.clone()],
            max_age: config.reach() * 2,
            max_bytes: i64::try_from(config.keep_bytes).unwrap_or(i64::MAX),
            discard: DiscardPolicy::Old,
            ..kept::Config::default()
        };
        let made = context.get_or_create_stream(stream).await;
        made.map_err(|error| Error::Keep { subjects: config.subjects.clone(), source: error.into() })?;
    }
    let store = nats::bucket(&context, &config.bucket(), config.lease).await?;
    // An inbox has a name that no other has; its dots would be keys within keys.
    let id = client.new_inbox().replace('.', "-");
    Ok((client, Leases::new(store, id, config.n_partitions, config.lease)))
}

/// Renews the leases, and sends the changes to the reader.
async fn hold(mut leases: Leases, every: Duration, tell: mpsc::Sender<Changes>, mut stopped: watch::Receiver<bool>) {
    let mut rounds = tokio::time::interval(every);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut untold = Changes::default();
    loop {
        tokio::select! {
            _ = rounds.tick() => {}
            _ = stopped.wait_for(|is_stopped| *is_stopped) => break,
        }
        let changes = leases.round().await;
        untold.taken.retain(|partition| !changes.lost.contains(partition));
        untold.taken.extend(changes.taken);
        untold.lost.extend(changes.lost);
        // A reader that replays hears of it afterwards; renewing does not wait for it.
        if let Ok(place) = tell.try_reserve() {
            place.send(std::mem::take(&mut untold));
        }
    }
    // Whoever cannot be told learns it when the leases end.
    let _ = leases.give_up().await;
}

fn compute(
    mut works: mpsc::Receiver<Work>,
    results: &mpsc::Sender<(String, Bytes)>,
    config: &Config,
    counted: &Mutex<Counted>,
) {
    let mut engine = Engine::default();
    while let Some(work) = works.blocking_recv() {
        match work {
            Work::Message { subject, payload, tense } => {
                if let Some(forecast) = engine.message(&subject, &payload, tense, config) {
                    let subject = forecasts(&subject, &config.subjects, &config.forecasts);
                    if results.blocking_send((subject, forecast)).is_err() {
                        return;
                    }
                }
            }
            Work::Forget(partition) => engine.forget(partition, config),
        }
        *counted.lock().unwrap_or_else(PoisonError::into_inner) = engine.counted();
    }
}

async fn publish(client: Client, mut sent: mpsc::Receiver<(String, Bytes)>) {
    while let Some((subject, forecast)) = sent.recv().await {
        // The client waits for its connection by itself; what is too long for the server is no message of ours.
        let _ = client.publish(subject, forecast).await;
    }
}

/// Reads without end; where a connection or a stream breaks, from where it was.
async fn read(client: Client, config: Config, mut changes: mpsc::Receiver<Changes>, work: mpsc::Sender<Work>) {
    let mut reading = Reading { context: jetstream::new(client), config, held: HashSet::new(), position: None, work };
    let mut pending = BTreeSet::new();
    loop {
        match reading.run(&mut changes, &mut pending).await {
            Err(Stopped::Broken) => tokio::time::sleep(PAUSE).await,
            Err(Stopped::Ended) => return,
            Ok(never) => match never {},
        }
    }
}

enum Stopped {
    /// Reading can be tried again.
    Broken,
    /// No receiver is left to read for.
    Ended,
}

impl<E: std::error::Error> From<E> for Stopped {
    fn from(_: E) -> Self {
        Self::Broken
    }
}

struct Reading {
    context: Context,
    config: Config,
    held: HashSet<u32>,
    /// The number of the last message that was read.
    position: Option<u64>,
    work: mpsc::Sender<Work>,
}

impl Reading {
    async fn run(
        &mut self,
        changes: &mut mpsc::Receiver<Changes>,
        pending: &mut BTreeSet<u32>,
    ) -> Result<std::convert::Infallible, Stopped> {
        let last = self.last().await?;
        // A stream that was made anew counts from 1 again.
        let position = *self.position.insert(self.position.filter(|position| *position <= last).unwrap_or(last));
        let (mut messages, _) = self.messages(DeliverPolicy::ByStartSequence { start_sequence: position + 1 }).await?;
        loop {
            if !pending.is_empty() {
                // All that were given up or taken meanwhile are replayed in one go.
                self.replay(pending).await?;
                self.held.extend(std::mem::take(pending));
            }
            tokio::select! {
                changed = changes.recv() => {
                    let Changes { taken, lost } = changed.ok_or(Stopped::Ended)?;
                    for partition in lost {
                        pending.remove(&partition);
                        self.held.remove(&partition);
                        self.give(Work::Forget(partition)).await?;
                    }
                    pending.extend(taken);
                }
                message = messages.next() => {
                    let message = message.ok_or(Stopped::Broken)??;
                    let Ok(info) = message.info() else { continue };
                    self.position = Some(info.stream_sequence);
                    let partition = partition_of(&message.subject, self.config.n_partitions);
                    if self.held.contains(&partition) {
                        self.give_message(message, Tense::Present).await?;
                    }
                }
            }
        }
    }

    /// Hands over what was kept of these partitions, up to where reading stands.
    async fn replay(&mut self, partitions: &BTreeSet<u32>) -> Result<(), Stopped> {
        let start_time = async_nats::datetime::now() - self.config.reach();
        let (mut messages, n_kept) = self.messages(DeliverPolicy::ByStartTime { start_time }).await?;
        if n_kept == 0 {
            return Ok(());
        }
        let end = self.position.unwrap_or(0);
        loop {
            let message = messages.next().await.ok_or(Stopped::Broken)??;
            let Ok((at, n_pending)) = message.info().map(|info| (info.stream_sequence, info.pending)) else { continue };
            if at > end {
                return Ok(());
            }
            let partition = partition_of(&message.subject, self.config.n_partitions);
            if partitions.contains(&partition) {
                self.give_message(message, Tense::Past).await?;
            }
            if at == end || n_pending == 0 {
                return Ok(());
            }
        }
    }

    async fn give_message(&self, message: jetstream::Message, tense: Tense) -> Result<(), Stopped> {
        let message = message.message;
        self.give(Work::Message { subject: message.subject.to_string(), payload: message.payload, tense }).await
    }

    async fn give(&self, work: Work) -> Result<(), Stopped> {
        self.work.send(work).await.map_err(|_| Stopped::Ended)
    }

    async fn stream(&self) -> Result<kept::Stream, Stopped> {
        let name = self.context.stream_by_subject(self.config.subjects.clone()).await?;
        Ok(self.context.get_stream(name).await?)
    }

    async fn last(&self) -> Result<u64, Stopped> {
        Ok(self.stream().await?.cached_info().state.last_sequence)
    }

    /// Returns the messages from there on, and how many there are at this moment.
    async fn messages(&self, deliver_policy: DeliverPolicy) -> Result<(pull::Stream, u64), Stopped> {
        let config = pull::Config {
            deliver_policy,
            filter_subject: self.config.subjects.clone(),
            ack_policy: AckPolicy::None,
            ..pull::Config::default()
        };
        let consumer = self.stream().await?.create_consumer(config).await?;
        let messages =
            consumer.stream().max_messages_per_batch(N_PER_PULL).heartbeat(self.config.lease).messages().await;
        Ok((messages?, consumer.cached_info().num_pending))
    }
}

/// Number of messages that are asked for at a time.
const N_PER_PULL: usize = 500;
