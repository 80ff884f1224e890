//! Conditional allreduce for programs in Rust: whether a reduction over all ranks meets a condition, told as soon as a
//! part of it decides.
//!
//! The work is `mpi-coll`'s, which is found at run time if it is preloaded or linked; without it each call is a plain
//! allreduce. What is said of C's functions in `include/foretop_condar.h` holds here too: a call is no barrier, and its
//! value is only the result if it is exact.
//!
//! ```no_run
//! use condar::{Condar, Condition, Question, Reduction, Sign};
//!
//! # fn relax() -> f64 { 0.0 }
//! let question = Question::new(Reduction::Sum, Sign::NonNegative, Condition::Greater, 0.01904).unwrap();
//! let mut is_changing = Condar::on_world(question, None).unwrap();
//! while is_changing.call(relax()).unwrap().verdict {}
//! ```
#![warn(unreachable_pub)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use mpi_abi::{Failed, Handle, Mpi, Op};

pub use mpi_tree::{Answer, Condition, Question, Reduction, Sign, UnsoundError};

/// A question that all ranks of `MPI_COMM_WORLD` ask again and again.
#[derive(Debug)]
pub struct Condar(Way);

#[derive(Debug)]
enum Way {
    Library(Library),
    /// All ranks, with the MPI library's own allreduce.
    Plain {
        mpi: &'static Mpi,
        op: Handle,
        question: Question,
    },
}

/// Functions of `mpi-coll`, and the handle that they gave.
#[derive(Debug)]
struct Library {
    call: Call,
    free: Free,
    reason: Reason,
    handle: c_int,
}

type Call = unsafe extern "C" fn(c_int, f64, *mut c_int, *mut f64, *mut c_int) -> c_int;
type Free = unsafe extern "C" fn(c_int) -> c_int;
type Reason = unsafe extern "C" fn() -> *const c_char;
type Init = unsafe extern "C" fn(usize, usize, c_int, c_int, f64, *const c_char) -> c_int;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CondarError {
    /// Reason that the library gives.
    #[error("{0}")]
    Library(String),
    /// Lack of MPI: it has not begun, has ended, or is of a kind that is not known.
    #[error("MPI is not running, or is neither Open MPI nor MPICH")]
    NoMpi,
    /// Failure of the MPI library to carry a message.
    #[error("the plain allreduce failed")]
    Mpi(#[from] Failed),
}

impl Condar {
    /// Builds it on all ranks, which all call this, with the same question and clusters: ranks of each, as in
    /// `0-3 4-7`; none for those of the tree file.
    ///
    /// # Errors
    /// If ranks do not agree, or there is no MPI.
    ///
    /// # Panics
    /// If there is a zero byte in `clusters`.
    pub fn on_world(question: Question, clusters: Option<&str>) -> Result<Self, CondarError> {
        let mpi = Mpi::get().filter(|mpi| mpi.is_running()).ok_or(CondarError::NoMpi)?;
        let op = |op| mpi.op_handle(op).ok_or(CondarError::NoMpi);
        let found = [c"condar_init", c"condar_call", c"condar_free", c"condar_reason"].map(mpi_abi::any);
        if found.iter().any(|address| address.is_null()) {
            // Of 0 and 1, or and and are the same as these, which MPI has for doubles.
            let op = op(match question.reduction() {
                Reduction::Sum => Op::Sum,
                Reduction::Max | Reduction::Or => Op::Max,
                Reduction::Min | Reduction::And => Op::Min,
            })?;
            return Ok(Self(Way::Plain { mpi, op, question }));
        }
        let op = op(match question.reduction() {
            Reduction::Sum => Op::Sum,
            Reduction::Max => Op::Max,
            Reduction::Min => Op::Min,
            Reduction::Or => Op::LogicalOr,
            Reduction::And => Op::LogicalAnd,
        })?;
        let clusters = clusters.map(|text| CString::new(text).expect("a list of ranks has no zero byte"));
        let clusters_at = clusters.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let sign = position(Sign::ALL, &question.sign());
        let condition = position(Condition::ALL, &question.condition());
        let [init, call, free, reason] = found;
        // SAFETY: only `mpi-coll` has functions of these names, with these signatures; the text lives until the call
        // returns.
        unsafe {
            let init = std::mem::transmute::<*mut c_void, Init>(init);
            let comm = mpi.constants().comm_world.0;
            let handle = init(comm, op.0, sign, condition, question.constant(), clusters_at);
            let library = Library {
                call: std::mem::transmute::<*mut c_void, Call>(call),
                free: std::mem::transmute::<*mut c_void, Free>(free),
                reason: std::mem::transmute::<*mut c_void, Reason>(reason),
                handle,
            };
            if handle < 0 { Err(library.error()) } else { Ok(Self(Way::Library(library))) }
        }
    }

    /// Whether calls may be answered without waiting for all ranks.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        matches!(self.0, Way::Library(_))
    }

    /// Makes the next call, of this rank's value.
    ///
    /// # Errors
    /// A broken promise, a cluster that has vanished, ranks that ask different questions; after these each further call
    /// fails too.
    pub fn call(&mut self, value: f64) -> Result<Answer, CondarError> {
        match &self.0 {
            Way::Library(library) => {
                let (mut verdict, mut is_exact, mut result) = (0, 0, 0.0);
                // SAFETY: the places live until the call returns.
                let code = unsafe {
                    (library.call)(library.handle, value, &raw mut verdict, &raw mut result, &raw mut is_exact)
                };
                if code != 0 {
                    return Err(library.error());
                }
                Ok(Answer { verdict: verdict != 0, value: result, is_exact: is_exact != 0 })
            }
            Way::Plain { mpi, op, question } => {
                let mut result = 0.0;
                let comm = mpi.constants().comm_world;
                // SAFETY: the places live until the request is done, for which the next line waits.
                let request = unsafe { mpi.iallreduce(&raw const value, &raw mut result, *op, comm)? };
                mpi.wait(request)?;
                Ok(Answer { verdict: question.holds(result), value: result, is_exact: true })
            }
        }
    }

    /// Ends it. All ranks call this, after as many calls.
    ///
    /// # Errors
    /// If the library does not know it any more.
    pub fn free(self) -> Result<(), CondarError> {
        let Way::Library(library) = self.0 else { return Ok(()) };
        // SAFETY: it takes any number.
        if unsafe { (library.free)(library.handle) } == 0 { Ok(()) } else { Err(library.error()) }
    }
}

impl Library {
    fn error(&self) -> CondarError {
        // SAFETY: it gives a text that stays until this thread's next call.
        let reason = unsafe { CStr::from_ptr((self.reason)()) };
        CondarError::Library(reason.to_string_lossy().into_owned())
    }
}

fn position<T: PartialEq>(all: &[T], one: &T) -> c_int {
    all.iter().position(|other| other == one).expect("it is one of them") as c_int
}
