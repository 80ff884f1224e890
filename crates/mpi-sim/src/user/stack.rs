//! Stacks of all ranks, carved from one mapping.
//!
//! A process has at most 65,530 mappings, and a guard page cuts one into two. So stacks have guard pages as long as
//! there are not too many; beyond that, ranks look how much of their stack is left whenever they make way.

use std::io;
use std::num::NonZeroUsize;
use std::ptr;

use corosensei::stack::StackPointer;
use units::Rank;

/// Largest number of ranks whose stacks have guard pages; with more, these would take more than half of the mappings
/// of a process.
const GUARDED_MAX: u32 = 16_384;
const PAGE: usize = 4096;
/// Bytes that have to be left of a stack when its rank makes way: enough for the way out.
const RESERVE: usize = 12 * 1024;
const STACK_MIN: usize = 8 * PAGE;

/// One mapping with the stacks of all ranks.
pub(super) struct Stacks {
    start: *mut libc::c_void,
    n_ranks: u32,
    stack_bytes: usize,
}

/// The stack of one rank.
pub(super) struct Stack {
    base: StackPointer,
    limit: StackPointer,
}

impl Stacks {
    /// Maps stacks for `n_ranks` ranks, of `stack_bytes` bytes, in whole pages and at least eight.
    pub(super) fn new(n_ranks: u32, stack_bytes: usize) -> io::Result<Self> {
        let stack_bytes = stack_bytes.max(STACK_MIN).next_multiple_of(PAGE);
        let length = stack_bytes.checked_mul(n_ranks as usize).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new mapping wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stacks = Self { start, n_ranks, stack_bytes };
        // SAFETY: the mapping is ours. Huge pages would back each stack with two megabytes; where there are none,
        // nothing is lost.
        unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
        if n_ranks <= GUARDED_MAX {
            for rank in 0..n_ranks {
                let guard = stacks.limit(rank) as *mut libc::c_void;
                // SAFETY: the lowest page of a stack that nobody uses yet.
                if unsafe { libc::mprotect(guard, PAGE, libc::PROT_NONE) } != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(stacks)
    }

    /// The stack of a rank.
    pub(super) fn stack(&self, rank: Rank) -> Stack {
        let address = |address: usize| NonZeroUsize::new(address).expect("a mapping does not begin at address zero");
        let limit = self.limit(rank);
        Stack { base: address(limit + self.stack_bytes), limit: address(limit) }
    }

    /// Returns the address below which a stack is nearly used up.
    pub(super) fn floor(&self, rank: Rank) -> usize {
        self.limit(rank) + PAGE + RESERVE
    }

    fn limit(&self, rank: Rank) -> usize {
        self.start as usize + rank as usize * self.stack_bytes
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no context is left that uses it.
        unsafe { libc::munmap(self.start, self.n_ranks as usize * self.stack_bytes) };
    }
}

// SAFETY: the stack is a rank's own part of the mapping, larger than the least, with a guard page or, beyond
// `GUARDED_MAX`, checked whenever its rank makes way.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}
