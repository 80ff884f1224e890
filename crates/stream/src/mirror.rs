//! The mirror: any number of inputs, outputs, request servers and a timer around one computation.
//!
//! What RPS's mirror did around `select` (Dinda and O'Hallaron 1999, section 6.3) a mirror does here on a thread of its
//! own with an event loop of one thread, so that a [`Handler`] needs no locks. All frames that one read brings are
//! handed to it in a row, and what it sends goes out in one write for each reader: that is what makes it fast under
//! load and prompt without.
//!
//! No reader can hold it up. Each has a [`crate::Backlog`] of its own, and what does not fit is dropped and counted, or
//! the reader is let go. What it connects to is connected to again when it goes, with pauses that double from 50 ms to
//! 5 s.

mod announcing;
mod inlet;
mod input;
mod line;
mod output;
mod publish;
mod queue;
mod running;
mod server;
mod timer;
mod unsent;
mod visitor;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clock::Backoff;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::counters::{Counters, EndpointStatus};
use crate::endpoint::{Endpoint, Place, Role};
use crate::error::OpenError;
use crate::message::{Message, Request, Status, cut};
use crate::security::Security;
use crate::transport::Listener;

pub use inlet::{Inlet, InletFull};
pub use output::Outputs;
pub use running::{Panicked, Running, Stopper};
pub use server::{Pending, reply};
use visitor::or_panic;

/// The pauses before a connection is made again.
///
/// They have no random part: each connection is one component's, and those of a thousand readers of one writer come
/// back in the order in which their kernels notice, which a listener's queue of 1,024 takes.
fn reconnecting() -> Backoff {
    Backoff::new(Duration::from_millis(50), Duration::from_secs(5))
}

/// The computation of a mirror. It is called on the mirror's thread, by one at a time, and must not block.
pub trait Handler: Send + 'static {
    /// A message came in by `input`.
    fn message(&mut self, input: InputId, message: Message, outputs: &mut Outputs);

    /// Something was asked. Whoever asked waits until `pending` is answered; it may be kept and answered later.
    fn request(&mut self, request: Request, pending: Pending, outputs: &mut Outputs) {
        let _ = (request, outputs);
        pending.refuse("this component answers nothing but its status");
    }

    /// The timer of [`Mirror::every`] came round.
    fn tick(&mut self, outputs: &mut Outputs) {
        let _ = outputs;
    }

    /// Returns the time from one tick to the next from here on, if that time has changed.
    fn period(&mut self) -> Option<Duration> {
        None
    }

    /// All that one read brought, or one tick, was worked on. What goes out is sent after this.
    fn turn_ended(&mut self, outputs: &mut Outputs) {
        let _ = outputs;
    }

    /// A source will bring nothing more, or its connection broke and will be made again; or a line has nobody at its
    /// other end.
    fn ended(&mut self, input: InputId, outputs: &mut Outputs) {
        let _ = (input, outputs);
    }

    /// Returns the facts about the component for its status.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The index of a mirror's endpoint or inlet by which something came in: the order in which they were added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InputId(pub usize);

/// A mirror that is not running yet.
pub struct Mirror<H> {
    name: String,
    handler: H,
    ports: Vec<Port>,
    security: Security,
    period: Option<Duration>,
    ends_with_inputs: bool,
}

/// Something that messages come in or go out by.
enum Port {
    Endpoint(Endpoint),
    Inlet(inlet::Receiver),
    /// A line to what the handler attaches.
    Line,
    /// A line to a server.
    Asked(Endpoint),
}

impl Port {
    fn accepts(&self) -> bool {
        matches!(self, Self::Endpoint(endpoint) if endpoint.role == Role::Accept)
    }
}

/// The state that the tasks of a mirror share.
struct Shared<H> {
    name: String,
    handler: H,
    outputs: Outputs,
    places: Vec<Opened>,
}

/// A port that is open, and what happened there.
#[derive(Clone)]
struct Opened {
    endpoint: String,
    address: Option<String>,
    counters: Arc<Counters>,
}

impl Opened {
    fn status(&self) -> EndpointStatus {
        EndpointStatus { endpoint: self.endpoint.clone(), address: self.address.clone(), counted: self.counters.get() }
    }
}

type Core<H> = Rc<RefCell<Shared<H>>>;

impl<H: Handler> Shared<H> {
    /// Lets the handler work, and sends what it gave.
    fn work(&mut self, work: impl FnOnce(&mut H, &mut Outputs)) {
        work(&mut self.handler, &mut self.outputs);
        self.handler.turn_ended(&mut self.outputs);
        self.outputs.flush();
    }

    fn status(&self) -> Status {
        let facts = self.handler.facts().into_iter().chain(self.outputs.facts());
        Status {
            component: self.name.clone(),
            endpoints: self.places.iter().map(Opened::status).collect(),
            facts: facts.map(|(name, value)| (name, cut(value))).collect(),
        }
    }
}

