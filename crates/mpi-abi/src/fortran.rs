//! Arguments of Fortran programs: numbers for handles, and addresses that stand for constants.

use std::ffi::{CStr, c_int, c_void};

use crate::library::{Handle, Library, Mpi};
use crate::symbol;

type ToC = unsafe extern "C" fn(c_int) -> usize;

/// Found by name; what a program does not use may be missing.
#[derive(Debug)]
pub(crate) struct Fortran {
    library: Library,
    /// Open MPI has a table of all handles; none in MPICH, whose handles are numbers in C too. The standard ABI has no
    /// Fortran.
    comm_to_c: Option<ToC>,
    datatype_to_c: Option<ToC>,
    op_to_c: Option<ToC>,
    request_to_c: Option<ToC>,
}

impl Fortran {
    pub(crate) fn find(library: Library) -> Self {
        let to_c = |name: &CStr| {
            let address = symbol::any(name);
            // SAFETY: Open MPI's functions of these names take a Fortran integer and give a handle.
            (library == Library::OpenMpi && !address.is_null())
                .then(|| unsafe { std::mem::transmute::<*mut c_void, ToC>(address) })
        };
        Self {
            library,
            comm_to_c: to_c(c"PMPI_Comm_f2c"),
            datatype_to_c: to_c(c"PMPI_Type_f2c"),
            op_to_c: to_c(c"PMPI_Op_f2c"),
            request_to_c: to_c(c"PMPI_Request_f2c"),
        }
    }

    /// Returns the addresses that hold each of the constant's values: the program's common block may be another than
    /// the library's own.
    ///
    /// They are looked up at each call, as libraries for Fortran may be loaded later and set some when MPI begins.
    fn addresses(&self, variables: &[&CStr], pointers: &[&CStr]) -> [usize; 2] {
        let variable = variables.iter().map(|name| symbol::any(name) as usize);
        let pointed = pointers.iter().map(|name| {
            let place = symbol::any(name).cast::<usize>();
            // SAFETY: a symbol of such a name is a variable that holds an address.
            if place.is_null() { 0 } else { unsafe { place.read() } }
        });
        let mut found = variable.chain(pointed);
        std::array::from_fn(|_| found.next().unwrap_or(0))
    }
}

impl Mpi {
    /// Returns the communicator of a Fortran integer.
    #[must_use]
    pub fn comm_of_fortran(&self, number: c_int) -> Handle {
        to_c(self.fortran.comm_to_c, number)
    }

    /// Returns the datatype of a Fortran integer.
    #[must_use]
    pub fn datatype_of_fortran(&self, number: c_int) -> Handle {
        to_c(self.fortran.datatype_to_c, number)
    }

    /// Returns the operation of a Fortran integer.
    #[must_use]
    pub fn op_of_fortran(&self, number: c_int) -> Handle {
        to_c(self.fortran.op_to_c, number)
    }

    /// Returns the request of a Fortran integer.
    #[must_use]
    pub fn request_of_fortran(&self, number: c_int) -> Handle {
        to_c(self.fortran.request_to_c, number)
    }

    /// Returns the addresses that mean `MPI_IN_PLACE` as a Fortran program's buffer; 0 stands for none. Those of a
    /// running program never change: ask once, after MPI has begun.
    #[must_use]
    pub fn fortran_in_place(&self) -> [usize; 2] {
        match self.fortran.library {
            Library::OpenMpi => self.fortran.addresses(&[c"mpi_fortran_in_place_"], &[]),
            Library::Mpich => self.fortran.addresses(&[c"MPIR_F08_MPI_IN_PLACE"], &[c"MPIR_F_MPI_IN_PLACE"]),
            Library::Standard => [0; 2],
        }
    }

    /// Returns the addresses for `MPI_BOTTOM` likewise.
    #[must_use]
    pub fn fortran_bottom(&self) -> [usize; 2] {
        match self.fortran.library {
            Library::OpenMpi => self.fortran.addresses(&[c"mpi_fortran_bottom_"], &[]),
            Library::Mpich => self.fortran.addresses(&[c"MPIR_F08_MPI_BOTTOM"], &[c"MPIR_F_MPI_BOTTOM"]),
            Library::Standard => [0; 2],
        }
    }

    /// Returns the addresses for `MPI_STATUS_IGNORE` likewise.
    #[must_use]
    pub fn fortran_status_ignore(&self) -> [usize; 2] {
        match self.fortran.library {
            Library::OpenMpi => self.fortran.addresses(&[c"mpi_fortran_status_ignore_"], &[c"MPI_F_STATUS_IGNORE"]),
            Library::Mpich => self.fortran.addresses(&[c"MPIR_F08_MPI_STATUS_IGNORE_OBJ"], &[c"MPI_F_STATUS_IGNORE"]),
            Library::Standard => [0; 2],
        }
    }
}

fn to_c(function: Option<ToC>, number: c_int) -> Handle {
    match function {
        // SAFETY: the function looks the number up in a table and gives a null handle if it is not there.
        Some(function) => Handle(unsafe { function(number) }),
        None => Handle(number as u32 as usize),
    }
}
