//! MPI for kernels in Rust that run as user-level ranks: `foretop sim kernel`. What `mpi.h` is for C.
//!
//! A kernel is a file without the standard library, whose variables all ranks would share:
//!
//! ```text
//! rustc --edition 2024 --crate-type cdylib -C panic=abort -O -o ring.so examples/sim/user/ring.rs
//! ```
//!
//! It begins with `#![no_std]` and `mod mpi;`, and says with `mpi::kernel!(work)` which function every rank runs. Time
//! passes in messages and in [`World::compute`]. A call that fails does not return, and a panic ends the run as
//! `MPI_Abort` does.
#![allow(dead_code, reason = "a kernel calls a part of it")]

use core::ffi::{c_char, c_int, c_long};

/// A message of any rank, or with any tag.
pub const ANY: c_int = -1;

/// Type of the numbers that a kernel sends and combines.
pub trait Number: Copy {
    /// `MPI_INT` and the like: the bytes, and above that 1 for signed, 2 for unsigned, 3 for floating.
    const TYPE: c_int;
}

macro_rules! numbers {
    ($($type:ident $code:literal)*) => {
        $(impl Number for $type {
            const TYPE: c_int = $code;
        })*
    };
}

numbers!(i8 0x101 i16 0x102 i32 0x104 i64 0x108 u8 0x201 u16 0x202 u32 0x204 u64 0x208 f32 0x304 f64 0x308);

/// Reduction operation that combines numbers.
#[derive(Clone, Copy)]
pub enum Op {
    Sum = 1,
    Product,
    Max,
    Min,
}

/// Status of a received message.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Status {
    pub source: c_int,
    pub tag: c_int,
    error: c_int,
    pub n_bytes: c_long,
}

/// A message on its way. Its buffer is borrowed until it is waited for.
#[must_use = "a request has to be waited for"]
pub struct Request<'a>(c_int, core::marker::PhantomData<&'a mut ()>);

/// Counterpart of `struct foretop_sim_calls` of `mpi.h`, up to the last call that is used here.
#[repr(C)]
pub struct Calls {
    rank: extern "C" fn() -> c_int,
    n_ranks: extern "C" fn() -> c_int,
    seconds: extern "C" fn() -> f64,
    compute: extern "C" fn(f64),
    send: unsafe extern "C" fn(*const u8, c_long, c_int, c_int, c_int) -> c_int,
    receive: unsafe extern "C" fn(*mut u8, c_long, c_int, c_int) -> c_int,
    wait: unsafe extern "C" fn(c_int, *mut c_int, *mut Status),
    wait_any: unsafe extern "C" fn(c_int, *mut c_int, *mut Status) -> c_int,
    test: unsafe extern "C" fn(c_int, *mut c_int, *mut Status) -> c_int,
    probe: unsafe extern "C" fn(c_int, c_int, c_int, *mut Status) -> c_int,
    barrier: extern "C" fn(),
    broadcast: unsafe extern "C" fn(*mut u8, c_long, c_int),
    reduce: unsafe extern "C" fn(*mut u8, c_int, c_int, c_int, c_int),
    allgather: unsafe extern "C" fn(*mut u8, c_long),
    alltoall: unsafe extern "C" fn(*const u8, *mut u8, c_long),
    stop: unsafe extern "C" fn(*const c_char, c_int),
}

/// The simulator sets it before any rank runs.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the simulator's name for it")]
pub static mut foretop_sim: *const Calls = core::ptr::null();

