//! Arguments that a program passed, whichever its language, and the conversion of its buffers to bytes and back.

use std::ffi::c_int;

use mpi_abi::{Failed, Handle, Mpi};
use mpi_tree::Collective;

/// Language whose conventions a call's arguments follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    /// C with counts of 64 bits, which MPI 4 has.
    LargeC,
    Fortran,
}

/// Elements of a datatype in the program's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// 0 is `MPI_BOTTOM`.
    pub(crate) address: usize,
    pub(crate) count: i64,
    pub(crate) datatype: Handle,
}

/// A call's arguments as C has them. Those that it does not have are 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    pub(crate) send: Buffer,
    pub(crate) receive: Buffer,
    pub(crate) op: Handle,
    pub(crate) root: c_int,
    pub(crate) comm: Handle,
}

/// Fortran's addresses that stand for constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FortranConstants {
    in_place: [usize; 2],
    bottom: [usize; 2],
}

impl FortranConstants {
    pub(crate) fn of(mpi: &Mpi) -> Self {
        Self { in_place: mpi.fortran_in_place(), bottom: mpi.fortran_bottom() }
    }
}

/// Returns the order of the arguments: buffers, counts, datatypes, operation, root, communicator.
fn signature(collective: Collective) -> &'static [u8] {
    match collective {
        Collective::Allreduce => b"srcdoC",
        Collective::Barrier => b"C",
        Collective::Bcast => b"scdRC",
        Collective::Reduce => b"srcdoRC",
        Collective::Gather | Collective::Scatter => b"scdreDRC",
    }
}

impl Arguments {
    pub(crate) fn read(
        mpi: &Mpi,
        fortran: &FortranConstants,
        collective: Collective,
        language: Language,
        words: &[usize],
    ) -> Self {
        let none = Buffer { address: 0, count: 0, datatype: Handle(0) };
        let mut read = Self { send: none, receive: none, op: Handle(0), root: 0, comm: Handle(0) };
        let is_c = language != Language::Fortran;
        for (&word, what) in words.iter().zip(signature(collective)) {
            let int = || {
                // SAFETY: a Fortran program passes the address of an integer for each argument that is no buffer.
                if is_c { word as c_int } else { unsafe { *(word as *const c_int) } }
            };
            let count = || if language == Language::LargeC { word as i64 } else { int().into() };
            let handle =
                |of_fortran: fn(&Mpi, c_int) -> Handle| if is_c { mpi.handle(word) } else { of_fortran(mpi, int()) };
            let address = || match word {
                _ if is_c => word,
                _ if fortran.in_place.contains(&word) => mpi.constants().in_place,
                _ if fortran.bottom.contains(&word) => 0,
                _ => word,
            };
            match what {
                b's' => read.send.address = address(),
                b'r' => read.receive.address = address(),
                b'c' => read.send.count = count(),
                b'e' => read.receive.count = count(),
                b'd' => read.send.datatype = handle(Mpi::datatype_of_fortran),
                b'D' => read.receive.datatype = handle(Mpi::datatype_of_fortran),
                b'o' => read.op = handle(Mpi::op_of_fortran),
                b'R' => read.root = int(),
                _ => read.comm = handle(Mpi::comm_of_fortran),
            }
        }
        if matches!(collective, Collective::Allreduce | Collective::Reduce) {
            (read.receive.count, read.receive.datatype) = (read.send.count, read.send.datatype);
        }
        read
    }
}

/// The communicator whose place a program passes to give it up.
///
/// # Safety
/// It is the argument of `MPI_Comm_free` or `MPI_Comm_disconnect`.
pub(crate) unsafe fn comm_at(mpi: &Mpi, language: Language, word: usize) -> Handle {
    // SAFETY: there is a handle, in Fortran an integer.
    unsafe {
        match language {
            Language::C | Language::LargeC => mpi.handle_at(word as *const _, 0),
            Language::Fortran => mpi.comm_of_fortran(*(word as *const c_int)),
        }
    }
}

impl Buffer {
    /// Bytes of data; none if there cannot be so many.
    pub(crate) fn n_bytes(&self, mpi: &Mpi) -> Result<Option<usize>, Failed> {
        let size = match mpi.datatype(self.datatype) {
            Some(datatype) => datatype.size_bytes,
            None => mpi.type_size(self.datatype)? as usize,
        };
        Ok(usize::try_from(self.count).ok().and_then(|count| count.checked_mul(size)))
    }

    /// So many times as long.
    pub(crate) fn times(self, n: usize) -> Self {
        Self { count: self.count.saturating_mul(n as i64), ..self }
    }

    /// Returns the count for `MPI_Pack`, which gets less than 2 GiB. If arguments contradict each other, `MPI_Pack`
    /// reports it.
    fn short_count(&self) -> c_int {
        self.count.try_into().unwrap_or(c_int::MAX)
    }

    /// Whether its data lie in memory as they are sent.
    pub(crate) fn is_dense(&self, mpi: &Mpi) -> bool {
        mpi.datatype(self.datatype).is_some_and(|datatype| datatype.size_bytes == datatype.extent_bytes)
    }

    /// Its data, `n_bytes` of them.
    ///
    /// # Safety
    /// The program passed it to be read.
    pub(crate) unsafe fn read(&self, mpi: &Mpi, comm: Handle, n_bytes: usize) -> Result<Vec<u8>, Failed> {
        if self.is_dense(mpi) {
            // SAFETY: so says the caller, of as many bytes as it has elements.
            return Ok(unsafe { std::slice::from_raw_parts(self.address as *const u8, n_bytes) }.to_vec());
        }
        let mut bytes = vec![0; n_bytes];
        // SAFETY: as above; the library reads the elements as their type says.
        unsafe { mpi.pack(self.address, self.short_count(), self.datatype, &mut bytes, comm)? };
        Ok(bytes)
    }

    /// Sets its data.
    ///
    /// # Safety
    /// The program passed it to be written.
    pub(crate) unsafe fn write(&self, mpi: &Mpi, comm: Handle, bytes: &[u8]) -> Result<(), Failed> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_dense(mpi) {
            // SAFETY: so says the caller, and nobody else has `bytes`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address as *mut u8, bytes.len()) };
            return Ok(());
        }
        // SAFETY: as above; the library writes the elements as their type says.
        unsafe { mpi.unpack(bytes, self.address, self.short_count(), self.datatype, comm) }
    }

    /// Its elements with what lies between them, as a reduction wants them.
    ///
    /// # Safety
    /// The program passed it to be read, with a built-in type.
    pub(crate) unsafe fn elements(&self, n_bytes: usize) -> Vec<u8> {
        // SAFETY: so says the caller.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, n_bytes) }.to_vec()
    }

    /// Sets such elements.
    ///
    /// # Safety
    /// The program passed it to be written, with a built-in type.
    pub(crate) unsafe fn set_elements(&self, bytes: &[u8]) {
        // SAFETY: so says the caller, and nobody else has `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address as *mut u8, bytes.len()) };
    }
}
