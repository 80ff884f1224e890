//! The side of transfers that answers those who have the token.
//!
//! One thread listens and one serves each connection, of which there are few. Whoever has not shown the token costs a
//! thread, some hundred bytes and a few seconds at most.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};

use secret::{Token, proof::Seal};
use socket2::SockRef;
use watch::{OnPanic, Stop, Thread, Watch};

use super::{
    admission::{Admission, Connections, Origin},
    message::{Direction, Greeting, Request, Verdict},
    timed::Timed,
};

/// Connections at once, in whatever state.
const CONNECTIONS_MAX: usize = 32;

/// The number of bytes read and written at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The time for which a connection is kept beyond the requested span, so that the side that measures ends the
/// connection.
const GRACE: Duration = Duration::from_secs(1);

/// The pause when the system has no more room for connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The settings of a responder: address, token and limits. None of them is secret when printed.
#[derive(Clone, Debug)]
pub struct ResponderSettings {
    /// The address to listen on. With port 0 the system chooses the port.
    pub listen: SocketAddr,
    /// The secret that those who ask share.
    pub token: Token,
    /// The greatest number of bytes in one transfer.
    pub n_bytes_max: u64,
    /// The longest time of one transfer.
    pub span_max: Duration,
    /// The number of transfers that may run at once. More than one measure each other.
    pub n_at_once_max: usize,
    /// The number of transfers that one address may ask for in a minute; of IPv6 addresses, one network of 64 bits.
    pub per_minute_max: usize,
    /// The time that a transfer waits for its turn before it is refused.
    pub turn_wait: Duration,
    /// The longest time for greeting and request.
    pub handshake_max: Duration,
    /// The longest time without a byte while a transfer runs.
    pub idle_max: Duration,
}

/// The number of connections by the way they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderCounts {
    /// Connections with a transfer, whole or cut off by the side that measures.
    pub n_served: u64,
    /// Connections with a refusal because of a limit, to a side that has the token.
    pub n_refused: u64,
    /// Connections closed without an answer: too many connections, no greeting in time, garbage, another token.
    pub n_turned_away: u64,
}

/// Answers transfers until it is dropped, which ends those that run.
#[derive(Debug)]
pub struct Responder {
    shared: Arc<Shared>,
    address: SocketAddr,
    _thread: Thread,
}

#[derive(Debug)]
struct Shared {
    listener: TcpListener,
    settings: ResponderSettings,
    admission: Admission,
    open: Mutex<Open>,
    n_served: AtomicU64,
    n_refused: AtomicU64,
    n_turned_away: AtomicU64,
}

/// The connections that there are.
#[derive(Debug)]
struct Open {
    connections: Connections,
    streams: BTreeMap<u64, TcpStream>,
    n_accepted: u64,
    has_ended: bool,
}

/// A connection on the list of those that there are, until it is dropped.
struct Connection<'a> {
    shared: &'a Shared,
    stream: TcpStream,
    id: u64,
    origin: Origin,
}

impl ResponderSettings {
    /// Lets through 16 MiB and 5 seconds in one transfer, one at a time and 30 a minute for each address, waits 2
    /// seconds for a turn, 5 for those who ask, and 2 for bytes that do not come.
    #[must_use]
    pub fn new(listen: SocketAddr, token: Token) -> ResponderSettings {
        ResponderSettings {
            listen,
            token,
            n_bytes_max: 16 << 20,
            span_max: Duration::from_secs(5),
            n_at_once_max: 1,
            per_minute_max: 30,
            turn_wait: Duration::from_secs(2),
            handshake_max: Duration::from_secs(5),
            idle_max: Duration::from_secs(2),
        }
    }
}

