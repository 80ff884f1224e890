//! One call of the program: noted before, made, noted after.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use mpi_abi::{Mpi, Status};
use mpi_trace::{Event, Operation, Peer, Subject};

use crate::arguments::{Arguments, Held};
use crate::communicator::{Known, Origin, Within};
use crate::job::{self, Job};
use crate::site::{Place, Site, Spec};
use crate::switch::{complain, guarded};
use crate::thread::{Inside, Recorder, forget};

/// `MPI_ERR_INTERN` of both libraries.
const ERR_INTERN: c_int = 16;

/// Room for a status that the program does not want.
type StatusRoom = [u64; 4];

/// Arguments that a function can be called with.
pub(crate) trait Invoke {
    /// # Safety
    /// There is a function that takes so many words and gives an `int`, or nothing.
    unsafe fn invoke(self, function: *mut c_void) -> c_int;
}

macro_rules! invoke {
    ($n:literal $($argument:ident)*) => {
        impl Invoke for [usize; $n] {
            #[inline(always)]
            unsafe fn invoke(self, function: *mut c_void) -> c_int {
                let [$($argument),*] = self;
                // SAFETY: the caller says so. Where an `int` or nothing is given, the register's rest is not looked at.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($(invoke!(@word $argument)),*) -> c_int = transmute(function);
                    function($($argument),*)
                }
            }
        }
    };
    (@word $argument:ident) => { usize };
}

invoke!(0);
invoke!(1 a);
invoke!(2 a b);
invoke!(3 a b c);
invoke!(4 a b c d);
invoke!(5 a b c d e);
invoke!(6 a b c d e f);
invoke!(7 a b c d e f g);
invoke!(8 a b c d e f g h);
invoke!(9 a b c d e f g h i);
invoke!(10 a b c d e f g h i j);
invoke!(11 a b c d e f g h i j k);
invoke!(12 a b c d e f g h i j k l);
invoke!(13 a b c d e f g h i j k l m);
invoke!(14 a b c d e f g h i j k l m n);

/// Makes a call of the program and records it, unless it is a part of another one.
///
/// # Safety
/// A program called the function of this name with these arguments.
#[inline(never)]
pub(crate) unsafe fn call<const N: usize>(site: &'static Site, mut words: [usize; N]) -> c_int
where
    [usize; N]: Invoke,
{
    let next = site.next.address();
    if next.is_null() {
        return ERR_INTERN;
    }
    let Some(inside) = Inside::enter() else {
        // SAFETY: the next function of this name takes what this one was called with.
        return unsafe { words.invoke(next) };
    };
    if site.spec.is_special {
        // SAFETY: as the caller says.
        return unsafe { special(site, words, next, &inside) };
    }
    let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) else {
        // SAFETY: as above.
        return unsafe { words.invoke(next) };
    };
    let mut room = StatusRoom::default();
    if let Place::At(at) = site.spec.status {
        want_status(recorder, site, &mut words[usize::from(at)], &mut room);
    }
    let start = recorder.ticks.now();
    // SAFETY: as above; a status that the program ignores may as well be written.
    let code = unsafe { words.invoke(next) };
    let end = recorder.ticks.now();
    // SAFETY: as the caller says.
    unsafe { record(recorder, site, &words, code, (start, end), None) };
    code
}

/// Has the status of a receive written, even if the program ignores it: it says who sent.
#[inline(always)]
fn want_status(recorder: &Recorder, site: &Site, word: &mut usize, room: &mut StatusRoom) {
    let is_ignored = if site.style.is_fortran {
        recorder.job.status_ignore.contains(word)
    } else {
        *word == recorder.mpi.constants().status_ignore
    };
    if is_ignored {
        *word = (&raw mut *room) as usize;
    }
}

/// A call after which more is known, or with which the program begins or ends.
///
/// # Safety
/// As of [`call`].
#[cold]
#[inline(never)]
unsafe fn special<const N: usize>(
    site: &'static Site,
    mut words: [usize; N],
    next: *mut c_void,
    inside: &Inside,
) -> c_int
where
    [usize; N]: Invoke,
{
    let spec = site.spec;
    let ticks = job::ticks();
    // SAFETY: as the caller says; what a call gives back is looked at after it only.
    let before = guarded(|| unsafe { Before::new(spec, &Arguments::new(&words, site.style)) }).unwrap_or_default();
    if spec.operation == Some(Operation::ABORT) {
        if let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) {
            let now = ticks.now();
            // SAFETY: as above.
            unsafe { record(recorder, site, &words, 0, (now, now), None) };
        }
        job::end();
    }
    if spec.operation == Some(Operation::FINALIZE) {
        guarded(|| Job::get().map(Job::compare_clocks));
    }
    let mut room = StatusRoom::default();
    if let (Place::At(at), Some(recorder)) = (spec.status, inside.recorder()) {
        want_status(recorder, site, &mut words[usize::from(at)], &mut room);
    }
    let start = ticks.now();
    // SAFETY: as in `call`.
    let code = unsafe { words.invoke(next) };
    let end = ticks.now();
    // SAFETY: as the caller says.
    let arguments = unsafe { Arguments::new(&words, site.style) };
    if !arguments.is_failed(code) {
        if matches!(spec.operation, Some(Operation::INIT | Operation::INIT_THREAD)) {
            job::begin();
        }
        guarded(|| before.after(spec, &arguments, inside.recorder()));
    }
    if let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) {
        let on = before.message.map(|message| recorder.came_on(message));
        // SAFETY: as the caller says.
        unsafe { record(recorder, site, &words, code, (start, end), on) };
    }
    if spec.operation == Some(Operation::FINALIZE) {
        job::end();
    }
    code
}

