//! One call of the program: noted before, made, noted after.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use mpi_abi::{Function, Mpi, Status};
use mpi_trace::{Event, Operation, Peer, Subject};

use crate::arguments::{Arguments, Held};
use crate::communicator::{Known, Origin, Within};
use crate::job::{self, Job};
use crate::site::{Layout, Place, Spec, Style};
use crate::switch::{complain, guarded};
use crate::thread::{Inside, Recorder, forget};

/// `MPI_ERR_INTERN` of both libraries.
const ERR_INTERN: c_int = 16;

/// Room for a status that the program does not want.
type StatusRoom = [u64; 4];

/// A call that has returned.
struct Made {
    operation: Option<Operation>,
    is_failed: bool,
    start: u64,
    end: u64,
}

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

/// [`call`] as one piece of code for all names of a language.
///
/// # Safety
/// As of [`call`].
#[inline(never)]
pub(crate) unsafe fn call_apart<L: Layout, const N: usize, const FORTRAN: bool>(
    next: &Function,
    style: Style,
    words: [usize; N],
) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: as the caller says.
    unsafe { call::<L, N, FORTRAN>(next, style, words) }
}

/// Makes a call of the program and records it, unless it is a part of another one.
///
/// # Safety
/// A program called the function of this name with these arguments.
#[inline(always)]
pub(crate) unsafe fn call<L: Layout, const N: usize, const FORTRAN: bool>(
    next: &Function,
    style: Style,
    mut words: [usize; N],
) -> c_int
where
    [usize; N]: Invoke,
{
    let next = next.address();
    if next.is_null() {
        return ERR_INTERN;
    }
    let Some(mut inside) = Inside::enter() else {
        // SAFETY: the next function of this name takes what this one was called with.
        return unsafe { words.invoke(next) };
    };
    if L::SPEC.is_special {
        // SAFETY: as the caller says.
        return unsafe { special::<N, FORTRAN>(style, L::SPEC, words, next, &mut inside) };
    }
    let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) else {
        // SAFETY: as above.
        return unsafe { words.invoke(next) };
    };
    let mut room = StatusRoom::default();
    if L::SPEC.status.is_somewhere() {
        want_status::<FORTRAN>(recorder, &mut words[L::SPEC.status.index()], &mut room);
    }
    let start = recorder.ticks.now();
    // SAFETY: as above; a status that the program ignores may as well be written.
    let code = unsafe { words.invoke(next) };
    let end = recorder.ticks.now();
    // SAFETY: as the caller says.
    let arguments = unsafe { Arguments::<FORTRAN>::new(&words, style) };
    let made = Made { operation: style.operation, is_failed: arguments.is_failed(code), start, end };
    record(recorder, L::SPEC, &arguments, &made, None);
    code
}

/// Has the status of a receive written, even if the program ignores it: it says who sent.
#[inline(always)]
fn want_status<const FORTRAN: bool>(recorder: &Recorder, word: &mut usize, room: &mut StatusRoom) {
    let is_ignored = if FORTRAN {
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
unsafe fn special<const N: usize, const FORTRAN: bool>(
    style: Style,
    spec: &Spec,
    mut words: [usize; N],
    next: *mut c_void,
    inside: &mut Inside,
) -> c_int
where
    [usize; N]: Invoke,
{
    let ticks = job::ticks();
    let before = guarded(|| {
        // SAFETY: as the caller says; what a call gives back is looked at after it only.
        let arguments = unsafe { Arguments::<FORTRAN>::new(&words, style) };
        Before::new(spec, &arguments, inside.recorder())
    });
    let before = before.unwrap_or_default();
    if style.operation == Some(Operation::ABORT) {
        if let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) {
            let now = ticks.now();
            let made = Made { operation: style.operation, is_failed: false, start: now, end: now };
            // SAFETY: as above.
            record_any(recorder, spec, &unsafe { Arguments::<FORTRAN>::new(&words, style) }, &made, None);
        }
        job::end();
    }
    if style.operation == Some(Operation::FINALIZE) {
        guarded(job::compare_clocks);
    }
    let mut room = StatusRoom::default();
    if let (true, Some(recorder)) = (spec.status.is_somewhere(), inside.recorder()) {
        want_status::<FORTRAN>(recorder, &mut words[spec.status.index()], &mut room);
    }
    let start = ticks.now();
    // SAFETY: as in `call`.
    let code = unsafe { words.invoke(next) };
    let end = ticks.now();
    // SAFETY: as the caller says.
    let arguments = unsafe { Arguments::<FORTRAN>::new(&words, style) };
    let made = Made { operation: style.operation, is_failed: arguments.is_failed(code), start, end };
    if !made.is_failed {
        if matches!(style.operation, Some(Operation::INIT | Operation::INIT_THREAD)) {
            job::begin();
            inside.begin();
        }
        guarded(|| before.after(style.operation, spec, &arguments, inside.recorder()));
    }
    if let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on()) {
        record_any(recorder, spec, &arguments, &made, before.on);
    }
    if style.operation == Some(Operation::FINALIZE) {
        job::end();
    }
    code
}

