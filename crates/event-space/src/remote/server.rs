//! The monitor of one host: reads the rings of a job there, and gives what others pull.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use bytes::BytesMut;
use clock::thread_cpu;
use stream::{Answer, Ask, Carries, Description, Handler, InputId, Message, Outputs, Pending, Request, Results};

use super::{About, Task, What, Wire, WireClock};
use crate::{Live, Pull, Setting, Sites, SitesError, Tally};

/// Sessions at a time; each may have a thread that reads all the time.
const N_SESSIONS_MAX: usize = 64;
/// A session ends that nobody pulls for so long, or for some times as long as between any two pulls before: its threads
/// read on meanwhile.
const SILENCE: Duration = Duration::from_secs(60);
const SILENCE_MIN: Duration = Duration::from_secs(3);
const N_INTERVALS: u32 = 4;
/// Results in a frame, as far as they fit into this; one may be a quarter of it.
const FRAME_BYTES: usize = 512 << 10;
/// Pulls of one session that wait.
const N_ORDERS_MAX: usize = 4;

/// Answers other monitors; the handler of a mirror with a `server:` endpoint, whose period has to be
/// [`Server::PERIOD`].
pub struct Server {
    live: Live,
    setting: Setting,
    description: Option<Description>,
    sessions: BTreeMap<u64, Session>,
    /// The number of the newest session.
    newest: u64,
    /// The processor time of the mirror's thread, when it last was charged to a session.
    cpu: Duration,
    /// Told when the job has ended.
    ended: SyncSender<()>,
}

struct Session {
    /// The identifier of the tree in records.
    tree: u64,
    orders: SyncSender<Order>,
    pulled: Duration,
    is_pulled: bool,
    /// The longest time between two pulls, once there were two.
    interval: Option<Duration>,
}

impl Session {
    /// Whether whoever pulled has gone.
    fn is_abandoned(&self, now: Duration) -> bool {
        let limit = self.interval.map_or(SILENCE, |interval| (N_INTERVALS * interval).clamp(SILENCE_MIN, SILENCE));
        now.saturating_sub(self.pulled) >= limit
    }
}

/// Somebody waits for results.
struct Order {
    pending: Pending,
    /// The processor time that sending and receiving took.
    network: Duration,
}

impl Server {
    /// The time between two checks of its sessions and its job.
    pub const PERIOD: Duration = Duration::from_secs(1);

    /// Makes a server of this job, under the name `stream` and for the host `host`. The receiver gets a message when
    /// all processes of the job have ended.
    #[must_use]
    pub fn new(live: Live, setting: Setting, stream: String, host: String) -> (Self, Receiver<()>) {
        let (ended, end) = sync_channel(1);
        let description = Description {
            stream,
            host,
            carries: Carries::Results,
            step_ns: 0,
            signals: Vec::new(),
            model: None,
            horizon: None,
        };
        let (cpu, sessions) = (Duration::ZERO, BTreeMap::new());
        // A monitor that is started again must not take sessions of the one before for its own.
        let newest = clock::now().as_nanos().unsigned_abs();
        (Self { live, setting, description: Some(description), sessions, newest, cpu, ended }, end)
    }

    /// Goes over to the tree file in force, if that is another one. Sessions of the old one end, so that whoever pulls
    /// hears of it.
    fn look_for_trees(&mut self) {
        if let Ok(Some(live)) = self.live.replaced() {
            self.sessions.retain(|_, session| live.forest().tree_of(session.tree).is_some());
            self.live = live;
        }
    }

    fn about(&self) -> Result<String, String> {
        let here = self.live.here().map_err(|error| error.to_string())?;
        let hosts = here.into_iter().map(|(at, clock)| (self.live.hosts()[at].name.clone(), WireClock::new(clock)));
        let about = About { trees: self.live.forest().to_text(), hosts: hosts.collect() };
        Ok(serde_json::to_string(&about).expect("it has a JSON form"))
    }

    fn begin(&mut self, task: &str, pending: Pending) {
        if self.sessions.len() >= N_SESSIONS_MAX {
            return pending.refuse(format!("there are {N_SESSIONS_MAX} sessions, which is the most there can be"));
        }
        let task: Task = match serde_json::from_str(task) {
            Ok(task) => task,
            Err(error) => return pending.refuse(format!("this is no task for a monitor: {error}")),
        };
        let Some(tree) = self.live.forest().tree_of(task.tree) else {
            return pending.refuse("the job has another tree file on this host");
        };
        self.newest += 1;
        let session = self.newest;
        let (orders, taken) = sync_channel(N_ORDERS_MAX);
        let live = self.live.tree_at(tree).expect("a tree of the file");
        let (setting, id) = (self.setting.clone(), task.tree);
        // It may wait at a gate, or for other monitors.
        let spawned =
            Builder::new().name("session".to_owned()).spawn(move || run(live, setting, task, session, pending, &taken));
        match spawned {
            Ok(_) => {
                let pulled = self.setting.clock.monotonic();
                self.sessions.insert(session, Session { tree: id, orders, pulled, is_pulled: false, interval: None });
            }
            Err(error) => tracing::error!(%error, "a monitor's session has no thread"),
        }
    }