/// All ranks of the run, as one of them sees them.
pub struct World(&'static Calls);

impl World {
    /// Builds the world, for [`kernel`](crate::kernel) alone.
    ///
    /// # Safety
    /// The simulator has set `foretop_sim`.
    pub unsafe fn new() -> Self {
        // SAFETY: the caller says so, and nobody writes it again.
        Self(unsafe { &*foretop_sim })
    }

    pub fn rank(&self) -> usize {
        (self.0.rank)() as usize
    }

    pub fn n_ranks(&self) -> usize {
        (self.0.n_ranks)() as usize
    }

    /// Simulated time.
    pub fn seconds(&self) -> f64 {
        (self.0.seconds)()
    }

    /// Computes for so long.
    pub fn compute(&self, seconds: f64) {
        (self.0.compute)(seconds);
    }

    pub fn begin_to_send<'a, T: Number>(&self, data: &'a [T], to: usize, tag: c_int) -> Request<'a> {
        // SAFETY: the data are there, and borrowed as long as the request is.
        let request = unsafe { (self.0.send)(data.as_ptr().cast(), n_bytes(data), to as c_int, tag, 0) };
        Request(request, core::marker::PhantomData)
    }

    /// Starts to receive a message from rank `from`, or from [`ANY`].
    pub fn begin_to_receive<'a, T: Number>(&self, data: &'a mut [T], from: c_int, tag: c_int) -> Request<'a> {
        // SAFETY: as above; any bytes are numbers.
        let request = unsafe { (self.0.receive)(data.as_mut_ptr().cast(), n_bytes(data), from, tag) };
        Request(request, core::marker::PhantomData)
    }

    pub fn wait(&self, mut request: Request<'_>) -> Status {
        let mut status = Status::default();
        // SAFETY: one request, and one status.
        unsafe { (self.0.wait)(1, &raw mut request.0, &raw mut status) };
        status
    }

    pub fn send<T: Number>(&self, data: &[T], to: usize, tag: c_int) {
        self.wait(self.begin_to_send(data, to, tag));
    }

    /// Receives a message from rank `from`, or from [`ANY`].
    pub fn receive<T: Number>(&self, data: &mut [T], from: c_int, tag: c_int) -> Status {
        self.wait(self.begin_to_receive(data, from, tag))
    }

    pub fn barrier(&self) {
        (self.0.barrier)();
    }

    /// Brings the root's data to all.
    pub fn broadcast<T: Number>(&self, data: &mut [T], root: usize) {
        // SAFETY: the data are there, and any bytes are numbers.
        unsafe { (self.0.broadcast)(data.as_mut_ptr().cast(), n_bytes(data), root as c_int) };
    }

    /// Combines everybody's data into everybody's.
    pub fn allreduce<T: Number>(&self, data: &mut [T], op: Op) {
        // SAFETY: the data are there, and of this type.
        unsafe { (self.0.reduce)(data.as_mut_ptr().cast(), data.len() as c_int, T::TYPE, op as c_int, ANY) };
    }

    /// Ends the run.
    pub fn abort(&self, code: c_int) -> ! {
        // SAFETY: the name ends with a zero.
        unsafe { (self.0.stop)(c"MPI_Abort".as_ptr(), code) };
        unreachable!("a call that fails does not return")
    }
}

/// A rank's arguments; the first is the kernel's name.
pub struct Arguments {
    n: usize,
    texts: *const *const c_char,
}

impl Arguments {
    /// # Safety
    /// There are so many texts, which end with zeros.
    pub unsafe fn new(n: c_int, texts: *const *const c_char) -> Self {
        Self { n: n as usize, texts }
    }

    /// The number at this place, or another where there is none.
    pub fn number(&self, at: usize, default: usize) -> usize {
        if at >= self.n {
            return default;
        }
        // SAFETY: there is a text at that place.
        let text = unsafe { core::ffi::CStr::from_ptr(*self.texts.add(at)) };
        text.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    }
}

fn n_bytes<T>(data: &[T]) -> c_long {
    size_of_val(data) as c_long
}

/// Has every rank run this function, which is given a [`World`] and [`Arguments`], and gives the status that C's `main`
/// would.
#[macro_export]
macro_rules! kernel {
    ($work:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(n: core::ffi::c_int, texts: *const *const core::ffi::c_char) -> core::ffi::c_int {
            // SAFETY: the simulator calls this, as C calls `main`.
            unsafe { $work(&mpi::World::new(), &mpi::Arguments::new(n, texts)) }
        }

        /// Symbol that the library below the standard one requires; nothing unwinds.
        #[unsafe(no_mangle)]
        extern "C" fn rust_eh_personality() {}

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            // SAFETY: only ranks run this code.
            unsafe { mpi::World::new() }.abort(101)
        }
    };
}
