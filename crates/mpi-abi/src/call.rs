//! MPI calls of this library's own, all by their `PMPI_` names, which nobody takes.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::library::{Handle, Mpi};
use crate::symbol;

/// Properties of a message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank that sent it.
    pub source: c_int,
    /// Its tag.
    pub tag: c_int,
    /// The error, where a call completes several requests.
    pub error: c_int,
    /// Number of bytes of it.
    pub bytes: u64,
    /// Whether it was called off.
    pub is_cancelled: bool,
}

/// A call of ours that MPI did not carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{function}` failed with MPI's error {code}")]
pub struct Failed {
    /// Name of the function.
    pub function: &'static str,
    /// The library's code.
    pub code: c_int,
}

/// A message under way. Whoever drops it leaves the message alone.
#[derive(Debug)]
#[must_use]
pub struct Request(usize);

/// Room for one status of any library.
type StatusRoom = [u64; 4];

macro_rules! calls {
    ($($field:ident $name:literal ($($argument:ty),*);)*) => {
        /// Functions of the library. Handles are words: those of 32 bits are in a word's low half, where they are
        /// looked for.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Calls {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Calls {
            /// Finds all functions; `None` if one is missing.
            pub(crate) fn find() -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = find($name)?;
                        // SAFETY: MPI gives functions of these names these arguments, each of one machine word or an
                        // `int`.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address) }
                    },)*
                })
            }
        }
    };
}

fn find(name: &CStr) -> Option<*mut c_void> {
    let address = symbol::any(name);
    (!address.is_null()).then_some(address)
}

calls! {
    abort c"PMPI_Abort" (usize, c_int);
    allgather c"PMPI_Allgather" (*const c_void, c_int, usize, *mut c_void, c_int, usize, usize);
    barrier c"PMPI_Barrier" (usize);
    bcast c"PMPI_Bcast" (*mut c_void, c_int, usize, c_int, usize);
    comm_compare c"PMPI_Comm_compare" (usize, usize, *mut c_int);
    comm_dup c"PMPI_Comm_dup" (usize, *mut usize);
    comm_get_name c"PMPI_Comm_get_name" (usize, *mut c_char, *mut c_int);
    comm_free c"PMPI_Comm_free" (*mut usize);
    comm_get_parent c"PMPI_Comm_get_parent" (*mut usize);
    comm_group c"PMPI_Comm_group" (usize, *mut usize);
    comm_rank c"PMPI_Comm_rank" (usize, *mut c_int);
    comm_remote_group c"PMPI_Comm_remote_group" (usize, *mut usize);
    comm_size c"PMPI_Comm_size" (usize, *mut c_int);
    comm_test_inter c"PMPI_Comm_test_inter" (usize, *mut c_int);
    finalized c"PMPI_Finalized" (*mut c_int);
    group_free c"PMPI_Group_free" (*mut usize);
    group_size c"PMPI_Group_size" (usize, *mut c_int);
    group_translate_ranks c"PMPI_Group_translate_ranks" (usize, c_int, *const c_int, usize, *mut c_int);
    iallreduce c"PMPI_Iallreduce" (*const c_void, *mut c_void, c_int, usize, usize, usize, *mut usize);
    initialized c"PMPI_Initialized" (*mut c_int);
    iprobe c"PMPI_Iprobe" (c_int, c_int, usize, *mut c_int, *mut c_void);
    irecv c"PMPI_Irecv" (*mut c_void, c_int, usize, c_int, c_int, usize, *mut usize);
    isend c"PMPI_Isend" (*const c_void, c_int, usize, c_int, c_int, usize, *mut usize);
    pack c"PMPI_Pack" (*const c_void, c_int, usize, *mut c_void, c_int, *mut c_int, usize);
    pack_size c"PMPI_Pack_size" (c_int, usize, usize, *mut c_int);
    recv c"PMPI_Recv" (*mut c_void, c_int, usize, c_int, c_int, usize, *mut c_void);
    request_get_status c"PMPI_Request_get_status" (usize, *mut c_int, *mut c_void);
    send c"PMPI_Send" (*const c_void, c_int, usize, c_int, c_int, usize);
    test c"PMPI_Test" (*mut usize, *mut c_int, *mut c_void);
    type_size c"PMPI_Type_size_x" (usize, *mut i64);
    unpack c"PMPI_Unpack" (*const c_void, c_int, *mut c_int, *mut c_void, c_int, usize, usize);
    wait c"PMPI_Wait" (*mut usize, *mut c_void);
}

