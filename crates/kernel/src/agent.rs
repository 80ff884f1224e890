//! The agent: serves controllers on a Unix socket, and pulls in between.
//!
//! One thread does all of it, so that a change is never half made when a pull comes. A controller that does not read
//! its answers is put out; what it had asked for stays as it is, but for its lease, which ends by time.

use std::fs::Permissions;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::{Answer, Lease, Request};
use crate::receiver::Receiver;
use crate::{Engine, Error, Pulled};

/// Default path of the socket on which an agent listens.
pub const DEFAULT_SOCKET: &str = "/run/foretop-kernel.sock";

/// Greatest number of controllers connected at a time.
const CONNECTIONS_MAX: usize = 32;

/// Greatest number of receivers at a time, each with a backlog.
const RECEIVERS_MAX: usize = 4;

/// Greatest length of a request line, in bytes. A longer line is not a request.
const LINE_MAX: usize = 1 << 16;

/// Longest wait. A signal that orders to end interrupts it, unless it comes just before.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Longest wait while points are traced, so that their ring does not fill.
const TRACING_WAIT_MAX: Duration = Duration::from_millis(100);

/// Time that a client waits for an answer. An agent that calibrates its probes is silent for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Greatest length of an answer, in bytes. Summaries of all subsystems of many nodes are below it.
const ANSWER_MAX: u64 = 16 << 20;

/// The destination of an agent's measurements.
pub trait Sink {
    /// Takes the results of a pull; called after each pull.
    ///
    /// # Errors
    /// If they cannot be kept: the agent ends.
    fn pulled(&mut self, engine: &mut Engine, pulled: &[Pulled]) -> Result<(), Error>;

    /// Takes traced records; called ten times a second while points are traced.
    ///
    /// # Errors
    /// If they cannot be kept: the agent ends.
    fn traced(&mut self, engine: &mut Engine) -> Result<(), Error>;
}

/// An agent that listens.
pub struct Agent {
    engine: Engine,
    lease: Lease,
    listener: UnixListener,
    path: PathBuf,
    connections: Vec<Connection>,
    /// Connections that asked to be receivers, until they are begun.
    asked: Vec<UnixStream>,
    receivers: Vec<Receiver>,
    /// Receivers whose files are to end.
    ending: Vec<String>,
    origin: Origin,
    has_alarm: bool,
    began_ns: u64,
    n_tokens: u64,
}

/// Attributes that files of receivers give for their origin.
type Origin = Box<dyn Fn() -> Vec<(String, String)>>;

struct Connection {
    stream: UnixStream,
    line: Vec<u8>,
}

impl Agent {
    /// Listens at `path`, for this user and this group, if there is one. A socket that a dead agent left there is
    /// replaced.
    ///
    /// # Errors
    /// If another agent listens, or the socket cannot be made.
    pub fn listen(engine: Engine, path: &Path, group: Option<u32>) -> Result<Self, Error> {
        let cannot = |source| Error::Listen { path: path.into(), source };
        if UnixStream::connect(path).is_ok() {
            return Err(cannot(ErrorKind::AddrInUse.into()));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(cannot)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(cannot)?;
        if group.is_some() {
            chown(path, None, group).map_err(cannot)?;
            std::fs::set_permissions(path, Permissions::from_mode(0o660)).map_err(cannot)?;
        }
        listener.set_nonblocking(true).map_err(cannot)?;
        let began_ns = clock::monotonic_ns();
        Ok(Self {
            engine,
            lease: Lease::default(),
            listener,
            path: path.into(),
            connections: Vec::new(),
            asked: Vec::new(),
            receivers: Vec::new(),
            ending: Vec::new(),
            origin: Box::new(Vec::new),
            has_alarm: false,
            began_ns,
            n_tokens: 0,
        })
    }

    /// Returns the agent with these attributes of origin in files of receivers; `origin` is called at the begin of each
    /// file.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Fn() -> Vec<(String, String)> + 'static) -> Self {
        self.origin = Box::new(origin);
        self
    }

    /// Returns the engine that measures.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Serves until `is_over` says so, and hands what is measured to `sink`.
    ///
    /// # Errors
    /// If the kernel does not hand out its counters, or the system does not wait.
    pub fn serve(&mut self, is_over: impl Fn() -> bool, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut due_ns = clock::monotonic_ns();
        while !is_over() {
            let now_ns = clock::monotonic_ns();
            if now_ns >= due_ns {
                if self.engine.is_on() {
                    self.pull(sink)?;
                }
                due_ns = now_ns + self.engine.interval_ms() * 1_000_000;
            }
            if self.engine.is_tracing() {
                sink.traced(&mut self.engine)?;
                self.pass_on();
            }
            if !(self.asked.is_empty() && self.ending.is_empty()) {
                // Accounts of receivers begin and end with a pull, so that they add up.
                self.pull(sink)?;
                self.see_to_receivers();
            }
            let was = self.engine.interval_ms();
            let longest = if self.engine.is_tracing() { TRACING_WAIT_MAX } else { WAIT_MAX };
            let longest = longest.min(self.engine.keep_account());
            self.wait(Duration::from_nanos(due_ns.saturating_sub(clock::monotonic_ns())).min(longest))
                .map_err(|source| Error::Listen { path: self.path.clone(), source })?;
            if self.engine.interval_ms() != was {
                due_ns = clock::monotonic_ns() + self.engine.interval_ms() * 1_000_000;
            }
        }
        Ok(())
    }

