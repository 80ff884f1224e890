//! State that a thread of the program needs to record its calls, and how the thread gets it at its first one.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clock::Ticks;
use mpi_abi::Mpi;
use mpi_trace::{Cursor, Drain, Event, Family, Level, Writer};

use crate::arguments::Held;
use crate::communicator::{Known, Within};
use crate::event::Found;
use crate::job::Job;
use crate::switch::{give_up, guarded, is_off};

thread_local! {
    static THREAD: Thread = const { Thread { idle: Cell::new(null_mut()), is_inside: Cell::new(false), recorder: Cell::new(null_mut()) } };
    /// Gives the recorder back when the thread ends.
    static LEASE: Lease = const { Lease };
}

/// The state of one thread. It has nothing to drop, so that it costs nothing and is there until the very end.
struct Thread {
    /// The recorder, while no call of the program is under way: what the library calls inside of one is not the
    /// program's.
    idle: Cell<*mut Recorder>,
    /// The recorder. Null before the first call. What it points to is never freed, and only this thread uses it.
    recorder: Cell<*mut Recorder>,
    /// Whether a call is under way while there is no recorder.
    is_inside: Cell<bool>,
}

/// The recorder that writes records. One that a thread has no more use for goes to the next.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) job: &'static Job,
    pub(crate) mpi: &'static Mpi,
    pub(crate) ticks: Ticks,
    /// The bits of a word that are a handle.
    pub(crate) handle_mask: usize,
    writer: Writer<'static>,
    /// The answers to earlier questions, by handle.
    cache: [Cached; N_CACHED],
    n_forgotten: u64,
    /// The events that persistent requests begin, of requests that were started before.
    requests: [Option<(Held, Event)>; N_CACHED],
    /// Messages that a matched probe found, with where they came on and from whom; the oldest goes first.
    probed: [(Held, Found); N_PROBED],
    n_probed: usize,
    /// Keys of requests of receives, with the position of each receive's record in the ring: a later request with the
    /// same place in the list replaces an earlier one.
    posted: [(u64, u64); N_CACHED],
}

/// A handle and what is known of it.
#[derive(Clone, Copy, Debug)]
struct Cached {
    key: u64,
    /// A type's size, or a communicator's number and rank.
    value: u64,
    n_peers: u32,
}

/// Types and communicators that a thread uses at a time, as a rule.
const N_CACHED: usize = 64;
/// Messages that a thread has found and not yet received.
const N_PROBED: usize = 16;
const EMPTY: Cached = Cached { key: u64::MAX, value: 0, n_peers: 0 };

// Above all addresses and numbers that handles are.
const KEY_FORTRAN: u64 = 1 << 63;
const KEY_TYPE: u64 = 0;
const KEY_COMM: u64 = 1 << 60;
const KEY_WINDOW: u64 = 2 << 60;
const KEY_FILE: u64 = 3 << 60;
const KEY_REQUEST: u64 = 4 << 60;

/// The number of times that any thread gave a handle up: all that is cached may be another's since.
static N_FORGOTTEN: AtomicU64 = AtomicU64::new(0);
static RETURNED: Mutex<Vec<Returned>> = Mutex::new(Vec::new());

struct Returned(*mut Recorder);

// SAFETY: a recorder in the list is nobody's; whoever takes it out is the only one to use it.
unsafe impl Send for Returned {}

/// A call of the program, from before it is made until it is recorded.
pub(crate) struct Inside {
    thread: *const Thread,
    recorder: *mut Recorder,
}

impl Inside {
    /// None if the thread is in one already.
    #[inline(always)]
    pub(crate) fn enter() -> Option<Self> {
        THREAD.with(|thread| {
            let recorder = thread.idle.replace(null_mut());
            if recorder.is_null() { thread.enter() } else { Some(Self { thread, recorder }) }
        })
    }

    /// Returns the recorder of this thread's calls; none before MPI has begun and after something broke.
    #[inline(always)]
    pub(crate) fn recorder(&mut self) -> Option<&mut Recorder> {
        // SAFETY: it is null or never freed. Only this thread has it, and whoever has an `Inside` is the only one of
        // the thread.
        unsafe { self.recorder.as_mut() }
    }

