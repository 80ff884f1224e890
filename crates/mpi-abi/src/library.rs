//! The MPI library that the process has loaded, with its handles and constants.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::call::{Calls, Status};
use crate::datatype::{Datatype, Op};
use crate::fortran::Fortran;
use crate::symbol;
use crate::{mpich, open_mpi, standard};

/// A library, or all that share its ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Open MPI 4 and 5.
    OpenMpi,
    /// MPICH 3.1 and later, Intel MPI, MVAPICH, Cray MPICH: the MPICH ABI Compatibility Initiative.
    Mpich,
    /// All libraries that have the ABI of MPI 5.0: `libmpi_abi.so.1`.
    Standard,
}

/// A communicator, datatype, operation, request or the like, as C programs hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub usize);

/// Values that programs pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// `MPI_COMM_WORLD`.
    pub comm_world: Handle,
    /// `MPI_COMM_SELF`.
    pub comm_self: Handle,
    /// `MPI_COMM_NULL`.
    pub comm_null: Handle,
    /// `MPI_REQUEST_NULL`.
    pub request_null: Handle,
    /// `MPI_INFO_NULL`.
    pub info_null: Handle,
    /// `MPI_BYTE`.
    pub byte: Handle,
    /// `MPI_DOUBLE`.
    pub double: Handle,
    /// `MPI_ANY_SOURCE`.
    pub any_source: c_int,
    /// `MPI_PROC_NULL`.
    pub proc_null: c_int,
    /// `MPI_ROOT`, of the one process that is the root of an intercommunicator's call.
    pub root: c_int,
    /// `MPI_ANY_TAG`.
    pub any_tag: c_int,
    /// `MPI_UNDEFINED`.
    pub undefined: c_int,
    /// `MPI_COMM_TYPE_SHARED`.
    pub comm_type_shared: c_int,
    /// `MPI_IN_PLACE`, an address.
    pub in_place: usize,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`, an address.
    pub status_ignore: usize,
}

/// Description of a library, as its module gives it.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) library: Library,
    /// Bytes of a handle in memory.
    pub(crate) handle_bytes: usize,
    /// Distance in bytes from one status to the next.
    pub(crate) status_bytes: usize,
    /// `MPI_CONGRUENT`. `MPI_IDENT` is one less, and all other results are more.
    pub(crate) congruent: c_int,
    pub(crate) constants: Constants,
    pub(crate) datatypes: Vec<(Handle, Datatype)>,
    pub(crate) ops: Vec<(Handle, Op)>,
    /// Reads a status of this library.
    pub(crate) status: unsafe fn(*const c_int) -> Status,
}

/// The MPI library of this process.
#[derive(Debug)]
pub struct Mpi {
    description: Description,
    pub(crate) calls: Calls,
    pub(crate) fortran: Fortran,
}

impl Mpi {
    /// Returns the library, or `None` if the process has loaded none that is known.
    ///
    /// A library may be loaded later, by a plug-in: the answer is kept only when there is one.
    #[must_use]
    pub fn get() -> Option<&'static Self> {
        static FOUND: OnceLock<Mpi> = OnceLock::new();
        FOUND.get().or_else(|| Self::find().map(|mpi| FOUND.get_or_init(|| mpi)))
    }

    fn find() -> Option<Self> {
        // Open MPI last: it lies below the library that a simulated program takes for another. The standard ABI of
        // MPICH has MPICH's version text.
        let description = if standard::is_called() {
            standard::description()
        } else {
            is_mpich().then(mpich::description).or_else(open_mpi::description)?
        };
        Some(Self { calls: Calls::find()?, fortran: Fortran::find(description.library), description })
    }

    /// Returns the library's kind.
    #[must_use]
    pub fn library(&self) -> Library {
        self.description.library
    }

    /// Returns `MPI_CONGRUENT`.
    pub(crate) fn congruent(&self) -> c_int {
        self.description.congruent
    }

    /// Returns its constants.
    #[inline]
    #[must_use]
    pub fn constants(&self) -> &Constants {
        &self.description.constants
    }

    /// Returns the handle that came as an argument: the bits in its register or on the stack beyond the handle may be
    /// anything.
    #[inline]
    #[must_use]
    pub fn handle(&self, word: usize) -> Handle {
        Handle(word & self.handle_mask())
    }

    /// Returns the mask for the part of a word that is a handle.
    #[must_use]
    pub fn handle_mask(&self) -> usize {
        if self.description.handle_bytes == 4 { 0xffff_ffff } else { usize::MAX }
    }

    /// Returns the handle at a place in an array of handles, as a program of C keeps them.
    ///
    /// # Safety
    /// The array has that many.
    #[inline]
    #[must_use]
    pub unsafe fn handle_at(&self, array: *const c_void, at: usize) -> Handle {
        // SAFETY: the caller says that there is a handle; its size is the library's.
        Handle(unsafe {
            if self.description.handle_bytes == 4 {
                array.cast::<u32>().add(at).read() as usize
            } else {
                array.cast::<usize>().add(at).read()
            }
        })
    }

    /// Returns the status at a place in an array. Those of Fortran are laid out alike.
    ///
    /// # Safety
    /// The array has that many, all written by this library.
    #[inline]
    #[must_use]
    pub unsafe fn status_at(&self, array: *const c_void, at: usize) -> Status {
        // SAFETY: the caller says that there is a status.
        unsafe { (self.description.status)(array.byte_add(at * self.description.status_bytes).cast()) }
    }

    /// Returns the description of a datatype, if MPI itself defines it.
    #[must_use]
    pub fn datatype(&self, handle: Handle) -> Option<Datatype> {
        self.description.datatypes.iter().find(|(known, _)| *known == handle).map(|(_, datatype)| *datatype)
    }

    /// Returns an operation, if MPI itself defines it.
    #[must_use]
    pub fn op(&self, handle: Handle) -> Option<Op> {
        self.description.ops.iter().find(|(known, _)| *known == handle).map(|(_, op)| *op)
    }

    /// Returns the operation's handle; `None` if the library does not have it.
    #[must_use]
    pub fn op_handle(&self, op: Op) -> Option<Handle> {
        self.description.ops.iter().find(|(_, known)| *known == op).map(|(handle, _)| *handle)
    }

    /// Returns the version text of the library, in one line.
    #[must_use]
    pub fn version(&self) -> String {
        version().unwrap_or_default().lines().next().unwrap_or_default().trim().to_owned()
    }
}

/// Returns the text of the function that may be called at any time; no library's version is longer.
fn version() -> Option<String> {
    const LENGTH_MAX: usize = 8192;
    let address = symbol::any(c"PMPI_Get_library_version");
    if address.is_null() {
        return None;
    }
    // SAFETY: the function of this name has this signature in all versions of MPI since 3.0.
    let get: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = unsafe { std::mem::transmute(address) };
    let (mut text, mut length) = (vec![0_u8; LENGTH_MAX], 0);
    // SAFETY: the text has room for what any of the known libraries may write.
    unsafe { get(text.as_mut_ptr().cast(), &raw mut length) };
    CStr::from_bytes_until_nul(&text).ok().map(|text| text.to_string_lossy().into_owned())
}

fn is_mpich() -> bool {
    version().is_some_and(|text| ["MPICH", "Intel(R) MPI", "MVAPICH"].iter().any(|mark| text.contains(mark)))
}
