//! Kernels in C: a shared object whose `main` every rank runs, compiled with `examples/sim/user/mpi.h`.

mod calls;
mod globals;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::{fs, io, ptr};

use units::Rank as RankIdx;

use super::{Contexts, UserError};
use crate::rank::Rank;
use crate::world::{Lock, Reason, Stopped, World};
use calls::{CALLS, Calls, Client, Ran};
pub use globals::GlobalsError;

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;

/// Collective calls, with the algorithms that they ran by.
pub type Algorithms = BTreeSet<(&'static str, &'static str)>;

/// The reason why a kernel in C could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// It cannot be read.
    #[error("cannot read the kernel `{path}`")]
    Read {
        /// The shared object.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Ranks would share its variables.
    #[error("`{path}` is no kernel")]
    Globals {
        /// The shared object.
        path: PathBuf,
        /// The fault.
        source: GlobalsError,
    },
    /// It cannot be loaded.
    #[error("cannot load the kernel `{path}`: {why}")]
    Load {
        /// The shared object.
        path: PathBuf,
        /// The error of the loader.
        why: String,
    },
    /// It has no such symbol.
    #[error("`{path}` has no `{name}`: compile a program with a `main` and the simulator's `mpi.h`")]
    Symbol {
        /// The shared object.
        path: PathBuf,
        /// The missing symbol.
        name: &'static str,
    },
    /// Ranks could not begin.
    #[error(transparent)]
    User(#[from] UserError),
}

/// A shared object that is loaded for good.
pub struct Kernel {
    main: Main,
}

impl Kernel {
    /// Loads the kernel.
    ///
    /// # Errors
    /// Where it cannot be loaded, or has variables that its ranks would share.
    pub fn load(path: &Path) -> Result<Self, NativeError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let image = fs::read(&path).map_err(|source| NativeError::Read { path: path.clone(), source })?;
        globals::check(&image).map_err(|source| NativeError::Globals { path: path.clone(), source })?;
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path that was read has no zero in it");
        // SAFETY: the name ends with a zero. What the object does when it is loaded is its author's, as with any
        // program that is run.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: after a failure there is a text, valid until this thread's next call of the loader.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
            return Err(NativeError::Load { path, why });
        }
        let symbol = |name: &'static CStr| {
            // SAFETY: the library is loaded, and the name ends with a zero.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            let lacks = || NativeError::Symbol { path: path.clone(), name: name.to_str().unwrap_or_default() };
            if found.is_null() { Err(lacks()) } else { Ok(found) }
        };
        let (calls, main) = (symbol(c"foretop_sim")?, symbol(c"main")?);
        // SAFETY: the header declares this pointer, and nobody else knows it yet.
        unsafe { *calls.cast::<*const Calls>() = &CALLS };
        // SAFETY: a C program's `main` has this type.
        Ok(Self { main: unsafe { std::mem::transmute::<*mut c_void, Main>(main) } })
    }

    /// Runs it on every rank of `world` with these arguments, the first of which is its name. A rank that returns
    /// another status than 0 stops the simulation. Gives the collective calls that were made, with the algorithms that
    /// they ran by.
    ///
    /// # Errors
    /// Where ranks could not begin.
    pub fn run(&self, world: &Lock<World>, stack_bytes: usize, arguments: &[CString]) -> Result<Algorithms, UserError> {
        let members: Vec<RankIdx> = (0..world.hold().machine().n_ranks()).collect();
        let ran = Ran::default();
        super::run(world, stack_bytes, |rank| {
            self.run_rank(rank, arguments, &members, &ran);
            Ok(())
        })?;
        Ok(ran.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn run_rank(&self, rank: &mut Rank<'_, Contexts>, arguments: &[CString], members: &[RankIdx], ran: &Ran) {
        // Programs may change their arguments.
        let mut owned: Vec<Vec<u8>> = arguments.iter().map(|argument| argument.as_bytes_with_nul().to_vec()).collect();
        let mut pointers: Vec<*mut c_char> = owned.iter_mut().map(|argument| argument.as_mut_ptr().cast()).collect();
        pointers.push(ptr::null_mut());
        let client = RefCell::new(Client::new(rank, members, ran));
        // SAFETY: the arguments are as C wants them, and the client lives as long as the call.
        let status = unsafe { calls::with(&client, || (self.main)(arguments.len() as c_int, pointers.as_mut_ptr())) };
        if status != 0 {
            let (me, at) = (rank.me(), rank.now());
            rank.stop(Stopped { rank: me, at, reason: Reason::Ended(format!("`main` returned {status}")) });
        }
    }
}
