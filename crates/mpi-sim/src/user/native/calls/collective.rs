//! Collective calls of kernels in C.

use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::PoisonError;

use super::super::super::Contexts;
use super::{ANY, COLLECTIVE, Client, array, ask};
use crate::collective::{Algorithm, Block, Combine, Group};
use crate::world::Stopped;

/// Exchanges of parts of different lengths, as `enum foretop_sim_exchange` of the header; the fourth is all to all.
const GATHER: c_int = 0;
const SCATTER: c_int = 1;
const ALLGATHER: c_int = 2;

/// Combines values of the second into the first.
type Fold = fn(&mut [u8], &[u8]);

/// Counterpart of `struct foretop_sim_parts` of the header: a part for each rank, all in bytes.
#[repr(C)]
pub(in super::super) struct Parts {
    data: *mut u8,
    lengths: *mut c_long,
    offsets: *mut c_long,
}

impl<'w> Client<'_, 'w> {
    /// Calls together with all others.
    fn together(
        &mut self,
        call: &'static str,
        work: impl FnOnce(&mut Group<'_, 'w, Contexts>) -> Result<Algorithm, Stopped>,
    ) -> Result<(), Stopped> {
        let mut group = Group::new(self.rank, self.members, COLLECTIVE).expect("every rank is a member");
        let algorithm = work(&mut group)?;
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        ran.insert((call, algorithm.name()));
        Ok(())
    }

    /// Calls together with all others about data, which the call changes.
    fn together_on(
        &mut self,
        call: &'static str,
        data: &mut [u8],
        work: impl FnOnce(&mut Group<'_, 'w, Contexts>, &mut Block) -> Result<Algorithm, Stopped>,
    ) -> Result<(), Stopped> {
        let mut block = Block::from(&*data);
        self.together(call, |group| work(group, &mut block))?;
        data.copy_from_slice(block.bytes());
        Ok(())
    }

    /// The bytes of a value of a type, and how an operation combines two.
    fn combination(&mut self, kind: c_int, operation: c_int) -> Result<(usize, Fold), Stopped> {
        let with = combination(kind, operation);
        let with = with.ok_or_else(|| self.stop(format!("operation {operation} is not known for type {kind:#x}")))?;
        Ok(((kind & 0xff) as usize, with))
    }

    fn root(&mut self, root: c_int) -> Result<usize, Stopped> {
        let n = self.members.len();
        let known = usize::try_from(root).ok().filter(|root| *root < n);
        known.ok_or_else(|| self.stop(format!("root {root} is none of the {n} ranks")))
    }
}

impl Parts {
    /// The parts of so many ranks.
    ///
    /// # Safety
    /// The arrays have as many entries, and the data hold what they say.
    unsafe fn parts<'a>(&self, n: usize) -> impl Iterator<Item = &'a mut [u8]> {
        // SAFETY: by the caller's contract.
        let (lengths, offsets) = unsafe { (array(self.lengths, n), array(self.offsets, n)) };
        let data = self.data;
        lengths.iter().zip(offsets.iter()).map(move |(length, offset)| {
            // SAFETY: by the caller's contract.
            unsafe { array(data.offset(*offset as isize), *length as usize) }
        })
    }
}

pub(super) extern "C" fn barrier() {
    ask(|client| client.together("MPI_Barrier", |group| group.barrier()));
}

pub(super) unsafe extern "C" fn broadcast(data: *mut u8, n_bytes: c_long, root: c_int) {
    ask(|client| {
        let root = client.root(root)?;
        // SAFETY: C's `data` holds so many bytes.
        let data = unsafe { array(data, n_bytes as usize) };
        client.together_on("MPI_Bcast", data, |group, data| group.broadcast(root, data))
    });
}

