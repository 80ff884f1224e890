//! Ranks that are contexts of one process: kernels in tens of thousands, for programs that are written for it.
//!
//! A context has a stack of its own and makes way for another without asking the kernel. Any worker thread goes on with
//! it, so what a kernel keeps across its calls must not belong to one thread.

pub mod native;
mod stack;

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use units::Rank as RankIdx;

use crate::rank::Rank;
use crate::switch::Switch;
use crate::world::{Lock, Reason, Stopped, World};
use stack::{Stack, Stacks};

/// The rank that runs next in place of the context that made way.
type Next = Option<RankIdx>;

/// The next rank, and the reason why a context makes way.
struct Way {
    next: Next,
    why: Why,
}

/// The reason why a context makes way.
enum Why {
    /// It waits.
    Waits,
    /// It waits, and its stack is nearly used up. The worker tells, as there is no room left to do so.
    IsFull,
    /// It will not go on.
    Vanishes,
}

/// The means by which a context suspends itself.
type Exit = Yielder<(), Way>;

/// Bytes of address space for the stack of each rank where nothing else is said. Only what is used takes memory.
pub const STACK_BYTES: usize = 64 * 1024;

/// The reason why ranks could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// There is no room for their stacks.
    #[error("cannot set aside {n_ranks} stacks of {stack_bytes} bytes: use fewer ranks or smaller stacks")]
    Stacks {
        /// Stacks.
        n_ranks: u32,
        /// Bytes of each.
        stack_bytes: usize,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Runs `kernel` on every rank of `world`, and returns when all have ended.
///
/// A kernel gives up where a call returns that the simulation has [stopped](World::stopped). One that panics stops it.
///
/// # Errors
/// Where there is no room for the stacks.
pub fn run<K>(world: &Lock<World>, stack_bytes: usize, kernel: K) -> Result<(), UserError>
where
    K: Fn(&mut Rank<'_, Contexts>) -> Result<(), Stopped> + Sync,
{
    let (first, n_ranks, n_workers) = {
        let world = world.hold();
        (world.first(), world.machine().n_ranks(), world.settings().n_workers.get())
    };
    let stacks =
        Stacks::new(n_ranks, stack_bytes).map_err(|source| UserError::Stacks { n_ranks, stack_bytes, source })?;
    let switch = Contexts::new(&stacks, n_ranks);
    let bodies: Vec<Mutex<Body>> = (0..n_ranks)
        .map(|me| {
            let (switch, kernel) = (&switch, &kernel);
            let body = move |exit: &Exit, ()| switch.begin(world, me, exit, kernel);
            // SAFETY: what the body borrows outlives it: `bodies` is dropped first, and nothing forgets it.
            Mutex::new(Body(unsafe { Coroutine::with_stack_unchecked(stacks.stack(me), body) }))
        })
        .collect();
    thread::scope(|scope| {
        for worker in 1..n_workers {
            let begins = Some(worker).filter(|rank| first.contains(rank));
            let (switch, bodies) = (&switch, &bodies);
            scope.spawn(move || switch.work(world, bodies, begins));
        }
        switch.work(world, &bodies, Some(0));
    });
    Ok(())
}

/// The contexts of one process, which make way for each other.
pub struct Contexts {
    contexts: Box<[Context]>,
    agenda: Mutex<Agenda>,
    changed: Condvar,
}

/// State that a context needs to make way.
struct Context {
    /// Set while it runs for the first time, and valid until it ends.
    exit: AtomicPtr<Exit>,
    /// Address below which its stack is nearly used up.
    floor: usize,
    /// The rank that follows when the context has ended.
    heir: Mutex<Next>,
    /// Pointer to the data of the code on the context, if that code has no other way to find them.
    local: AtomicPtr<()>,
}

/// State that idle workers look at.
struct Agenda {
    woken: VecDeque<RankIdx>,
    n_left: u32,
}

/// The body of a rank.
struct Body(Coroutine<(), Way, Next, Stack>);

// SAFETY: one worker at a time runs it, by its mutex; that what a kernel keeps across calls is not one thread's is the
// contract of this module, which stands in its description.
unsafe impl Send for Body {}

impl Contexts {
    fn new(stacks: &Stacks, n_ranks: u32) -> Self {
        let context = |rank| Context {
            exit: AtomicPtr::new(ptr::null_mut()),
            floor: stacks.floor(rank),
            heir: Mutex::new(None),
            local: AtomicPtr::new(ptr::null_mut()),
        };
        Self {
            contexts: (0..n_ranks).map(context).collect(),
            agenda: Mutex::new(Agenda { woken: VecDeque::new(), n_left: n_ranks }),
            changed: Condvar::new(),
        }
    }

    /// Runs the kernel on the stack of a rank, and returns the rank that follows.
    fn begin<K>(&self, world: &Lock<World>, me: RankIdx, exit: &Exit, kernel: &K) -> Next
    where
        K: Fn(&mut Rank<'_, Self>) -> Result<(), Stopped>,
    {
        let context = &self.contexts[me as usize];
        context.exit.store(ptr::from_ref(exit).cast_mut(), Ordering::Relaxed);
        let mut rank = Rank::new(world, self, me);
        // An error says that the simulation has stopped, which the world knows.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| kernel(&mut rank))) {
            let reason = Reason::Ended(format!("its kernel panicked: {}", message(panic.as_ref())));
            let at = rank.now();
            rank.stop(Stopped { rank: me, at, reason });
        }
        rank.end();
        locked(&context.heir).take()
    }

    /// Runs one context after the other, until all have ended.
    fn work(&self, world: &Lock<World>, bodies: &[Mutex<Body>], mut next: Next) {
        while let Some(rank) = next.or_else(|| self.wait()) {
            current::enter(&self.contexts[rank as usize].local);
            // Another worker may have let it go on before it has really made way here; the mutex waits for that.
            let result = locked(&bodies[rank as usize]).0.resume(());
            next = match result {
                CoroutineResult::Yield(way) => {
                    if let Why::Vanishes = way.why {
                        // SAFETY: nothing on the stack is used again; what it owns is lost.
                        unsafe { locked(&bodies[rank as usize]).0.force_reset() };
                        self.ended();
                    } else if let Why::IsFull = way.why {
                        let reason = Reason::Ended("its stack is used up: give ranks larger ones".to_owned());
                        let mut told = Rank::new(world, self, rank);
                        let at = told.now();
                        told.stop(Stopped { rank, at, reason });
                    }
                    way.next
                }
                CoroutineResult::Return(heir) => {
                    self.ended();
                    heir
                }
            };
        }
    }

    /// Waits for somebody to run; nobody when all have ended.
    fn wait(&self) -> Next {
        let mut agenda = locked(&self.agenda);
        loop {
            if let Some(rank) = agenda.woken.pop_front() {
                return Some(rank);
            }
            if agenda.n_left == 0 {
                return None;
            }
            agenda = self.changed.wait(agenda).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ended(&self) {
        let mut agenda = locked(&self.agenda);
        agenda.n_left -= 1;
        if agenda.n_left == 0 {
            self.changed.notify_all();
        }
    }
}

impl Rank<'_, Contexts> {
    /// Ends without a return to the caller. What the caller's frames own is lost.
    fn vanish(&mut self) -> ! {
        self.leave();
        let context = &self.switch().contexts[self.me() as usize];
        let next = locked(&context.heir).take();
        // SAFETY: as in `give_way`.
        unsafe { &*context.exit.load(Ordering::Relaxed) }.suspend(Way { next, why: Why::Vanishes });
        unreachable!("nobody goes on with a context that has vanished")
    }
}

/// Data of the context that this thread runs.
mod current {
    use std::cell::Cell;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    thread_local! {
        static LOCAL: Cell<*const AtomicPtr<()>> = const { Cell::new(ptr::null()) };
    }

    /// The thread goes on with the context of `local`.
    pub(super) fn enter(local: &AtomicPtr<()>) {
        LOCAL.set(local);
    }

    // A context may go on in another thread after any call that makes way, so where this thread's variables lie must
    // not be kept across one: hence no inlining.
    #[inline(never)]
    fn local() -> *const AtomicPtr<()> {
        LOCAL.get()
    }

    pub(super) fn set(own: *mut ()) {
        // SAFETY: the worker set it before it resumed the context that calls this, and contexts outlive workers.
        unsafe { &*local() }.store(own, Ordering::Relaxed);
    }

    pub(super) fn get() -> *mut () {
        // SAFETY: as above.
        unsafe { &*local() }.load(Ordering::Relaxed)
    }
}

impl Switch for Contexts {
    fn give_way(&self, me: RankIdx, next: Option<RankIdx>) {
        let context = &self.contexts[me as usize];
        let here = Cell::new(0_u8);
        let why = if here.as_ptr().addr() < context.floor { Why::IsFull } else { Why::Waits };
        // SAFETY: only rank `me` calls this, on its own stack, so its body has begun and has not ended.
        unsafe { &*context.exit.load(Ordering::Relaxed) }.suspend(Way { next, why });
    }

    fn wake(&self, rank: RankIdx) {
        locked(&self.agenda).woken.push_back(rank);
        self.changed.notify_one();
    }

    fn leave(&self, me: RankIdx, next: Option<RankIdx>) {
        *locked(&self.contexts[me as usize].heir) = next;
    }
}

/// Locks `mutex`. Kernels' panics end in their bodies, so nobody leaves the value half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