impl<H: Handler> Mirror<H> {
    /// A mirror of this name around a computation.
    pub fn new(name: impl Into<String>, handler: H) -> Self {
        Self {
            name: name.into(),
            handler,
            ports: Vec::new(),
            security: Security::default(),
            period: None,
            ends_with_inputs: false,
        }
    }

    /// Protects its connections.
    #[must_use]
    pub fn with_security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Calls [`Handler::tick`] each time that `period` has passed, at moments that do not drift; those that are missed
    /// are made up for at once, up to a second's worth. A period of zero is as often as can be.
    #[must_use]
    pub fn every(mut self, period: Duration) -> Self {
        self.period = Some(period);
        self
    }

    /// Ends when all its sources have ended for good, as files do, and everything is written. One that others connect
    /// to never ends.
    #[must_use]
    pub fn ending_with_inputs(mut self) -> Self {
        self.ends_with_inputs = true;
        self
    }

    /// Adds an endpoint, and says what its messages will come in by.
    pub fn add(&mut self, endpoint: Endpoint) -> InputId {
        self.ports.push(Port::Endpoint(endpoint));
        InputId(self.ports.len() - 1)
    }

    /// Adds an input that other threads of the process put messages into; it holds `n_max` of them.
    pub fn inlet(&mut self, n_max: usize) -> (InputId, Inlet) {
        let (inlet, receiver) = inlet::channel(n_max);
        self.ports.push(Port::Inlet(receiver));
        (InputId(self.ports.len() - 1), inlet)
    }

    /// Adds a line to whatever the handler attaches by [`Outputs::attach`], such as a child process. What comes over it
    /// are messages by this id. [`Handler::ended`] is called at the start, while nothing is attached, and whenever the
    /// other end has gone.
    pub fn line(&mut self) -> InputId {
        self.ports.push(Port::Line);
        InputId(self.ports.len() - 1)
    }

    /// Adds a line to a component's `server:`, named by the `source:` that it is for us. Requests go there by
    /// [`Outputs::send_to`], and replies come in as messages by this id. When the connection breaks, [`Handler::ended`]
    /// is called and it is made again; what was asked before is forgotten.
    pub fn asking(&mut self, endpoint: Endpoint) -> InputId {
        self.ports.push(Port::Asked(endpoint));
        InputId(self.ports.len() - 1)
    }