    fn pull(&mut self, session: u64, pending: Pending) {
        let Some(known) = self.sessions.get_mut(&session) else {
            return pending.refuse(format!("there is no session {session}: begin again"));
        };
        let now = self.setting.clock.monotonic();
        if std::mem::replace(&mut known.is_pulled, true) {
            known.interval = known.interval.max(Some(now.saturating_sub(known.pulled)));
        }
        known.pulled = now;
        let cpu = thread_cpu();
        let network = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu));
        // A session that is overrun, or has ended by a fault, drops the order, which refuses it.
        drop(known.orders.try_send(Order { pending, network }));
    }
}

impl Handler for Server {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        // Whoever asks for something new means the tree file that is in force.
        if let Ask::Job {} | Ask::Begin { .. } = request.ask {
            self.look_for_trees();
        }
        match request.ask {
            Ask::Job {} => match self.about() {
                Ok(about) => pending.answer(Answer::Job { about }),
                Err(reason) => pending.refuse(reason),
            },
            Ask::Begin { task } => self.begin(&task, pending),
            Ask::Pull { session } => self.pull(session, pending),
            _ => pending.refuse("a monitor answers job, begin, pull and status"),
        }
    }

    fn tick(&mut self, outputs: &mut Outputs) {
        if let Some(description) = self.description.take() {
            outputs.describe(&description);
        }
        self.look_for_trees();
        let now = self.setting.clock.monotonic();
        self.sessions.retain(|_, session| !session.is_abandoned(now));
        let is_in_use = self.sessions.values().any(|session| now.saturating_sub(session.pulled) < 2 * Self::PERIOD);
        if !is_in_use && !self.live.folder().is_alive().unwrap_or(false) {
            // Whoever waits for it may be ending already.
            let _ = self.ended.try_send(());
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("sessions".to_owned(), self.sessions.len().to_string())]
    }
}

/// A session: begins what is asked for, and gives what came whenever somebody pulls.
fn run(live: Live, setting: Setting, task: Task, session: u64, pending: Pending, orders: &Receiver<Order>) {
    let made = Sites::of_task(live, setting, &task).and_then(|sites| source(&sites, &task.what));
    let mut source = match made {
        Ok(source) => source,
        Err(error) => return pending.refuse(error.to_string()),
    };
    pending.answer(Answer::Begun { session });
    let (mut told, mut network) = (Results::default(), Duration::ZERO);
    while let Ok(order) = orders.recv() {
        let (frames, tally, n_given) = source();
        network += order.network;
        told.n_read += tally.n_read;
        told.n_lost += tally.n_lost;
        told.n_missed += tally.n_missed;
        told.n_given += n_given;
        told.cpu_ns += tally.cpu.as_nanos() as u64;
        let cpu_ns = told.cpu_ns + (thread_cpu() + network).as_nanos() as u64;
        let message = |frame: BytesMut| Message::Results(Results { cpu_ns, bytes: frame.freeze(), ..told.clone() });
        let messages: Vec<Message> = frames.into_iter().map(message).collect();
        order.pending.answer_with(Answer::Frames {}, &messages);
    }
}

/// A source of the results of one pull, in frames of which there is always one, with the number of these results.
type Source = Box<dyn FnMut() -> (Vec<BytesMut>, Tally, u64)>;

fn source(sites: &Sites, what: &What) -> Result<Source, SitesError> {
    Ok(match what {
        What::Scope(scope) => in_frames(sites.scope(scope)?.0),
        What::LoadBalance { host } => in_frames(sites.counts(host)?),
        What::Statistics { host, hop, contributors } => in_frames(sites.statistics(host, *hop, *contributors)?),
        What::Time { host } => in_frames(sites.time(host)?),
    })
}

fn in_frames<T: Wire>(mut source: Box<dyn Pull<T>>) -> Source {
    let mut items = Vec::new();
    Box::new(move || {
        let tally = source.pull(&mut items);
        let (n_given, mut frames) = (items.len() as u64, vec![BytesMut::new()]);
        for item in items.drain(..) {
            if frames.last().is_some_and(|frame| frame.len() > FRAME_BYTES) {
                frames.push(BytesMut::new());
            }
            item.put(frames.last_mut().expect("there is always one"));
        }
        (frames, tally, n_given)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_abandoned_the_sooner_the_more_often_it_was_pulled() {
        let (orders, _taken) = sync_channel(1);
        let at = Duration::from_secs;
        let limit = |interval_ms: Option<u64>| {
            let interval = interval_ms.map(Duration::from_millis);
            let session = Session { tree: 0, orders: orders.clone(), pulled: at(10), is_pulled: true, interval };
            (0..100).find(|seconds| session.is_abandoned(at(10 + seconds)))
        };
        assert_eq!([None, Some(5), Some(1_000), Some(30_000)].map(limit), [Some(60), Some(3), Some(4), Some(60)]);
    }
}
