//! The cores that a rank may use, and the one that it binds itself to.

use std::mem::size_of;

use mpi_trace::RankPlacing;

/// Words of a set of cores: as many cores as the C library's sets have.
pub(crate) const N_CORE_WORDS: usize = 16;

/// A set of cores, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedCores(pub(crate) [u64; N_CORE_WORDS]);

impl AllowedCores {
    pub(crate) const NONE: Self = Self([0; N_CORE_WORDS]);

    /// Returns the cores that this thread may use; none if the kernel does not say.
    pub(crate) fn allowed() -> Self {
        let mut cores = Self::NONE;
        // SAFETY: the kernel writes at most as many bytes as it is told that there are.
        unsafe { libc::sched_getaffinity(0, size_of::<Self>(), cores.0.as_mut_ptr().cast()) };
        cores
    }

    /// Binds this process to one core. Threads that it has already stay where they are.
    pub(crate) fn bind(core: u32) -> Result<(), std::io::Error> {
        let mut cores = Self::NONE;
        cores.0[core as usize / 64] |= 1 << (core % 64);
        // SAFETY: the kernel reads as many bytes as it is told that there are.
        match unsafe { libc::sched_setaffinity(0, size_of::<Self>(), cores.0.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// Returns the numbers of the cores, in ascending order.
    pub(crate) fn list(&self) -> Vec<u32> {
        let is_in = |core: &u32| self.0[*core as usize / 64] >> (core % 64) & 1 == 1;
        (0..N_CORE_WORDS as u32 * 64).filter(is_in).collect()
    }

    /// Returns the core for the rank at a position of `n_ranks`; `None` if there are less than `n_processors`.
    pub(crate) fn choose(&self, n_processors: usize, placing: RankPlacing, own: usize, n_ranks: usize) -> Option<u32> {
        let cores = self.list();
        let at = match placing {
            RankPlacing::Blocked => own * n_processors / n_ranks,
            RankPlacing::Cyclic => own % n_processors,
        };
        (cores.len() >= n_processors).then(|| cores[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(list: &[u32]) -> AllowedCores {
        let mut cores = AllowedCores::NONE;
        list.iter().for_each(|core| cores.0[*core as usize / 64] |= 1 << (core % 64));
        cores
    }

    #[test]
    fn neighbours_share_a_core_or_go_round() {
        let cores = cores(&[1, 3, 64]);
        let placed = |placing| (0..4).map(|own| cores.choose(2, placing, own, 4).unwrap()).collect::<Vec<_>>();
        assert_eq!(placed(RankPlacing::Blocked), [1, 1, 3, 3]);
        assert_eq!(placed(RankPlacing::Cyclic), [1, 3, 1, 3]);
        assert_eq!(cores.choose(4, RankPlacing::Cyclic, 0, 4), None);
    }

    #[test]
    fn more_processors_than_ranks_leave_some_free() {
        let cores = cores(&[0, 1, 2, 3]);
        assert_eq!(
            (0..2).map(|own| cores.choose(4, RankPlacing::Blocked, own, 2)).collect::<Vec<_>>(),
            [Some(0), Some(2)]
        );
    }

    #[test]
    fn this_thread_may_use_a_core() {
        assert!(!AllowedCores::allowed().list().is_empty());
    }
}