fn check(function: &'static str, code: c_int) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err(Failed { function, code }) }
}

/// Returns a number of bytes as MPI counts them. Our own messages are short.
fn count(bytes: usize) -> c_int {
    c_int::try_from(bytes).expect("our own messages have less than 2 GiB")
}

// SAFETY, for all calls below: the functions were found under the names of their signatures; places for what they
// give are on the stack; buffers are slices of the length that is passed. A handle comes from the program or from
// one of these calls, and whoever calls sees to it that it is still valid.
macro_rules! call {
    ($mpi:expr, $function:ident ($($argument:expr),*)) => {
        // SAFETY: as said above.
        check(stringify!($function), unsafe { ($mpi.calls.$function)($($argument),*) })
    };
}

impl Mpi {
    /// Returns this process's rank.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn comm_rank(&self, comm: Handle) -> Result<c_int, Failed> {
        let mut rank = 0;
        call!(self, comm_rank(comm.0, &raw mut rank)).map(|()| rank)
    }

    /// Returns the number of ranks; of an intercommunicator, on this side.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn comm_size(&self, comm: Handle) -> Result<c_int, Failed> {
        let mut size = 0;
        call!(self, comm_size(comm.0, &raw mut size)).map(|()| size)
    }

    /// Whether it joins two groups.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn is_inter(&self, comm: Handle) -> Result<bool, Failed> {
        let mut flag = 0;
        call!(self, comm_test_inter(comm.0, &raw mut flag)).map(|()| flag != 0)
    }

    /// Whether both have the same ranks in the same order: `MPI_IDENT` or `MPI_CONGRUENT`.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn is_congruent(&self, one: Handle, other: Handle) -> Result<bool, Failed> {
        let mut result = 0;
        call!(self, comm_compare(one.0, other.0, &raw mut result)).map(|()| result <= self.congruent())
    }

    /// Makes a communicator of the same ranks. All of them have to call.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn comm_dup(&self, comm: Handle) -> Result<Handle, Failed> {
        let mut twin = 0;
        call!(self, comm_dup(comm.0, &raw mut twin)).map(|()| Handle(twin))
    }

    /// Frees a communicator that [`Mpi::comm_dup`] made.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn comm_free(&self, comm: Handle) -> Result<(), Failed> {
        let mut comm = comm.0;
        call!(self, comm_free(&raw mut comm))
    }

    /// Returns the name that a program or the library gave it.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn comm_name(&self, comm: Handle) -> Result<String, Failed> {
        // `MPI_MAX_OBJECT_NAME` of all libraries is less.
        let (mut text, mut length) = ([0_u8; 1024], 0);
        call!(self, comm_get_name(comm.0, text.as_mut_ptr().cast(), &raw mut length))?;
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// Whether another job started this one, with `MPI_Comm_spawn`.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn is_spawned(&self) -> Result<bool, Failed> {
        let mut parent = 0;
        call!(self, comm_get_parent(&raw mut parent)).map(|()| self.handle(parent) != self.constants().comm_null)
    }

    /// Returns the ranks of `MPI_COMM_WORLD` in the order of the communicator's own; -1 for one that is not in it.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn world_ranks(&self, comm: Handle) -> Result<Vec<i32>, Failed> {
        let mut group = 0;
        call!(self, comm_group(comm.0, &raw mut group))?;
        self.world_ranks_of_group(group)
    }

    /// Returns the ranks of an intercommunicator's other side likewise.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn remote_world_ranks(&self, comm: Handle) -> Result<Vec<i32>, Failed> {
        let mut group = 0;
        call!(self, comm_remote_group(comm.0, &raw mut group))?;
        self.world_ranks_of_group(group)
    }

    fn world_ranks_of_group(&self, mut group: usize) -> Result<Vec<i32>, Failed> {
        let (mut world, mut size) = (0, 0);
        call!(self, comm_group(self.constants().comm_world.0, &raw mut world))?;
        call!(self, group_size(group, &raw mut size))?;
        let own: Vec<c_int> = (0..size).collect();
        let mut ranks = vec![0; own.len()];
        call!(self, group_translate_ranks(group, size, own.as_ptr(), world, ranks.as_mut_ptr()))?;
        call!(self, group_free(&raw mut world))?;
        call!(self, group_free(&raw mut group))?;
        let undefined = self.constants().undefined;
        Ok(ranks.into_iter().map(|rank| if rank == undefined { -1 } else { rank }).collect())
    }

    /// Returns the number of bytes of data in an element.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn type_size(&self, datatype: Handle) -> Result<u64, Failed> {
        let mut size = 0_i64;
        call!(self, type_size(datatype.0, &raw mut size)).map(|()| u64::try_from(size).unwrap_or(0))
    }

    /// Puts the data of elements in a row. Between ranks of one library they lie there as they are in memory.
    ///
    /// # Safety
    /// `address` is that of so many elements that may be read; 0 stands for `MPI_BOTTOM`.
    ///
    /// # Errors
    /// If MPI refuses.
    pub unsafe fn pack(
        &self,
        address: usize,
        n: c_int,
        datatype: Handle,
        into: &mut [u8],
        comm: Handle,
    ) -> Result<(), Failed> {
        let (length, mut position) = (count(into.len()), 0);
        let from = address as *const c_void;
        call!(self, pack(from, n, datatype.0, into.as_mut_ptr().cast(), length, &raw mut position, comm.0))
    }

    /// Returns the number of bytes that [`Mpi::pack`] needs for so many elements.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn pack_size(&self, n: c_int, datatype: Handle, comm: Handle) -> Result<usize, Failed> {
        let mut size = 0;
        call!(self, pack_size(n, datatype.0, comm.0, &raw mut size)).map(|()| usize::try_from(size).unwrap_or(0))
    }

    /// Puts data in a row back into elements.
    ///
    /// # Safety
    /// `address` is that of so many elements that may be written; 0 stands for `MPI_BOTTOM`.
    ///
    /// # Errors
    /// If MPI refuses.
    pub unsafe fn unpack(
        &self,
        bytes: &[u8],
        address: usize,
        n: c_int,
        datatype: Handle,
        comm: Handle,
    ) -> Result<(), Failed> {
        let (length, mut position) = (count(bytes.len()), 0);
        let into = address as *mut c_void;
        call!(self, unpack(bytes.as_ptr().cast(), length, &raw mut position, into, n, datatype.0, comm.0))
    }

    /// Whether MPI has begun and not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let (mut has_begun, mut has_ended) = (0, 0);
        call!(self, initialized(&raw mut has_begun)).is_ok()
            && call!(self, finalized(&raw mut has_ended)).is_ok()
            && has_begun != 0
            && has_ended == 0
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn send(&self, bytes: &[u8], to: c_int, tag: c_int, comm: Handle) -> Result<(), Failed> {
        let byte = self.constants().byte.0;
        call!(self, send(bytes.as_ptr().cast(), count(bytes.len()), byte, to, tag, comm.0))
    }

    /// Receives bytes.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn recv(&self, bytes: &mut [u8], from: c_int, tag: c_int, comm: Handle) -> Result<Status, Failed> {
        let (byte, mut status) = (self.constants().byte.0, StatusRoom::default());
        let room = (&raw mut status).cast();
        call!(self, recv(bytes.as_mut_ptr().cast(), count(bytes.len()), byte, from, tag, comm.0, room))?;
        Ok(self.status_in(&status))
    }

    /// Begins to send bytes.
    ///
    /// # Safety
    /// The bytes stay where they are, unchanged, until the request is done.
    ///
    /// # Errors
    /// If MPI refuses.
    pub unsafe fn isend(&self, bytes: *const [u8], to: c_int, tag: c_int, comm: Handle) -> Result<Request, Failed> {
        let (byte, mut request) = (self.constants().byte.0, 0);
        call!(self, isend(bytes.cast(), count(bytes.len()), byte, to, tag, comm.0, &raw mut request))?;
        Ok(Request(request))
    }

    /// Begins to receive bytes.
    ///
    /// # Safety
    /// The place for the bytes stays, and nobody uses it, until the request is done.
    ///
    /// # Errors
    /// If MPI refuses.
    pub unsafe fn irecv(&self, bytes: *mut [u8], from: c_int, tag: c_int, comm: Handle) -> Result<Request, Failed> {
        let (byte, mut request) = (self.constants().byte.0, 0);
        call!(self, irecv(bytes.cast(), count(bytes.len()), byte, from, tag, comm.0, &raw mut request))?;
        Ok(Request(request))
    }

    /// Begins an allreduce of one double.
    ///
    /// # Safety
    /// Both places stay, and nobody uses them, until the request is done.
    ///
    /// # Errors
    /// If MPI refuses.
    pub unsafe fn iallreduce(
        &self,
        value: *const f64,
        result: *mut f64,
        op: Handle,
        comm: Handle,
    ) -> Result<Request, Failed> {
        let (double, mut request) = (self.constants().double.0, 0);
        call!(self, iallreduce(value.cast(), result.cast(), 1, double, op.0, comm.0, &raw mut request))?;
        Ok(Request(request))
    }

    /// Whether a message is through; then the request is done.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn test(&self, request: &mut Request) -> Result<Option<Status>, Failed> {
        let (mut flag, mut status) = (0, StatusRoom::default());
        call!(self, test(&raw mut request.0, &raw mut flag, (&raw mut status).cast()))?;
        Ok((flag != 0).then(|| self.status_in(&status)))
    }

    /// Whether a request is complete because it was called off. The request stays as it is.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn is_cancelled(&self, request: Handle) -> Result<bool, Failed> {
        let (mut flag, mut status) = (0, StatusRoom::default());
        call!(self, request_get_status(request.0, &raw mut flag, (&raw mut status).cast()))?;
        Ok(flag != 0 && self.status_in(&status).is_cancelled)
    }

    /// Waits until a message is through.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn wait(&self, mut request: Request) -> Result<Status, Failed> {
        let mut status = StatusRoom::default();
        call!(self, wait(&raw mut request.0, (&raw mut status).cast()))?;
        Ok(self.status_in(&status))
    }

    /// Whether a message has come that could be received.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn iprobe(&self, from: c_int, tag: c_int, comm: Handle) -> Result<Option<Status>, Failed> {
        let (mut flag, mut status) = (0, StatusRoom::default());
        call!(self, iprobe(from, tag, comm.0, &raw mut flag, (&raw mut status).cast()))?;
        Ok((flag != 0).then(|| self.status_in(&status)))
    }

    /// Sends the root's bytes to all.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn bcast(&self, bytes: &mut [u8], root: c_int, comm: Handle) -> Result<(), Failed> {
        call!(self, bcast(bytes.as_mut_ptr().cast(), count(bytes.len()), self.constants().byte.0, root, comm.0))
    }

    /// Returns the text that rank 0 has, or as much of it as 256 bytes hold.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn text_of_first(&self, own: &str, comm: Handle) -> Result<String, Failed> {
        let mut text = [0; 256];
        let length = own.floor_char_boundary(text.len());
        text[..length].copy_from_slice(&own.as_bytes()[..length]);
        self.bcast(&mut text, 0, comm)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Sends each rank's bytes to all, in the order of the ranks. All have as many.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn allgather(&self, bytes: &[u8], comm: Handle) -> Result<Vec<u8>, Failed> {
        let n_ranks = usize::try_from(self.comm_size(comm)?).unwrap_or(0);
        let (each, byte) = (count(bytes.len()), self.constants().byte.0);
        let mut all = vec![0; bytes.len() * n_ranks];
        call!(self, allgather(bytes.as_ptr().cast(), each, byte, all.as_mut_ptr().cast(), each, byte, comm.0))?;
        Ok(all)
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn barrier(&self, comm: Handle) -> Result<(), Failed> {
        call!(self, barrier(comm.0))
    }

    /// Ends the program on all ranks.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn abort(&self, comm: Handle, status: c_int) -> Result<(), Failed> {
        call!(self, abort(comm.0, status))
    }

    fn status_in(&self, room: &StatusRoom) -> Status {
        // SAFETY: the library wrote one there.
        unsafe { self.status_at((&raw const *room).cast(), 0) }
    }
}