    /// Reads everything that is on, for the sink and for receivers.
    fn pull(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let pulled = self.engine.pull()?;
        sink.pulled(&mut self.engine, &pulled)?;
        self.pass_on();
        self.receivers.retain_mut(|receiver| receiver.pulled(&pulled).is_ok() && receiver.send());
        Ok(())
    }

    /// Passes on to receivers the records that the sink has taken out.
    fn pass_on(&mut self) {
        let (copies, alarm) = self.engine.copies();
        let is_known = std::mem::replace(&mut self.has_alarm, alarm.is_some());
        let news = alarm.filter(|_| !is_known);
        for receiver in &mut self.receivers {
            let taken = copies.iter().try_for_each(|(node, traced)| receiver.traced(*node, traced));
            if taken.and_then(|()| news.map_or(Ok(()), |alarm| receiver.alarm(alarm))).is_err() {
                self.ending.push(receiver.name().into());
            }
        }
    }

    fn see_to_receivers(&mut self) {
        for name in std::mem::take(&mut self.ending) {
            self.receivers.retain_mut(|receiver| receiver.name() != name || receiver.end().is_ok());
        }
        for stream in std::mem::take(&mut self.asked) {
            let (name, groups) = (self.token(), self.engine.groups().clone());
            let begun = Receiver::begin(name, stream, (self.origin)(), groups, self.engine.latest());
            self.receivers.extend(begun);
        }
        self.receivers.retain_mut(Receiver::send);
        self.engine.copy(!self.receivers.is_empty());
    }

    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
        let listens = |receiver: &Receiver| {
            if receiver.is_behind() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
        };
        fds.extend(
            self.connections
                .iter()
                .map(|connection| PollFd::from_borrowed_fd(connection.stream.as_fd(), PollFlags::IN)),
        );
        fds.extend(self.receivers.iter().map(|receiver| PollFd::from_borrowed_fd(receiver.as_fd(), listens(receiver))));
        let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&longest)) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            other => other?,
        };
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut is_ready_receiver = is_ready[1 + self.connections.len()..].iter();
        self.receivers.retain_mut(|receiver| {
            let is_ready = is_ready_receiver.next().is_some_and(|is_ready| *is_ready);
            receiver.send() && !(is_ready && receiver.is_gone())
        });
        self.engine.copy(!self.receivers.is_empty());
        let connections = std::mem::take(&mut self.connections);
        for (connection, is_ready) in connections.into_iter().zip(&is_ready[1..]) {
            if let Some(connection) = if *is_ready { self.talk(connection) } else { Some(connection) } {
                self.connections.push(connection);
            }
        }
        if is_ready[0] {
            self.accept();
        }
        Ok(())
    }

    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        if self.connections.len() < CONNECTIONS_MAX && stream.set_nonblocking(true).is_ok() {
            self.connections.push(Connection { stream, line: Vec::new() });
        }
    }

    /// Reads the bytes that are there, and answers each line. Returns `None` if the connection is over.
    fn talk(&mut self, mut connection: Connection) -> Option<Connection> {
        let mut bytes = [0; 4096];
        loop {
            match connection.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => connection.line.extend_from_slice(&bytes[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if connection.line.len() > LINE_MAX {
                return None;
            }
        }
        while let Some(end) = connection.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = connection.line.drain(..=end).collect();
            let n_receivers = self.receivers.len() + self.asked.len();
            let answer = match serde_json::from_slice::<Request>(&line) {
                Ok(Request::Receive) if n_receivers < RECEIVERS_MAX => {
                    self.asked.push(connection.stream);
                    return None;
                }
                Ok(request) => self.answer(request),
                Err(error) => Answer::Refused { why: format!("this is no request: {error}") },
            };
            let mut text = serde_json::to_string(&answer).unwrap_or_default();
            text.push('\n');
            // Room for an answer is in the socket's buffer, unless the controller left many unread.
            connection.stream.write_all(text.as_bytes()).ok()?;
        }
        Some(connection)
    }

    fn answer(&mut self, request: Request) -> Answer {
        let now_ns = clock::monotonic_ns();
        let done = |result: Result<(), String>| result.map_or_else(|why| Answer::Refused { why }, |()| Answer::Done);
        match request {
            Request::Status => Answer::Status(self.status(now_ns)),
            Request::Summaries => self.engine.summaries(),
            Request::Traces => self.engine.traces(),
            Request::Clock => Answer::Clock { now_ns },
            Request::Receive => {
                Answer::Refused { why: format!("there are {RECEIVERS_MAX} receivers already; end one of them") }
            }
            Request::EndReceive { receiver } => {
                let is_known = self.receivers.iter().any(|found| found.name() == receiver);
                if is_known {
                    self.ending.push(receiver.clone());
                }
                done(is_known.then_some(()).ok_or_else(|| format!("there is no receiver `{receiver}`, or no longer")))
            }
            Request::Lease { name, seconds, wait } => {
                let token = self.token();
                match self.lease.ask(&name, &token, seconds, wait, now_ns) {
                    Ok((is_held, ahead)) => Answer::Leased { token, is_held, ahead },
                    Err(refused) => Answer::Refused { why: refused.to_string() },
                }
            }
            Request::Release { token } => done(self.lease.release(&token, now_ns).map_err(|error| error.to_string())),
            Request::Set(change) => {
                let may = self.lease.check(change.token.as_deref(), now_ns).map_err(|error| error.to_string());
                done(may.and_then(|()| self.engine.change(&change).map_err(|error| in_one_line(&error))))
            }
        }
    }

    /// Returns a new token. It tells controllers apart that may all change things anyway, as the socket is this user's,
    /// so that it need not be a secret.
    fn token(&mut self) -> String {
        self.n_tokens += 1;
        format!("{:x}-{:x}", self.began_ns, self.n_tokens)
    }

    fn status(&self, now_ns: u64) -> crate::control::Status {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used_ns = used.tv_sec as f64 * 1e9 + used.tv_nsec as f64;
        crate::control::Status {
            own_cores: used_ns / now_ns.saturating_sub(self.began_ns).max(1) as f64,
            holder: self.lease.holder(now_ns),
            queue: self.lease.waiting(),
            ..self.engine.status()
        }
    }
}

