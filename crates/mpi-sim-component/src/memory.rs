//! The memory that all ranks share: one mapping, made before they are forked, which every allocation of this library
//! comes from.
//!
//! The engine's ordinary structures are shared in this way, at the same address in every process. The program's own
//! allocations are not touched: it has the C library's.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Addresses that are set aside. Only what is touched takes memory, so the figure stands for no limit.
const SPAN_MAX: usize = 1 << 40;
/// Least span, which has to do where addresses are limited (`ulimit -v`).
const SPAN_MIN: usize = 1 << 28;
const PAGE: usize = 4096;
/// Free blocks of at least this size give their pages back.
const RETURNED_MIN: usize = 1 << 20;
/// Four sizes for each doubling.
const N_SIZES: usize = 4 * 48;

/// The start of the mapping: what all allocations share.
struct Head {
    lock: AtomicU32,
    next: AtomicUsize,
    end: usize,
    free: [AtomicPtr<Block>; N_SIZES],
}

/// A free block.
struct Block {
    next: *mut Block,
}

/// The allocator of this library, in every process.
pub struct Shared {
    head: AtomicPtr<Head>,
}

impl Shared {
    /// An allocator that makes its mapping for the first allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: AtomicPtr::new(null_mut()) }
    }

    /// Bytes that have been handed out at least once.
    pub fn used_bytes(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        // SAFETY: the mapping stays as long as the process does.
        if head.is_null() { 0 } else { unsafe { (*head).next.load(Ordering::Relaxed) - head as usize } }
    }

    fn head(&self) -> Option<&Head> {
        let mut head = self.head.load(Ordering::Acquire);
        if head.is_null() {
            head = map()?;
            // The constructor of this library allocates before any thread is there.
            self.head.store(head, Ordering::Release);
        }
        // SAFETY: the mapping stays as long as the process does, and a head of zeros with its two places is a valid
        // one.
        unsafe { head.as_ref() }
    }
}

fn map() -> Option<*mut Head> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    let mut span = SPAN_MAX;
    while span >= SPAN_MIN {
        // SAFETY: a mapping wherever there is room.
        let start = unsafe { libc::mmap(null_mut(), span, protection, flags, -1, 0) };
        if start != libc::MAP_FAILED {
            let head = start.cast::<Head>();
            let first = (start as usize + size_of::<Head>()).next_multiple_of(PAGE);
            // SAFETY: nobody else knows the mapping yet; core files would hold it once for each rank.
            unsafe {
                libc::madvise(start, span, libc::MADV_DONTDUMP);
                (*head).next = AtomicUsize::new(first);
                (*head).end = start as usize + span;
            }
            return Some(head);
        }
        span /= 4;
    }
    None
}

/// The size of the block for a layout, and its place among the sizes.
fn block(layout: Layout) -> (usize, usize) {
    // Every block is aligned to 16 bytes, and its size has to allow that.
    let size = layout.size().max(1).next_multiple_of(16);
    let size = if layout.align() > 16 { size.max(layout.align()).next_power_of_two() } else { size };
    let shift = (usize::BITS - 1 - (size - 1).leading_zeros()).saturating_sub(2);
    let steps = ((size - 1) >> shift) + 1;
    (steps << shift, 4 * shift as usize + steps - 4)
}

impl Head {
    fn locked<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // SAFETY: no preconditions. Whoever has the lock may have lost its core.
            unsafe { libc::sched_yield() };
        }
        let result = work();
        self.lock.store(0, Ordering::Release);
        result
    }
}

// SAFETY: blocks are disjoint parts of the mapping, aligned to the largest power of two in their size up to a page; a
// block is handed out again only after it was given back.
unsafe impl GlobalAlloc for Shared {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(head) = self.head() else { return null_mut() };
        let (size, place) = block(layout);
        if layout.align() > PAGE {
            return null_mut();
        }
        head.locked(|| {
            let free = head.free[place].load(Ordering::Relaxed);
            if !free.is_null() {
                // SAFETY: a block in the list is free, and its first word is the list's.
                head.free[place].store(unsafe { (*free).next }, Ordering::Relaxed);
                return free.cast();
            }
            let alignment = (1 << size.trailing_zeros()).min(PAGE);
            let start = head.next.load(Ordering::Relaxed).next_multiple_of(alignment);
            if head.end - start < size {
                return null_mut();
            }
            head.next.store(start + size, Ordering::Relaxed);
            start as *mut u8
        })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some(head) = self.head() else { return };
        let (size, place) = block(layout);
        if size >= RETURNED_MIN {
            // SAFETY: the block belongs to nobody any more; its first page stays for the list.
            unsafe { libc::madvise(start.add(PAGE).cast(), size - PAGE, libc::MADV_REMOVE) };
        }
        let block = start.cast::<Block>();
        head.locked(|| {
            // SAFETY: a block has room for the list's word and is aligned for it.
            unsafe { block.write(Block { next: head.free[place].load(Ordering::Relaxed) }) };
            head.free[place].store(block, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_is_asked_for() {
        let mut last = (0, 0);
        for size in 1..100_000 {
            let (held, place) = block(Layout::from_size_align(size, 8).expect("a layout"));
            assert!(held >= size && held <= (size + 15) * 5 / 4 && held % 16 == 0, "{size} in {held}");
            assert!(place >= last.1 && (held > last.0) == (place > last.1), "{size}");
            last = (held, place);
        }
        for alignment in [32, 64, 4096] {
            let (held, _) = block(Layout::from_size_align(40, alignment).expect("a layout"));
            assert_eq!(held % alignment, 0);
        }
        assert!(block(Layout::from_size_align(1 << 46, 8).expect("a layout")).1 < N_SIZES);
    }

    #[test]
    fn blocks_are_disjoint_and_used_again() {
        let memory = Shared::new();
        let layout = Layout::from_size_align(100, 8).expect("a layout");
        // SAFETY: each block is written within its size, and given back with its layout.
        unsafe {
            let (one, other) = (memory.alloc(layout), memory.alloc(layout));
            assert!(one.addr().abs_diff(other.addr()) >= 100);
            one.write_bytes(1, 100);
            other.write_bytes(2, 100);
            assert_eq!(one.add(99).read(), 1);
            memory.dealloc(one, layout);
            assert_eq!(memory.alloc(layout), one);
        }
    }
}