impl Responder {
    /// Listens, on a watched thread.
    ///
    /// # Errors
    /// When the address cannot be listened on, or the system has no thread.
    pub fn start(settings: ResponderSettings, watch: &Watch) -> io::Result<Responder> {
        let listener = TcpListener::bind(settings.listen)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            listener,
            admission: Admission::new(settings.clone()),
            settings,
            open: Mutex::new(Open {
                connections: Connections::new(CONNECTIONS_MAX),
                streams: BTreeMap::new(),
                n_accepted: 0,
                has_ended: false,
            }),
            n_served: AtomicU64::new(0),
            n_refused: AtomicU64::new(0),
            n_turned_away: AtomicU64::new(0),
        });
        let listen = {
            let shared = Arc::clone(&shared);
            move |_: &Stop| thread::scope(|scope| shared.listen(scope))
        };
        let thread = Thread::start(watch, "responder", OnPanic::BeginAgain, listen)?;
        Ok(Responder { shared, address, _thread: thread })
    }

    /// Returns the address that the responder listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections by the way they ended.
    #[must_use]
    pub fn counts(&self) -> ResponderCounts {
        let Shared { n_served, n_refused, n_turned_away, .. } = &*self.shared;
        let [n_served, n_refused, n_turned_away] =
            [n_served, n_refused, n_turned_away].map(|count| count.load(Ordering::Relaxed));
        ResponderCounts { n_served, n_refused, n_turned_away }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    fn listen<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        loop {
            let accepted = self.listener.accept();
            if self.open().has_ended {
                return;
            }
            let Ok((stream, address)) = accepted else {
                clock::sleep(ACCEPT_PAUSE);
                continue;
            };
            let Some(connection) = self.take_up(stream, Origin::of(address.ip())) else {
                self.n_turned_away.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let serve = move || connection.serve();
            // Without a thread the connection is dropped, and so closed.
            if thread::Builder::new().name("transfer".to_owned()).spawn_scoped(scope, serve).is_err() {
                self.n_turned_away.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Puts a connection on the list, if there is room for it.
    fn take_up(&self, stream: TcpStream, origin: Origin) -> Option<Connection<'_>> {
        let handle = stream.try_clone().ok()?;
        let mut open = self.open();
        if open.has_ended || !open.connections.try_add(origin) {
            return None;
        }
        let id = open.n_accepted;
        open.n_accepted += 1;
        open.streams.insert(id, handle);
        Some(Connection { shared: self, stream, id, origin })
    }

    /// Ends everything that waits.
    fn end(&self) {
        self.admission.end();
        let mut open = self.open();
        open.has_ended = true;
        for stream in open.streams.values() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
        // What waits in `accept` is woken up by this on Linux; there is nothing to be done where it is not.
        let _ = SockRef::from(&self.listener).shutdown(Shutdown::Both);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection<'_> {
    fn serve(&self) {
        let Shared { admission, n_served, n_refused, n_turned_away, .. } = self.shared;
        let count = match self.hear() {
            None => n_turned_away,
            Some((request, seal)) => match admission.decide(request, self.origin) {
                Ok(_turn) => {
                    if self.say(Verdict::Go, &seal).and_then(|()| self.transfer(request)).is_err() {
                        // The side that measures has what it wants. What is queued shall not be in the way of the next
                        // one.
                        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                    }
                    n_served
                }
                Err(verdict) => {
                    // Who does not wait for the answer does without.
                    let _ = self.say(verdict, &seal);
                    n_refused
                }
            },
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the other side's request, if that side has the token and is quick.
    fn hear(&self) -> Option<(Request, Seal)> {
        let mut timed = Timed::new(&self.stream, clock::instant() + self.shared.settings.handshake_max);
        self.stream.set_nodelay(true).ok()?;
        let mut greeting = [0; Greeting::N_BYTES];
        timed.read_exact(&mut greeting).ok()?;
        let theirs = Greeting::decode(&greeting).ok()?;

        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).ok()?;
        timed.write_all(&Greeting { nonce }.encode()).ok()?;
        let seal = Seal::new(self.shared.settings.token.clone(), theirs.nonce, nonce);
        let mut request = [0; Request::N_BYTES];
        timed.read_exact(&mut request).ok()?;
        Some((Request::decode(&request, &seal).ok()?, seal))
    }

    fn say(&self, verdict: Verdict, seal: &Seal) -> io::Result<()> {
        let until = clock::instant() + self.shared.settings.handshake_max;
        Timed::new(&self.stream, until).write_all(&verdict.encode(seal))
    }

    fn transfer(&self, request: Request) -> io::Result<()> {
        let until = clock::instant() + request.span + GRACE;
        let timed = Timed::new(&self.stream, until).with_idle(self.shared.settings.idle_max);
        match request.direction {
            Direction::Send => take(timed, request.n_bytes),
            Direction::Receive => give(timed, request.n_bytes).and_then(|()| self.wait_for_the_end(until)),
        }
    }

    /// Waits until everything that was written has been read, which the other side tells by closing.
    fn wait_for_the_end(&self, until: Instant) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        Timed::new(&self.stream, until).read(&mut [0]).map(|_| ())
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        let mut open = self.shared.open();
        open.streams.remove(&self.id);
        open.connections.remove(self.origin);
    }
}

/// Reads `n_bytes` and reports that they are there.
fn take(mut timed: Timed<'_>, n_bytes: u64) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK_BYTES];
    let mut n_left = n_bytes;
    while n_left > 0 {
        let n_wanted = usize::try_from(n_left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        match timed.read(&mut bytes[..n_wanted])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n_read => n_left -= n_read as u64,
        }
    }
    timed.write_all(&n_bytes.to_le_bytes())
}

/// Writes `n_bytes`.
fn give(mut timed: Timed<'_>, n_bytes: u64) -> io::Result<()> {
    let mut filler = vec![0; CHUNK_BYTES];
    getrandom::fill(&mut filler).map_err(io::Error::other)?;
    let mut n_left = n_bytes;
    while n_left > 0 {
        let n_wanted = usize::try_from(n_left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        match timed.write(&filler[..n_wanted])? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n_written => n_left -= n_written as u64,
        }
    }
    Ok(())
}
