//! One call of the program: noted before, made, noted after.

use std::ffi::{c_int, c_void};

use mpi_abi::{Function, Invoke};
use mpi_trace::{Event, Operation, Subject};

use crate::arguments::{Arguments, Held};
use crate::communicator::{Origin, Within};
use crate::event::{Found, Made, any_event, is_set, record, whom};
use crate::job::{self, Job};
use crate::site::{Layout, Place, Spec, Style};
use crate::switch::{complain, guarded};
use crate::thread::{Inside, Recorder, forget};

/// `MPI_ERR_INTERN` of Open MPI and MPICH, `MPI_ERR_OTHER` of the standard ABI.
const ERR_INTERN: c_int = 16;

/// Room for a status that the program does not want.
type StatusRoom = [u64; 4];

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
    for status in [L::SPEC.status, L::SPEC.recvstatus] {
        if status.is_somewhere() {
            want_status::<FORTRAN>(recorder, &mut words[status.index()], &mut room);
        }
    }
    let start = recorder.ticks.now();
    // SAFETY: as above; a status that the program ignores may as well be written.
    let code = unsafe { words.invoke(next) };
    let end = recorder.ticks.now();
    // SAFETY: as the caller says.
    let arguments = unsafe { Arguments::<FORTRAN>::new(&words, style) };
    let made = Made { operation: style.operation, is_failed: arguments.is_failed(code), start, end };
    record(recorder, L::SPEC, &arguments, &made);
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
            record(recorder, spec, &unsafe { Arguments::<FORTRAN>::new(&words, style) }, &made);
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
    let makes_request = spec.newrequest.is_somewhere() && !made.is_failed;
    if let Some(recorder) = inside.recorder().filter(|recorder| recorder.is_on() || makes_request)
        && let Some(event) = any_event(recorder, spec, &arguments, &made, before.found)
    {
        if recorder.is_on() {
            recorder.write(&event);
        }
        if makes_request {
            guarded(|| persist(arguments.held_at(spec.newrequest, 0, recorder.mpi), &event));
        }
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
    found: Option<Found>,
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
        let found = match (comm, within, message) {
            (Some(comm), ..) => Some(Found::on(recorder.comm_if_known(comm))),
            (_, Some((what, held)), _) => Some(Found::on(recorder.within(what, held))),
            (.., Some(message)) => Some(recorder.came_on(message)),
            _ => None,
        };
        Self { comm, within, found }
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
            // SAFETY: the function has written it.
            let status = unsafe { mpi.status_at(arguments.word(spec.status) as *const c_void, 0) };
            let found = Found { on, peer: whom(mpi, status.source), tag: Some(status.tag) };
            recorder.found(arguments.held_at(spec.newmessage, 0, mpi), found);
        }
    }
}

/// A persistent request was made by a call that says what it will begin.
fn persist(request: Held, event: &Event) {
    let (Some(job), Some(operation)) = (Job::get(), event.operation.started()) else { return };
    let Subject::Call { communicator, peer, tag } = event.subject else { return };
    let subject = Subject::Part { communicator, peer, tag };
    job.registry().made_request(request, Event { operation, subject, ..*event });
    // Another request may have had this handle.
    forget();
}