/// Handles that are gone after a call.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    comm: Option<Held>,
    within: Option<(Within, Held)>,
    message: Option<Held>,
}

impl Before {
    fn new(spec: &Spec, arguments: &Arguments<'_>) -> Self {
        let Some(mpi) = Mpi::get() else { return Self::default() };
        let held = |place: Place| place.is_somewhere().then(|| arguments.held_at(place, 0, mpi));
        let window = held(spec.win_given_up).map(|held| (Within::Window, held));
        let file = || held(spec.file_given_up).map(|held| (Within::File, held));
        Self { comm: held(spec.comm_given_up), within: window.or_else(file), message: held(spec.message_given_up) }
    }

    fn after(&self, spec: &Spec, arguments: &Arguments<'_>, recorder: Option<&mut Recorder>) {
        let Some(job) = Job::get() else { return };
        let mpi = job.mpi;
        if let Some(comm) = self.comm {
            job.registry().gone(comm.comm(mpi));
        }
        if let Some((what, held)) = self.within {
            job.registry().gone_within(what, held);
        }
        if self.comm.is_some() || self.within.is_some() || spec.type_given_up.is_somewhere() {
            forget();
        }
        if spec.newcomm.is_somewhere() {
            let made = arguments.held_at(spec.newcomm, 0, mpi).comm(mpi);
            let of = || arguments.held(spec.comm, mpi).comm(mpi);
            let origin = match spec.operation {
                Some(Operation::COMM_DUP | Operation::COMM_DUP_WITH_INFO | Operation::COMM_IDUP) => Origin::Copy(of()),
                Some(
                    Operation::INTERCOMM_CREATE
                    | Operation::COMM_ACCEPT
                    | Operation::COMM_CONNECT
                    | Operation::COMM_JOIN
                    | Operation::COMM_SPAWN
                    | Operation::COMM_SPAWN_MULTIPLE,
                ) => Origin::Unknown,
                _ => Origin::Part(of()),
            };
            if let Err(error) = job.registry().made(mpi, origin, made) {
                complain(&error);
            }
        }
        for (what, place) in [(Within::Window, spec.newwin), (Within::File, spec.newfile)] {
            if place.is_somewhere() {
                let on = job.find(arguments.held(spec.comm, mpi).comm(mpi));
                job.registry().made_within(what, arguments.held_at(place, 0, mpi), on);
            }
        }
        if let (true, Some(recorder)) = (spec.newmessage.is_somewhere() && is_set(spec, arguments), recorder) {
            let on = recorder.comm(arguments.held(spec.comm, mpi));
            recorder.found(arguments.held_at(spec.newmessage, 0, mpi), on);
        }
    }
}

fn is_set(spec: &Spec, arguments: &Arguments<'_>) -> bool {
    !spec.flag.is_somewhere() || arguments.flag(spec.flag)
}

/// Writes the record of a call that was made.
///
/// # Safety
/// A program passed these words to the function of this name, which gave this code.
#[inline(never)]
unsafe fn record(
    recorder: &mut Recorder,
    site: &Site,
    words: &[usize],
    code: c_int,
    (start, end): (u64, u64),
    on: Option<Known>,
) {
    let spec = site.spec;
    let Some(operation) = spec.operation else { return };
    // SAFETY: as the caller says.
    let arguments = unsafe { Arguments::new(words, site.style) };
    let is_failed = arguments.is_failed(code);
    let known = on.unwrap_or_else(|| where_it_was(recorder, spec, &arguments, is_failed));
    let status = if spec.status.is_somewhere() && !is_failed && is_set(spec, &arguments) {
        // SAFETY: the function has written it.
        Some(unsafe { recorder.mpi.status_at(arguments.word(spec.status) as *const c_void, 0) })
    } else {
        None
    };
    // Of a call that failed, nobody knows whether its type can be asked for its size.
    let bytes = if is_failed { 0 } else { bytes(recorder, spec, &arguments, known, status.as_ref()) };
    let subject = Subject::Call {
        communicator: known.number,
        peer: peer(recorder.mpi, spec, &arguments, status.as_ref()),
        tag: tag(spec, &arguments, status.as_ref()),
    };
    recorder.write(&Event { start, end, bytes, operation, is_failed, subject });
}