    /// The computation, to be told what was added.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Starts it on a thread of its own. What listens, listens when this returns.
    ///
    /// # Errors
    /// [`OpenError`] when a place to listen at cannot be had, and when the system gives no thread. What is connected to
    /// need not be there yet.
    pub fn start(self) -> Result<Running<H>, OpenError> {
        let (stop, stopped) = watch::channel(false);
        let (opened, answer) = std::sync::mpsc::sync_channel(1);
        let io_error = |source| OpenError::Io { endpoint: "a thread for the mirror".to_owned(), source };
        let name = self.name.chars().take(15).collect();
        let run = move || {
            // All tasks share the handler without a lock, so they stay on this thread.
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            match runtime.map_err(io_error) {
                Ok(runtime) => runtime.block_on(self.run(stopped, opened)),
                Err(error) => {
                    // Whoever started it waits for this.
                    let _ = opened.send(Err(error));
                    None
                }
            }
        };
        let thread = thread::Builder::new().name(name).spawn(run).map_err(io_error)?;
        match answer.recv() {
            Ok(places) => Ok(Running { places: places?, stop, thread }),
            Err(_) => match thread.join() {
                Ok(_) => unreachable!("a mirror says how it starts before it ends"),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }

    async fn run(
        self,
        stopped: watch::Receiver<bool>,
        opened: std::sync::mpsc::SyncSender<Result<Vec<Opened>, OpenError>>,
    ) -> Option<H> {
        let Self { name, handler, ports, security, period, ends_with_inputs } = self;
        // Who will come to such an endpoint, nobody knows.
        let ends_with_inputs = ends_with_inputs && !ports.iter().any(Port::accepts);
        let (places, mut listeners) = match open(&ports, &security) {
            Ok((places, listeners)) => (places, listeners),
            Err(error) => {
                let _ = opened.send(Err(error));
                return None;
            }
        };
        let outputs = Outputs::default();
        let core = Rc::new(RefCell::new(Shared { name, handler, outputs, places: places.clone() }));
        let security = Rc::new(security);
        let mut tasks = Tasks { inputs: JoinSet::new(), others: JoinSet::new(), writers: JoinSet::new() };
        for (at, port) in ports.into_iter().enumerate() {
            let counters = Arc::clone(&places[at].counters);
            let at = At { input: InputId(at), counters, security: Rc::clone(&security) };
            tasks.start(&core, port, listeners[at.input.0].take(), at, &stopped);
        }
        if let Some(period) = period {
            tasks.others.spawn_local(timer::run(Rc::clone(&core), period));
        }
        if security.registry.announces {
            tasks.others.spawn_local(announcing::run(Rc::clone(&core), Rc::clone(&security)));
        }
        let _ = opened.send(Ok(places));
        tasks.wait(stopped, ends_with_inputs).await;
        core.borrow_mut().outputs.close();
        tasks.drain().await;
        drop(tasks);
        Rc::into_inner(core).map(|core| core.into_inner().handler)
    }
}

/// The input of a mirror's task, with its counters and security.
#[derive(Clone)]
struct At {
    input: InputId,
    counters: Arc<Counters>,
    security: Rc<Security>,
}

/// Binds the ports that listen; the tasks of the other ports open those ports.
fn open(ports: &[Port], security: &Security) -> Result<(Vec<Opened>, Vec<Option<Listener>>), OpenError> {
    let open = |port: &Port| {
        let endpoint = match port {
            Port::Endpoint(endpoint) => endpoint.to_string(),
            Port::Asked(endpoint) => endpoint.to_string(),
            Port::Inlet(_) => "inlet".to_owned(),
            Port::Line => "line".to_owned(),
        };
        let (address, listener) = match port {
            Port::Endpoint(Endpoint { role: Role::Server, place: place @ Place::Nats(_), .. }) => {
                (Some(place.to_string()), None)
            }
            Port::Endpoint(endpoint) if endpoint.role.listens() => {
                let listener = Listener::open(endpoint, security)?;
                (Some(listener.address()), Some(listener))
            }
            Port::Endpoint(_) | Port::Asked(_) | Port::Inlet(_) | Port::Line => (None, None),
        };
        let counters = Arc::new(Counters::of(endpoint.clone()));
        Ok((Opened { endpoint, address, counters }, listener))
    };
    Ok(ports.iter().map(open).collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
}

struct Tasks {
    /// Those that may end for good by themselves.
    inputs: JoinSet<()>,
    others: JoinSet<()>,
    /// Those that have things to finish.
    writers: JoinSet<()>,
}

impl Tasks {
    fn start<H: Handler>(
        &mut self,
        core: &Core<H>,
        port: Port,
        listener: Option<Listener>,
        at: At,
        stopped: &watch::Receiver<bool>,
    ) {
        let core = Rc::clone(core);
        match (port, listener) {
            (Port::Inlet(receiver), _) => {
                self.inputs.spawn_local(inlet::run(core, receiver, at));
            }
            (Port::Line, _) => drop(self.others.spawn_local(line::run_attached(core, at))),
            (Port::Asked(endpoint), _) => drop(self.others.spawn_local(line::run_connected(core, endpoint, at))),
            (Port::Endpoint(endpoint), None) if endpoint.role == Role::Source => {
                self.inputs.spawn_local(input::run(core, endpoint, at));
            }
            (Port::Endpoint(endpoint), None) if endpoint.role == Role::Server => {
                self.others.spawn_local(server::serve_subject(core, endpoint, at));
            }
            (Port::Endpoint(endpoint), None) => {
                // It joins before any input is read: what is sent from the first moment on waits for it.
                let taker = core.borrow_mut().outputs.join(endpoint.backlog, &at.counters);
                self.writers.spawn_local(output::run_target(core, endpoint, taker, at, stopped.clone()));
            }
            (Port::Endpoint(endpoint), Some(listener)) => match endpoint.role {
                Role::Accept => drop(self.others.spawn_local(input::accept(core, listener, at))),
                Role::Server => drop(self.others.spawn_local(server::accept(core, listener, at))),
                Role::Connect | Role::Source | Role::Target => {
                    drop(self.writers.spawn_local(output::accept(core, endpoint, listener, at, stopped.clone())));
                }
            },
        }
    }

    /// Waits until the mirror is stopped, or until all inputs have ended if that is its end.
    ///
    /// # Panics
    /// When one of the tasks does.
    async fn wait(&mut self, mut stopped: watch::Receiver<bool>, ends_with_inputs: bool) {
        while !(ends_with_inputs && self.inputs.is_empty()) {
            tokio::select! {
                Some(ended) = self.inputs.join_next() => or_panic(ended),
                Some(ended) = self.others.join_next() => or_panic(ended),
                Some(ended) = self.writers.join_next() => or_panic(ended),
                // The other side is gone when nobody is left who could wait.
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
            }
        }
    }

    /// Lets writers finish what they have, within reason.
    async fn drain(&mut self) {
        self.inputs.shutdown().await;
        self.others.shutdown().await;
        let all = async {
            while let Some(ended) = self.writers.join_next().await {
                or_panic(ended);
            }
        };
        let _ = tokio::time::timeout(DRAIN_LIMIT, all).await;
        self.writers.shutdown().await;
    }
}

/// Time that readers have at the end to take what is there for them.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