pub(super) unsafe extern "C" fn reduce(data: *mut u8, count: c_int, kind: c_int, operation: c_int, root: c_int) {
    ask(|client| {
        let (value_bytes, with) = client.combination(kind, operation)?;
        // SAFETY: C's `data` holds so many values.
        let data = unsafe { array(data, count as usize * value_bytes) };
        let combine = Combine { value_bytes, with: &with };
        if root == ANY {
            return client.together_on("MPI_Allreduce", data, |group, data| group.allreduce(data, &combine));
        }
        let root = client.root(root)?;
        client.together_on("MPI_Reduce", data, |group, data| group.reduce(root, data, &combine))
    });
}

pub(super) unsafe extern "C" fn allgather(data: *mut u8, n_bytes: c_long) {
    ask(|client| {
        // SAFETY: C's `data` holds so many bytes of each member.
        let data = unsafe { array(data, n_bytes as usize * client.members.len()) };
        client.together_on("MPI_Allgather", data, |group, data| group.allgather(data))
    });
}

pub(super) unsafe extern "C" fn alltoall(sent: *const u8, received: *mut u8, n_bytes: c_long) {
    ask(|client| {
        let length = n_bytes as usize * client.members.len();
        // SAFETY: both hold so many bytes for each member.
        let (sent, received) = unsafe { (array(sent.cast_mut(), length), array(received, length)) };
        client.together("MPI_Alltoall", |group| {
            let (got, algorithm) = group.alltoall(&Block::from(&*sent))?;
            received.copy_from_slice(got.bytes());
            Ok(algorithm)
        })
    });
}

pub(super) unsafe extern "C" fn gather(sent: *const u8, n_bytes: c_long, received: *mut u8, root: c_int) {
    ask(|client| {
        let (root, length) = (client.root(root)?, n_bytes as usize);
        // SAFETY: C's `sent` holds so many bytes, and the root's `received` as many for each member.
        let block = unsafe { array(sent.cast_mut(), length) };
        client.together("MPI_Gather", |group| {
            let (all, algorithm) = group.gather(root, &Block::from(&*block))?;
            // SAFETY: as above; others than the root get nothing.
            unsafe { ptr::copy_nonoverlapping(all.bytes().as_ptr(), received, all.len()) };
            Ok(algorithm)
        })
    });
}

pub(super) unsafe extern "C" fn scatter(sent: *const u8, n_bytes: c_long, received: *mut u8, root: c_int) {
    ask(|client| {
        let (root, length) = (client.root(root)?, n_bytes as usize);
        let n_sent = if client.rank.me() as usize == root { length * client.members.len() } else { 0 };
        // SAFETY: the root's `sent` holds so many bytes for each member, and `received` as many.
        let data = unsafe { array(sent.cast_mut(), n_sent) };
        client.together("MPI_Scatter", |group| {
            let (block, algorithm) = group.scatter(root, &Block::from(&*data), length)?;
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(block.bytes().as_ptr(), received, block.len()) };
            Ok(algorithm)
        })
    });
}

pub(super) unsafe extern "C" fn scan(data: *mut u8, count: c_int, kind: c_int, operation: c_int, includes_own: c_int) {
    ask(|client| {
        let (value_bytes, with) = client.combination(kind, operation)?;
        // SAFETY: C's `data` holds so many values.
        let data = unsafe { array(data, count as usize * value_bytes) };
        let (call, combine) =
            (if includes_own == 0 { "MPI_Exscan" } else { "MPI_Scan" }, Combine { value_bytes, with: &with });
        client.together_on(call, data, |group, data| group.scan(data, &combine, includes_own != 0))
    });
}

pub(super) unsafe extern "C" fn reduce_scatter(
    data: *mut u8,
    received: *mut u8,
    count: c_int,
    kind: c_int,
    operation: c_int,
) {
    ask(|client| {
        let (value_bytes, with) = client.combination(kind, operation)?;
        // SAFETY: C's `data` holds so many values for each member, and `received` as many.
        let data = unsafe { array(data, count as usize * value_bytes * client.members.len()) };
        let combine = Combine { value_bytes, with: &with };
        client.together("MPI_Reduce_scatter_block", |group| {
            let (block, algorithm) = group.reduce_scatter(&mut Block::from(&*data), &combine)?;
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(block.bytes().as_ptr(), received, block.len()) };
            Ok(algorithm)
        })
    });
}