#[inline(always)]
fn where_it_was(recorder: &mut Recorder, spec: &Spec, arguments: &Arguments<'_>, is_failed: bool) -> Known {
    if spec.comm.is_somewhere() {
        let held = arguments.held(spec.comm, recorder.mpi);
        if is_failed { recorder.comm_if_known(held) } else { recorder.comm(held) }
    } else if spec.win.is_somewhere() {
        let held = arguments.held(spec.win, recorder.mpi);
        recorder.within(Within::Window, held)
    } else if spec.file.is_somewhere() {
        let held = arguments.held(spec.file, recorder.mpi);
        recorder.within(Within::File, held)
    } else {
        Known::WORLD
    }
}

#[inline(always)]
fn peer(mpi: &Mpi, spec: &Spec, arguments: &Arguments<'_>, status: Option<&Status>) -> Peer {
    let constants = mpi.constants();
    let given = if let Some(status) = status {
        status.source
    } else if spec.peer.is_somewhere() {
        arguments.int(spec.peer)
    } else if spec.source.is_somewhere() {
        let source = arguments.int(spec.source);
        if source == constants.any_source {
            return Peer::Any;
        }
        source
    } else if spec.root.is_somewhere() {
        arguments.int(spec.root)
    } else {
        return Peer::None;
    };
    if given == constants.proc_null { Peer::Null } else { u32::try_from(given).map_or(Peer::None, Peer::Rank) }
}

#[inline(always)]
fn tag(spec: &Spec, arguments: &Arguments<'_>, status: Option<&Status>) -> Option<i32> {
    if let Some(status) = status {
        Some(status.tag)
    } else if spec.tag.is_somewhere() {
        Some(arguments.int(spec.tag))
    } else if spec.level.is_somewhere() {
        Some(arguments.int(spec.level))
    } else {
        None
    }
}

/// Of one message, as `docs/formats/communication-trace.md` counts.
#[inline(always)]
fn bytes(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_>,
    known: Known,
    status: Option<&Status>,
) -> u64 {
    if spec.rootdatatype.is_somewhere() {
        let root = arguments.int(spec.root);
        let constants = recorder.mpi.constants();
        if root == constants.root || u32::try_from(root).is_ok_and(|root| root == known.rank) {
            return bytes_at_root(recorder, spec, arguments, known);
        }
        if root == constants.proc_null {
            return 0;
        }
    }
    if spec.count.is_somewhere() {
        match status {
            Some(status) => status.bytes,
            None => product(recorder, arguments, arguments.count(spec.count), spec.datatype),
        }
    } else if spec.blockcount.is_somewhere() {
        product(recorder, arguments, arguments.count(spec.blockcount), spec.datatype)
            .saturating_mul(known.n_peers.into())
    } else if spec.counts.is_somewhere() || spec.sumcounts.is_somewhere() {
        bytes_of_many(recorder, spec, arguments, known)
    } else {
        0
    }
}

#[inline(never)]
fn bytes_at_root(recorder: &mut Recorder, spec: &Spec, arguments: &Arguments<'_>, known: Known) -> u64 {
    if spec.rootcount.is_somewhere() {
        return product(recorder, arguments, arguments.count(spec.rootcount), spec.rootdatatype);
    }
    let sum = sum(arguments, spec.rootcounts, known.n_peers);
    product(recorder, arguments, sum, spec.rootdatatype) / u64::from(known.n_peers.max(1))
}

#[inline(never)]
fn bytes_of_many(recorder: &mut Recorder, spec: &Spec, arguments: &Arguments<'_>, known: Known) -> u64 {
    if spec.sumcounts.is_somewhere() {
        // The parts are those of the own side, which is not counted of an intercommunicator.
        let n_parts = if known.is_inter() { 0 } else { known.n_peers };
        return product(recorder, arguments, sum(arguments, spec.sumcounts, n_parts), spec.datatype);
    }
    let sum = if spec.datatypes.is_somewhere() {
        (0..known.n_peers as usize).fold(0_u64, |sum, at| {
            let count = arguments.count_at(spec.counts, at);
            if count == 0 {
                return sum;
            }
            let held = arguments.held_at(spec.datatypes, at, recorder.mpi);
            sum.saturating_add(count.saturating_mul(recorder.type_size(held)))
        })
    } else {
        product(recorder, arguments, sum(arguments, spec.counts, known.n_peers), spec.datatype)
    };
    sum / u64::from(known.n_peers.max(1))
}

fn sum(arguments: &Arguments<'_>, counts: Place, n: u32) -> u64 {
    (0..n as usize).fold(0_u64, |sum, at| sum.saturating_add(arguments.count_at(counts, at)))
}

/// Where there is nothing, programs pass types that do not exist.
#[inline(always)]
fn product(recorder: &mut Recorder, arguments: &Arguments<'_>, count: u64, datatype: Place) -> u64 {
    if count == 0 {
        return 0;
    }
    let held = arguments.held(datatype, recorder.mpi);
    count.saturating_mul(recorder.type_size(held))
}
