//! Plain iterators in place of the parts of rayon that a fleet uses, where no threads are wanted.

use std::slice::{Chunks, ChunksMut, Iter, IterMut};

/// Iterators of a slice, by the names of rayon's `ParallelSlice` and `IntoParallelRefIterator`.
pub(super) trait SliceInTurn<T> {
    fn par_iter(&self) -> Iter<'_, T>;
    fn par_chunks(&self, n: usize) -> Chunks<'_, T>;
}

/// Mutable counterpart of [`SliceInTurn`].
pub(super) trait SliceMutInTurn<T> {
    fn par_iter_mut(&mut self) -> IterMut<'_, T>;
    fn par_chunks_mut(&mut self, n: usize) -> ChunksMut<'_, T>;
}

impl<T> SliceInTurn<T> for [T] {
    fn par_iter(&self) -> Iter<'_, T> {
        self.iter()
    }

    fn par_chunks(&self, n: usize) -> Chunks<'_, T> {
        self.chunks(n)
    }
}

impl<T> SliceMutInTurn<T> for [T] {
    fn par_iter_mut(&mut self) -> IterMut<'_, T> {
        self.iter_mut()
    }

    fn par_chunks_mut(&mut self, n: usize) -> ChunksMut<'_, T> {
        self.chunks_mut(n)
    }
}

/// Methods that rayon's iterators have beside those of the standard library.
pub(super) trait InTurn: Iterator + Sized {
    fn with_min_len(self, _: usize) -> Self {
        self
    }

    fn for_each_init<S>(self, init: impl FnOnce() -> S, mut work: impl FnMut(&mut S, Self::Item)) {
        let mut room = init();
        self.for_each(|item| work(&mut room, item));
    }
}

impl<I: Iterator> InTurn for I {}