    /// Asks again for a recorder, after MPI has begun.
    pub(crate) fn begin(&mut self) {
        if self.recorder.is_null() {
            self.recorder = self.thread().begin();
        }
    }

    fn thread(&self) -> &Thread {
        // SAFETY: what is on a call of a thread stays on that thread, whose memory is there until the thread ends.
        unsafe { &*self.thread }
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.thread().idle.set(self.recorder);
        if self.recorder.is_null() {
            self.thread().is_inside.set(false);
        }
    }
}

impl Thread {
    #[cold]
    #[inline(never)]
    fn enter(&self) -> Option<Inside> {
        if !self.recorder.get().is_null() || self.is_inside.replace(true) {
            return None;
        }
        Some(Inside { thread: self, recorder: self.begin() })
    }

    /// Null if there is nothing to record into.
    fn begin(&self) -> *mut Recorder {
        let (Some(job), false) = (Job::get(), is_off()) else { return null_mut() };
        let made = guarded(|| {
            let returned = RETURNED.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let recorder = match returned {
                Some(Returned(recorder)) => recorder,
                None => match job.create_ring() {
                    Ok(writer) => Box::into_raw(Box::new(Recorder::new(job, writer))),
                    Err(error) => {
                        give_up(&text::with_causes(&error));
                        return null_mut();
                    }
                },
            };
            self.recorder.set(recorder);
            // From its first use on it is dropped when the thread ends.
            LEASE.with(|_| {});
            recorder
        });
        made.unwrap_or(null_mut())
    }
}

/// The lease that a thread has while it records.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.idle.set(null_mut());
            let recorder = thread.recorder.replace(null_mut());
            // What the thread calls from here on is not recorded: it would have to be given another one.
            thread.is_inside.set(true);
            RETURNED.lock().unwrap_or_else(PoisonError::into_inner).push(Returned(recorder));
        });
    }
}

/// Handles were given up. Their numbers and addresses may come again for others.
pub(crate) fn forget() {
    N_FORGOTTEN.fetch_add(1, Ordering::Relaxed);
}

impl Recorder {
    fn new(job: &'static Job, writer: Writer<'static>) -> Self {
        let nobody = (Held { word: 0, is_fortran: false }, Found::on(Known::UNKNOWN));
        Self {
            job,
            mpi: job.mpi,
            ticks: job.ticks,
            handle_mask: job.mpi.handle_mask(),
            writer,
            cache: [EMPTY; N_CACHED],
            n_forgotten: 0,
            requests: [None; N_CACHED],
            probed: [nobody; N_PROBED],
            n_probed: 0,
            posted: [(EMPTY.key, 0); N_CACHED],
        }
    }

