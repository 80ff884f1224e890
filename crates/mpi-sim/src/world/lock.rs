//! A lock that processes share as well as threads.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;
/// Number of looks at the lock before the kernel is asked; the lock is held for less than a microsecond.
const LOOKS: u32 = 100;

/// Mutual exclusion by a word that may lie in memory of several processes; `std`'s works within one.
#[derive(Debug, Default)]
pub struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one holder at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The right to the value.
pub struct Held<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    /// Free.
    pub fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits until nobody else holds it.
    pub fn hold(&self) -> Held<'_, T> {
        if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
        Held(self)
    }

    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
            std::hint::spin_loop();
        }
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            crate::switch::futex::wait(&self.word, AWAITED);
        }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        if self.0.word.swap(FREE, Ordering::Release) == AWAITED {
            crate::switch::futex::wake(&self.0.word);
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: while this is there, nobody else has the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the reference is unique as this is.
        unsafe { &mut *self.0.value.get() }
    }
}
