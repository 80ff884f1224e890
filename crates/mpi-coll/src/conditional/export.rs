//! The functions of `include/foretop_condar.h` and of the Fortran module.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use mpi_abi::{Handle, Mpi, Op};
use mpi_tree::{Condition, Fault, Question, Reduction, Settings, Sign};

use super::{Condar, program};
use crate::entry::{abort, guarded};
use crate::job::lock;

// As the header has them.
const OK: c_int = 0;
const REFUSED: c_int = -1;
const NO_HANDLE: c_int = -2;
const BAD_VALUE: c_int = -3;
const VANISHED: c_int = -4;
const DISAGREEMENT: c_int = -5;
const NO_MPI: c_int = -6;

/// Questions by handle.
static CONDARS: Mutex<Vec<Option<Arc<Mutex<Condar>>>>> = Mutex::new(Vec::new());

thread_local! {
    /// Reason of the last call of this thread that did not do what it was asked.
    static REASON: RefCell<CString> = RefCell::default();
}

fn fail(code: c_int, why: &dyn Display) -> c_int {
    let text = CString::new(why.to_string().replace('\0', " ")).unwrap_or_default();
    REASON.set(text);
    code
}

#[unsafe(export_name = "condar_reason")]
extern "C" fn reason() -> *const c_char {
    REASON.with_borrow(|reason| reason.as_ptr())
}

/// # Safety
/// `clusters` is null, or ends with a zero byte.
#[unsafe(export_name = "condar_init")]
unsafe extern "C" fn init(
    comm: usize,
    op: usize,
    sign: c_int,
    condition: c_int,
    constant: f64,
    clusters: *const c_char,
) -> c_int {
    let Some(mpi) = running() else { return no_mpi() };
    // SAFETY: as promised.
    let clusters = (!clusters.is_null()).then(|| unsafe { CStr::from_ptr(clusters) });
    new(mpi, mpi.handle(comm), mpi.handle(op), (sign, condition, constant), clusters)
}

/// # Safety
/// `clusters` ends with a zero byte; an empty text stands for none.
#[unsafe(export_name = "condar_init_fortran")]
unsafe extern "C" fn init_fortran(
    comm: c_int,
    op: c_int,
    sign: c_int,
    condition: c_int,
    constant: f64,
    clusters: *const c_char,
) -> c_int {
    let Some(mpi) = running() else { return no_mpi() };
    // SAFETY: as promised.
    let clusters = Some(unsafe { CStr::from_ptr(clusters) }).filter(|text| !text.is_empty());
    new(mpi, mpi.comm_of_fortran(comm), mpi.op_of_fortran(op), (sign, condition, constant), clusters)
}

/// # Safety
/// There is room for the answer, or null where it is not wanted.
#[unsafe(export_name = "condar_call")]
unsafe extern "C" fn call(
    handle: c_int,
    value: f64,
    verdict: *mut c_int,
    result: *mut f64,
    is_exact: *mut c_int,
) -> c_int {
    let Some(mpi) = running() else { return no_mpi() };
    let known = usize::try_from(handle).ok().and_then(|at| lock(&CONDARS).get(at).cloned().flatten());
    let Some(condar) = known else { return no_handle(handle) };
    let answered = guarded(mpi, || lock(&condar).call(value));
    match answered.unwrap_or_else(|error| abort(mpi, &text::with_causes(&error))) {
        Ok(answer) => {
            // SAFETY: as promised.
            unsafe {
                verdict.as_mut().into_iter().for_each(|place| *place = answer.verdict.into());
                result.as_mut().into_iter().for_each(|place| *place = answer.value);
                is_exact.as_mut().into_iter().for_each(|place| *place = answer.is_exact.into());
            }
            OK
        }
        Err(fault) => {
            let code = match fault {
                Fault::Value { .. } => BAD_VALUE,
                Fault::Vanished { .. } => VANISHED,
                _ => DISAGREEMENT,
            };
            fail(code, &fault)
        }
    }
}

#[unsafe(export_name = "condar_free")]
extern "C" fn free(handle: c_int) -> c_int {
    let Some(mpi) = running() else { return no_mpi() };
    let taken = usize::try_from(handle).ok().and_then(|at| lock(&CONDARS).get_mut(at).and_then(Option::take));
    let Some(condar) = taken.and_then(Arc::into_inner).and_then(|condar| condar.into_inner().ok()) else {
        return no_handle(handle);
    };
    guarded(mpi, || condar.free()).unwrap_or_else(|error| abort(mpi, &text::with_causes(&error)));
    OK
}

fn running() -> Option<&'static Mpi> {
    Mpi::get().filter(|mpi| mpi.is_running())
}

fn no_mpi() -> c_int {
    fail(NO_MPI, &"MPI is not running, or is neither Open MPI nor MPICH")
}

fn no_handle(handle: c_int) -> c_int {
    fail(NO_HANDLE, &format_args!("{handle} is no handle that condar_init gave, or it was freed"))
}

fn new(
    mpi: &'static Mpi,
    comm: Handle,
    op: Handle,
    (sign, condition, constant): (c_int, c_int, f64),
    clusters: Option<&CStr>,
) -> c_int {
    let question = || {
        let reduction = match mpi.op(op) {
            Some(Op::Sum) => Reduction::Sum,
            Some(Op::Max) => Reduction::Max,
            Some(Op::Min) => Reduction::Min,
            Some(Op::LogicalOr) => Reduction::Or,
            Some(Op::LogicalAnd) => Reduction::And,
            _ => return Err("the operation must be MPI_SUM, MPI_MAX, MPI_MIN, MPI_LOR or MPI_LAND".to_owned()),
        };
        let word = |known: usize, what: &str, given: c_int| {
            usize::try_from(given)
                .ok()
                .filter(|at| *at < known)
                .ok_or_else(|| format!("{given} is no {what} of the header"))
        };
        let sign = Sign::ALL[word(Sign::ALL.len(), "sign", sign)?];
        let condition = Condition::ALL[word(Condition::ALL.len(), "condition", condition)?];
        Question::new(reduction, sign, condition, constant).map_err(|error| error.to_string())
    };
    let settings = program::settings();
    let settings = Settings {
        clusters: clusters.map(|text| text.to_string_lossy().into_owned()).or(settings.clusters),
        calls: Vec::new(),
        ..settings
    };
    match guarded(mpi, || Condar::new(mpi, comm, question(), settings)) {
        Ok(condar) => {
            let mut condars = lock(&CONDARS);
            let at = condars.iter().position(Option::is_none).unwrap_or_else(|| {
                condars.push(None);
                condars.len() - 1
            });
            condars[at] = Some(Arc::new(Mutex::new(condar)));
            at as c_int
        }
        Err(error) => fail(REFUSED, &text::with_causes(&error)),
    }
}