    /// Whether calls are to be recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.writer.ring().level() != Level::Off
    }

    /// Writes a record.
    #[inline(always)]
    pub(crate) fn write(&mut self, event: &Event) {
        self.writer.write(event.to_records());
    }

    /// Returns the position of the next record in the ring.
    #[inline(always)]
    pub(crate) fn position(&self) -> u64 {
        self.writer.position()
    }

    /// The receive whose record is at this position has a request.
    #[inline(always)]
    pub(crate) fn posted(&mut self, request: Held, position: u64) {
        let (key, at) = place(request, KEY_REQUEST);
        self.posted[at] = (key, position);
    }

    /// Returns the receive that a request was of, if it has been called off and its record is still there.
    pub(crate) fn called_off(&self, request: Held) -> Option<Event> {
        let (key, at) = place(request, KEY_REQUEST);
        let (_, position) = Some(self.posted[at]).filter(|(posted, _)| *posted == key)?;
        let is_called_off = guarded(|| self.mpi.is_cancelled(request.request(self.mpi)).unwrap_or(false));
        if !is_called_off? {
            return None;
        }
        let mut events = Vec::new();
        // A long event takes two records.
        let n_lost = Drain::from(self.writer.ring(), Cursor { position, n_lost: 0 }).take(2, &mut events);
        events.into_iter().next().filter(|event| n_lost == 0 && event.operation.family() == Family::Receive)
    }

    /// Bytes in an element of a type.
    #[inline(always)]
    pub(crate) fn type_size(&mut self, held: Held) -> u64 {
        self.cached(held, KEY_TYPE).value
    }

    /// Returns the known properties of a communicator.
    #[inline(always)]
    pub(crate) fn comm(&mut self, held: Held) -> Known {
        self.cached(held, KEY_COMM).known()
    }

    /// The same without asking MPI.
    #[inline(never)]
    pub(crate) fn comm_if_known(&self, held: Held) -> Known {
        guarded(|| self.job.registry().if_known(held.comm(self.mpi))).unwrap_or(Known::UNKNOWN)
    }

    /// The communicator of a window or file.
    #[inline]
    pub(crate) fn within(&mut self, what: Within, held: Held) -> Known {
        self.cached(held, if what == Within::Window { KEY_WINDOW } else { KEY_FILE }).known()
    }

    #[inline(always)]
    fn cached(&mut self, held: Held, kind: u64) -> &Cached {
        self.forget_as_others();
        let (key, at) = place(held, kind);
        if self.cache[at].key != key {
            self.learn(at, key, held, kind);
        }
        &self.cache[at]
    }

    #[inline(always)]
    fn forget_as_others(&mut self) {
        let n_forgotten = N_FORGOTTEN.load(Ordering::Relaxed);
        if n_forgotten != self.n_forgotten {
            self.empty(n_forgotten);
        }
    }

    #[cold]
    #[inline(never)]
    fn empty(&mut self, n_forgotten: u64) {
        self.cache = [EMPTY; N_CACHED];
        self.requests = [None; N_CACHED];
        self.n_forgotten = n_forgotten;
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, at: usize, key: u64, held: Held, kind: u64) {
        let learnt = guarded(|| match kind {
            KEY_TYPE => Cached { key, value: self.mpi.type_size(held.datatype(self.mpi)).unwrap_or(0), n_peers: 0 },
            KEY_COMM => Cached::of(key, self.job.find(held.comm(self.mpi))),
            KEY_WINDOW => Cached::of(key, self.job.registry().find_within(Within::Window, held)),
            _ => Cached::of(key, self.job.registry().find_within(Within::File, held)),
        });
        self.cache[at] = learnt.unwrap_or(Cached { key, ..EMPTY });
    }

    /// Returns the event that starting a persistent request begins.
    pub(crate) fn started(&mut self, request: Held) -> Option<Event> {
        self.forget_as_others();
        let (_, at) = place(request, KEY_TYPE);
        if self.requests[at].is_none_or(|(held, _)| held != request) {
            let begins = guarded(|| self.job.registry().started(request)).flatten();
            self.requests[at] = begins.map(|event| (request, event));
        }
        self.requests[at].map(|(_, event)| event)
    }

    /// A matched probe found a message: its receive will not say where it came on.
    pub(crate) fn found(&mut self, message: Held, found: Found) {
        self.probed[self.n_probed % N_PROBED] = (message, found);
        self.n_probed = self.n_probed.wrapping_add(1);
    }

    /// Returns the place and peer that were noted for such a message. Handles come again: the last one counts.
    pub(crate) fn came_on(&self, message: Held) -> Found {
        let newest_first = (1..=N_PROBED).map(|ago| self.probed[self.n_probed.wrapping_sub(ago) % N_PROBED]);
        newest_first
            .into_iter()
            .find(|(held, _)| *held == message)
            .map_or(Found::on(Known::UNKNOWN), |(_, found)| found)
    }
}

/// Returns the key by which a handle is cached, and its place in the cache.
#[inline(always)]
fn place(held: Held, kind: u64) -> (u64, usize) {
    let key = held.word as u64 | kind | if held.is_fortran { KEY_FORTRAN } else { 0 };
    // Fibonacci hashing: the upper bits depend on all of the key's.
    (key, (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % N_CACHED)
}

impl Cached {
    fn of(key: u64, known: Known) -> Self {
        Self { key, value: u64::from(known.number) | u64::from(known.rank) << 32, n_peers: known.n_peers }
    }

    #[inline(always)]
    fn known(&self) -> Known {
        Known { number: self.value as u32, rank: (self.value >> 32) as u32, n_peers: self.n_peers }
    }
}