/// Gathers, scatters, gathers everywhere or exchanges parts of different lengths. What a rank has one part of has one
/// entry.
pub(super) unsafe extern "C" fn exchange(what: c_int, sent: *const Parts, received: *const Parts, root: c_int) {
    ask(|client| {
        let (n, me) = (client.members.len(), client.rank.me() as usize);
        let root = if what == GATHER || what == SCATTER { client.root(root)? } else { 0 };
        let n_at_root = if me == root { n } else { 0 };
        let (n_sent, n_received) = match what {
            GATHER => (1, n_at_root),
            SCATTER => (n_at_root, 1),
            ALLGATHER => (1, n),
            _ => (n, n),
        };
        // SAFETY: C's arrays have so many entries, and its data the parts that these say.
        let sent: Vec<Block> = unsafe { (*sent).parts(n_sent) }.map(|part| Block::from(&*part)).collect();
        let call = ["MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallv"][what as usize];
        let mut got = Vec::new();
        client.together(call, |group| {
            let algorithm;
            (got, algorithm) = match what {
                GATHER => group.gather_parts(root, &sent[0])?,
                SCATTER => group.scatter_parts(root, &sent).map(|(part, algorithm)| (vec![part], algorithm))?,
                ALLGATHER => group.allgather_parts(&sent[0])?,
                _ => group.alltoall_parts(sent)?,
            };
            Ok(algorithm)
        })?;
        // SAFETY: as above.
        for (part, place) in got.iter().zip(unsafe { (*received).parts(n_received) }) {
            if part.len() > place.len() {
                return Err(client.stop(format!(
                    "{call} brings {} bytes, and there is room for {}",
                    part.len(),
                    place.len()
                )));
            }
            place[..part.len()].copy_from_slice(part.bytes());
        }
        Ok(())
    });
}

/// Combines the values of one type with an operation; none where there is no such pair.
fn combination(kind: c_int, operation: c_int) -> Option<Fold> {
    macro_rules! of {
        ($type:ty, $sum:expr, $product:expr) => {{
            fn fold(into: &mut [u8], other: &[u8], with: impl Fn($type, $type) -> $type) {
                const BYTES: usize = size_of::<$type>();
                for (into, other) in into.chunks_exact_mut(BYTES).zip(other.chunks_exact(BYTES)) {
                    let value = |bytes: &[u8]| <$type>::from_ne_bytes(std::array::from_fn(|idx| bytes[idx]));
                    into.copy_from_slice(&with(value(into), value(other)).to_ne_bytes());
                }
            }
            match operation {
                1 => Some(|into, other| fold(into, other, $sum)),
                2 => Some(|into, other| fold(into, other, $product)),
                3 => Some(|into, other| fold(into, other, |a, b| if b > a { b } else { a })),
                4 => Some(|into, other| fold(into, other, |a, b| if b < a { b } else { a })),
                _ => None,
            }
        }};
    }
    macro_rules! whole {
        ($type:ty) => {
            of!($type, <$type>::wrapping_add, <$type>::wrapping_mul)
        };
    }
    match kind {
        0x101 => whole!(i8),
        0x102 => whole!(i16),
        0x104 => whole!(i32),
        0x108 => whole!(i64),
        0x201 => whole!(u8),
        0x202 => whole!(u16),
        0x204 => whole!(u32),
        0x208 => whole!(u64),
        0x304 => of!(f32, |a, b| a + b, |a, b| a * b),
        0x308 => of!(f64, |a, b| a + b, |a, b| a * b),
        _ => None,
    }
}
