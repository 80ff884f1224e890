//! A file that all ranks have open, by MPI-IO.
//!
//! The crate `mpi` has no files, so the calls are made here. Nothing else in this crate is unsafe. Unlike
//! communicators, files give errors back unless told otherwise.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::raw::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mpi::datatype::Equivalence;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use program::Failure;

use crate::Access;
use crate::plan::NUMBER_BYTES;

/// An open file. It has to be closed by all ranks.
pub(super) struct File {
    handle: ffi::MPI_File,
    path: PathBuf,
}

/// The use that a file is opened for.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Read,
    /// It must not be there yet.
    Write,
}

impl File {
    /// Opens it. Collective.
    pub(super) fn open(ranks: &SimpleCommunicator, path: &Path, to: Use) -> Result<Self, Failure> {
        let mode = match to {
            Use::Read => ffi::MPI_MODE_RDONLY,
            Use::Write => ffi::MPI_MODE_WRONLY | ffi::MPI_MODE_CREATE | ffi::MPI_MODE_EXCL,
        };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Failure::usage(format!("`{}` has a zero byte in it, which no file has", path.display())))?;
        let mut handle = MaybeUninit::<ffi::MPI_File>::uninit();
        let mut hints = MaybeUninit::<ffi::MPI_Info>::uninit();
        // SAFETY: MPI is begun as long as there is a communicator; the name ends with a zero; `hints` is made before it
        // is used, and freed after the call that copies it; the handle is read only where the call says that it was
        // set.
        let code = unsafe {
            ffi::MPI_Info_create(hints.as_mut_ptr());
            let code = ffi::MPI_File_open(
                ranks.as_raw(),
                name.as_ptr(),
                mode as c_int,
                hints.assume_init(),
                handle.as_mut_ptr(),
            );
            ffi::MPI_Info_free(hints.as_mut_ptr());
            code
        };
        check(code, "open", path)?;
        // SAFETY: the file is open.
        Ok(Self { handle: unsafe { handle.assume_init() }, path: path.to_owned() })
    }

    /// Reads numbers, of which `before` stand before them. Collective where `access` says so.
    pub(super) fn read(&self, before: u64, numbers: &mut [f64], access: Access) -> Result<(), Failure> {
        let call = match access {
            Access::Collective => ffi::MPI_File_read_at_all,
            Access::Independent => ffi::MPI_File_read_at,
        };
        let (at, n) = (Self::offset(before), Self::count(numbers));
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: the file is open, and there is room for `n` numbers, which nobody else looks at until the call is
        // over.
        let code = unsafe {
            call(
                self.handle,
                at,
                numbers.as_mut_ptr().cast::<c_void>(),
                n,
                f64::equivalent_datatype().as_raw(),
                status.as_mut_ptr(),
            )
        };
        check(code, "read", &self.path)?;
        self.check_count("read", &status, n)
    }

    /// Writes numbers behind so many others. Collective where `access` says so.
    pub(super) fn write(&self, before: u64, numbers: &[f64], access: Access) -> Result<(), Failure> {
        let call = match access {
            Access::Collective => ffi::MPI_File_write_at_all,
            Access::Independent => ffi::MPI_File_write_at,
        };
        let (at, n) = (Self::offset(before), Self::count(numbers));
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: the file is open, and `n` numbers are there, which the call only reads.
        let code = unsafe {
            call(
                self.handle,
                at,
                numbers.as_ptr().cast::<c_void>(),
                n,
                f64::equivalent_datatype().as_raw(),
                status.as_mut_ptr(),
            )
        };
        check(code, "write", &self.path)?;
        self.check_count("write", &status, n)
    }

    /// Closes it. Collective.
    pub(super) fn close(mut self) -> Result<(), Failure> {
        // SAFETY: the file is open, and nobody has it afterwards.
        let code = unsafe { ffi::MPI_File_close(&raw mut self.handle) };
        check(code, "close", &self.path)
    }

    fn offset(before: u64) -> ffi::MPI_Offset {
        ffi::MPI_Offset::try_from(before * NUMBER_BYTES).expect("a plan has no file beyond 2^63 bytes")
    }

    fn count(numbers: &[f64]) -> c_int {
        c_int::try_from(numbers.len()).expect("a plan has no larger sections")
    }

    fn check_count(&self, doing: &str, status: &MaybeUninit<ffi::MPI_Status>, wanted: c_int) -> Result<(), Failure> {
        let mut n = 0;
        // SAFETY: the call that succeeded has set the status.
        let code = unsafe { ffi::MPI_Get_count(status.as_ptr(), f64::equivalent_datatype().as_raw(), &raw mut n) };
        check(code, doing, &self.path)?;
        if n == wanted {
            return Ok(());
        }
        Err(Failure::work(format!("cannot {doing} `{}`: {n} of {wanted} numbers were done", self.path.display())))
    }
}

fn check(code: c_int, doing: &str, path: &Path) -> Result<(), Failure> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: there is room for the longest text that the library has.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut length) };
    let text = match usize::try_from(length) {
        Ok(length) if told == ffi::MPI_SUCCESS as c_int => String::from_utf8_lossy(&text[..length]),
        _ => format!("code {code}").into(),
    };
    // Some libraries tell a story of several lines.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(Failure::work(format!("cannot {doing} `{}`: {text}", path.display())))
}