fn in_one_line(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Whoever comes next replaces it in any case.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes without the signal that ends a process whose peer is gone: a controller may be a program that is measured.
fn write_quietly(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(stream, bytes, rustix::net::SendFlags::NOSIGNAL) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A controller's end of the socket.
pub struct Client {
    stream: io::BufReader<UnixStream>,
    path: PathBuf,
}

impl Client {
    /// Connects to the agent at `path`, and waits a minute for each answer.
    ///
    /// # Errors
    /// If no agent listens.
    pub fn connect(path: &Path) -> Result<Self, Error> {
        Self::connect_for(path, PATIENCE)
    }

    /// Connects likewise, with another time that an answer may take; not zero.
    ///
    /// # Errors
    /// If no agent listens.
    pub fn connect_for(path: &Path, patience: Duration) -> Result<Self, Error> {
        let gone = |source| Error::NoAgent { path: path.into(), source };
        let stream = UnixStream::connect(path).map_err(gone)?;
        stream.set_read_timeout(Some(patience)).map_err(gone)?;
        stream.set_write_timeout(Some(patience)).map_err(gone)?;
        Ok(Self { stream: io::BufReader::new(stream), path: path.into() })
    }

    /// Sends a request, and waits for the answer.
    ///
    /// # Errors
    /// If the agent refuses, goes away, or sends something else.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        self.send(request)?;
        self.answer()
    }

    /// Receives all that is measured from now on, as a file of records: its first bytes, and the socket that the others
    /// come from.
    ///
    /// # Errors
    /// As those of [`Self::ask`].
    pub fn receive(mut self) -> Result<(Vec<u8>, UnixStream), Error> {
        self.send(&Request::Receive)?;
        let begun = self.stream.fill_buf().map_err(|source| Error::NoAgent { path: self.path.clone(), source })?;
        if begun.first() == Some(&b'{') {
            self.answer()?;
        }
        Ok((self.stream.buffer().to_vec(), self.stream.into_inner()))
    }

    fn send(&self, request: &Request) -> Result<(), Error> {
        let gone = |source| Error::NoAgent { path: self.path.clone(), source };
        let mut line = serde_json::to_string(request).map_err(|error| gone(io::Error::other(error)))?;
        line.push('\n');
        write_quietly(self.stream.get_ref(), line.as_bytes()).map_err(gone)
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        let gone = |source| Error::NoAgent { path: self.path.clone(), source };
        let mut line = String::new();
        (&mut self.stream).take(ANSWER_MAX).read_line(&mut line).map_err(gone)?;
        if !line.ends_with('\n') {
            return Err(gone(ErrorKind::UnexpectedEof.into()));
        }
        match serde_json::from_str(&line).map_err(|error| gone(io::Error::other(error)))? {
            Answer::Refused { why } => Err(Error::AgentRefused { why }),
            answer => Ok(answer),
        }
    }
}