/// Handles that are gone after a call, and where it is, as far as they say.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    comm: Option<Held>,
    within: Option<(Within, Held)>,
    on: Option<Known>,
}

impl Before {
    fn new<const FORTRAN: bool>(
        spec: &Spec,
        arguments: &Arguments<'_, FORTRAN>,
        recorder: Option<&mut Recorder>,
    ) -> Self {
        let Some(recorder) = recorder else { return Self::default() };
        let held = |place: Place| place.is_somewhere().then(|| arguments.held_at(place, 0, recorder.mpi));
        let comm = held(spec.comm_given_up);
        let window = held(spec.win_given_up).map(|held| (Within::Window, held));
        let within = window.or_else(|| held(spec.file_given_up).map(|held| (Within::File, held)));
        let message = held(spec.message_given_up);
        let on = match (comm, within, message) {
            (Some(comm), ..) => Some(recorder.comm_if_known(comm)),
            (_, Some((what, held)), _) => Some(recorder.within(what, held)),
            (.., Some(message)) => Some(recorder.came_on(message)),
            _ => None,
        };
        Self { comm, within, on }
    }

    fn after<const FORTRAN: bool>(
        &self,
        operation: Option<Operation>,
        spec: &Spec,
        arguments: &Arguments<'_, FORTRAN>,
        recorder: Option<&mut Recorder>,
    ) {
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
            let of = || arguments.held(spec.comm, mpi.handle_mask()).comm(mpi);
            let origin = match operation {
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
                let on = job.find(arguments.held(spec.comm, mpi.handle_mask()).comm(mpi));
                job.registry().made_within(what, arguments.held_at(place, 0, mpi), on);
            }
        }
        if let (true, Some(recorder)) = (spec.newmessage.is_somewhere() && is_set(spec, arguments), recorder) {
            let on = recorder.comm(arguments.held(spec.comm, mpi.handle_mask()));
            recorder.found(arguments.held_at(spec.newmessage, 0, mpi), on);
        }
    }
}

fn is_set<const FORTRAN: bool>(spec: &Spec, arguments: &Arguments<'_, FORTRAN>) -> bool {
    !spec.flag.is_somewhere() || arguments.flag(spec.flag)
}

/// Writes the record of a call, where nothing is known of its arguments before.
#[inline(never)]
fn record_any<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    made: &Made,
    on: Option<Known>,
) {
    record(recorder, spec, arguments, made, on);
}

