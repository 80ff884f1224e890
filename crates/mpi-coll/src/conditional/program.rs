//! Conditional allreduces of programs that know nothing of them: those that a file names.
//! `docs/formats/mpi-conditional.md`.

use std::env;
use std::sync::{Arc, Mutex, OnceLock};

use mpi_abi::{Datatype, Failed, Handle, Kind, Mpi, Op};
use mpi_tree::{Collective, Reduction, Settings};

use super::{Condar, Refused};
use crate::agreement::{Agreement, hash};
use crate::arguments::{Arguments, FortranConstants, Language};
use crate::entry::{abort, complain, guarded};
use crate::job::lock;

/// Settings in the file; none without a file that all ranks can use.
static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
/// Known calls, in the order in which they were first called. None if the file names no such call.
static KNOWN: Mutex<Known> = Mutex::new(Vec::new());

type Known = Vec<(Handle, Op, Option<Arc<Mutex<Condar>>>)>;

/// Reads the file when MPI has begun. All ranks come here.
pub(crate) fn begin(mpi: &'static Mpi) -> Result<(), Failed> {
    let world = mpi.constants().comm_world;
    let agreement = Agreement { mpi, comm: world };
    let given = env::var_os("FORETOP_MPI_CONDITIONAL").filter(|path| !path.is_empty());
    if agreement.all_equal(u64::from(given.is_none()), 0)?.0 && given.is_none() {
        return Ok(());
    }
    let read = given.ok_or_else(|| "a rank has no file: FORETOP_MPI_CONDITIONAL has to be set on all".to_owned());
    let read = read.and_then(|path| {
        let named = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| named(&error))?;
        Settings::parse(&text).map(|settings| (hash(&text), settings)).map_err(|error| named(&error))
    });
    let hash = read.as_ref().map(|(hash, _)| *hash).map_err(Clone::clone);
    let agreed = agreement.same(hash, "files")?;
    if let Err(why) = &agreed
        && mpi.comm_rank(world)? == 0
    {
        complain(&format_args!("no allreduce is conditional: {why}"));
    }
    SETTINGS.get_or_init(|| agreed.and(read).ok().map(|(_, settings)| settings));
    Ok(())
}

/// Returns the settings in the file for all calls.
pub(super) fn settings() -> Settings {
    SETTINGS.get().cloned().flatten().unwrap_or_default()
}

/// Carries out a call that the file names. All that decides is the same on all ranks.
pub(crate) fn take(collective: Collective, language: Language, words: &[usize]) -> Option<i32> {
    let settings = SETTINGS.get()?.as_ref().filter(|settings| !settings.calls.is_empty())?;
    let mpi = Mpi::get().filter(|_| collective == Collective::Allreduce)?;
    static FORTRAN: OnceLock<FortranConstants> = OnceLock::new();
    let fortran = FORTRAN.get_or_init(|| FortranConstants::of(mpi));
    let arguments = Arguments::read(mpi, fortran, collective, language, words);
    let is_double = |datatype: Datatype| datatype.kind == Kind::Float && datatype.size_bytes == size_of::<f64>();
    let is_one = arguments.send.count == 1 && mpi.datatype(arguments.send.datatype).is_some_and(is_double);
    let op = mpi.op(arguments.op).filter(|_| is_one)?;
    guarded(mpi, || {
        let condar = known(mpi, settings, arguments.comm, op)?;
        let from = if arguments.send.address == mpi.constants().in_place { arguments.receive } else { arguments.send };
        // SAFETY: the program passed one double there to be read.
        let value = unsafe { (from.address as *const f64).read_unaligned() };
        let answered = lock(&condar).call(value).unwrap_or_else(|error| abort(mpi, &text::with_causes(&error)));
        let answer = answered
            .unwrap_or_else(|fault| abort(mpi, &format_args!("a conditional allreduce has no answer: {fault}")));
        // SAFETY: and one there to be written.
        unsafe { (arguments.receive.address as *mut f64).write_unaligned(answer.value) };
        Some(0)
    })
}

/// The question of such calls. All ranks come here in the first of them.
fn known(mpi: &'static Mpi, settings: &Settings, comm: Handle, op: Op) -> Option<Arc<Mutex<Condar>>> {
    let is_same = |entry: &&(Handle, Op, _)| (entry.0, entry.1) == (comm, op);
    if let Some((.., known)) = lock(&KNOWN).iter().find(is_same) {
        return known.clone();
    }
    let new = new(mpi, settings, comm, op).unwrap_or_else(|error| abort(mpi, &text::with_causes(&error)));
    let new = new.map(|condar| Arc::new(Mutex::new(condar)));
    lock(&KNOWN).push((comm, op, new.clone()));
    new
}

fn new(mpi: &'static Mpi, settings: &Settings, comm: Handle, op: Op) -> Result<Option<Condar>, Refused> {
    if mpi.is_inter(comm)? {
        return Ok(None);
    }
    let reduction = match op {
        Op::Sum => Reduction::Sum,
        Op::Max => Reduction::Max,
        Op::Min => Reduction::Min,
        _ => return Ok(None),
    };
    // A communicator may have another name on each rank. That on the first one counts.
    let name = mpi.comm_name(comm)?;
    let mut calls =
        settings.calls.iter().map(|call| call.communicator == name && call.question.reduction() == reduction);
    let named = calls.position(|is_it| is_it).map_or(u32::MAX, |at| at as u32);
    let named = Agreement { mpi, comm }.of_first(named)?;
    let Some(call) = settings.calls.get(named as usize) else { return Ok(None) };
    Condar::new(mpi, comm, Ok(call.question), settings.clone()).map(Some)
}

/// Frees the questions of a communicator that the program gives up.
pub(crate) fn forget(mpi: &'static Mpi, comm: Handle) {
    free(mpi, |(of, ..)| *of == comm);
}

/// Frees all questions when MPI is about to end.
pub(crate) fn end(mpi: &'static Mpi) {
    free(mpi, |_| true);
}

fn free(mpi: &'static Mpi, is_over: impl Fn(&(Handle, Op, Option<Arc<Mutex<Condar>>>)) -> bool) {
    let over: Known = lock(&KNOWN).extract_if(.., |entry| is_over(entry)).collect();
    for condar in over.into_iter().filter_map(|(.., condar)| Mutex::into_inner(Arc::into_inner(condar?)?).ok()) {
        guarded(mpi, || condar.free().unwrap_or_else(|error| abort(mpi, &text::with_causes(&error))));
    }
}