/// Writes the record of a call; `on` is where it was, if the arguments do not tell.
#[inline(always)]
fn record<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    made: &Made,
    on: Option<Known>,
) {
    let &Made { operation: Some(operation), is_failed, start, end } = made else { return };
    let known = on.unwrap_or_else(|| where_it_was(recorder, spec, arguments, is_failed));
    let status = if spec.status.is_somewhere() && !is_failed && is_set(spec, arguments) {
        // SAFETY: the function has written it.
        Some(unsafe { recorder.mpi.status_at(arguments.word(spec.status) as *const c_void, 0) })
    } else {
        None
    };
    // Of a call that failed, nobody knows whether its type can be asked for its size.
    let bytes = if is_failed { 0 } else { bytes(recorder, spec, arguments, known, status.as_ref()) };
    let subject = Subject::Call {
        communicator: known.number,
        peer: peer(recorder, spec, arguments, status.as_ref()),
        tag: tag(spec, arguments, status.as_ref()),
    };
    recorder.write(&Event { start, end, bytes, operation, is_failed, subject });
}

#[inline(always)]
fn where_it_was<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    is_failed: bool,
) -> Known {
    if spec.comm.is_somewhere() {
        let held = arguments.held(spec.comm, recorder.handle_mask);
        if is_failed { recorder.comm_if_known(held) } else { recorder.comm(held) }
    } else if spec.win.is_somewhere() {
        recorder.within(Within::Window, arguments.held(spec.win, recorder.handle_mask))
    } else if spec.file.is_somewhere() {
        recorder.within(Within::File, arguments.held(spec.file, recorder.handle_mask))
    } else {
        Known::WORLD
    }
}

#[inline(always)]
fn peer<const FORTRAN: bool>(
    recorder: &Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    status: Option<&Status>,
) -> Peer {
    let given = match status {
        Some(status) => status.source,
        None if spec.peer.is_somewhere() => arguments.int(spec.peer),
        None => return Peer::None,
    };
    u32::try_from(given).map_or_else(|_| nobody(recorder.mpi, given), Peer::Rank)
}

#[inline(always)]
fn nobody(mpi: &Mpi, given: c_int) -> Peer {
    if given == mpi.constants().proc_null {
        Peer::Null
    } else if given == mpi.constants().any_source {
        Peer::Any
    } else {
        Peer::None
    }
}

#[inline(always)]
fn tag<const FORTRAN: bool>(spec: &Spec, arguments: &Arguments<'_, FORTRAN>, status: Option<&Status>) -> Option<i32> {
    match status {
        Some(status) => Some(status.tag),
        None => spec.tag.is_somewhere().then(|| arguments.int(spec.tag)),
    }
}

/// Of one message, as `docs/formats/communication-trace.md` counts.
#[inline(always)]
fn bytes<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
    status: Option<&Status>,
) -> u64 {
    if spec.rootdatatype.is_somewhere() {
        let root = arguments.int(spec.peer);
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
fn bytes_at_root<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
) -> u64 {
    if spec.rootcount.is_somewhere() {
        return product(recorder, arguments, arguments.count(spec.rootcount), spec.rootdatatype);
    }
    let sum = sum(arguments, spec.rootcounts, known.n_peers);
    product(recorder, arguments, sum, spec.rootdatatype) / u64::from(known.n_peers.max(1))
}

#[inline(never)]
fn bytes_of_many<const FORTRAN: bool>(
    recorder: &mut Recorder,
    spec: &Spec,
    arguments: &Arguments<'_, FORTRAN>,
    known: Known,
) -> u64 {
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

fn sum<const FORTRAN: bool>(arguments: &Arguments<'_, FORTRAN>, counts: Place, n: u32) -> u64 {
    (0..n as usize).fold(0_u64, |sum, at| sum.saturating_add(arguments.count_at(counts, at)))
}

/// Where there is nothing, programs pass types that do not exist.
#[inline(always)]
fn product<const FORTRAN: bool>(
    recorder: &mut Recorder,
    arguments: &Arguments<'_, FORTRAN>,
    count: u64,
    datatype: Place,
) -> u64 {
    if count == 0 {
        return 0;
    }
    let held = arguments.held(datatype, recorder.handle_mask);
    count.saturating_mul(recorder.type_size(held))
}
