//! Threads of one process as a group: they meet in memory, and wait by spinning, as ranks of MPI do.

use std::any::Any;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use mpi_run::Ending;
use program::Failure;
use units::Rank;

use super::group::{Group, Word};

/// Looks at whether all are there, before the core is offered to others: some microseconds, as long as cores need to
/// tell each other.
const N_SPINS: u32 = 1_000;

type Slot = Mutex<Option<Box<dyn Any + Send>>>;

/// All of them.
pub(crate) struct Team {
    n_arrived: AtomicU32,
    /// Number of times that all threads were there.
    n_meetings: AtomicU32,
    /// Whether one of them panicked, and the rest would wait for ever.
    is_broken: AtomicBool,
    /// The bits of each one's number, for allreduces in turn: a number is not written over before all have left the
    /// next allreduce.
    numbers: [Vec<AtomicU64>; 2],
    slots: Vec<Slot>,
}

/// One of them, on its thread.
pub(crate) struct Member<'a> {
    team: &'a Team,
    rank: Rank,
}

impl Team {
    /// Builds a team of so many threads.
    #[must_use]
    pub(crate) fn new(n_threads: u32) -> Self {
        let numbers = || (0..n_threads).map(|_| AtomicU64::new(0)).collect();
        Self {
            n_arrived: AtomicU32::new(0),
            n_meetings: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
            numbers: [numbers(), numbers()],
            slots: (0..n_threads).map(|_| Slot::default()).collect(),
        }
    }

    /// Returns the member of `rank`, for its thread.
    #[must_use]
    pub(crate) fn member(&self, rank: Rank) -> Member<'_> {
        Member { team: self, rank }
    }

    /// Breaks up: whoever waits for the others panics.
    pub(crate) fn break_up(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }

    fn put<T: Word>(&self, rank: Rank, word: &T) {
        *self.slots[rank as usize].lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(word.clone()));
    }

    fn get<T: Word>(&self, rank: usize) -> T {
        let slot = self.slots[rank].lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().and_then(|word| word.downcast_ref::<T>()).expect("all tell the same kind of thing").clone()
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.team.break_up();
        }
    }
}

impl Group for Member<'_> {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn barrier(&self) {
        let team = self.team;
        let meeting = team.n_meetings.load(Ordering::Relaxed);
        if team.n_arrived.fetch_add(1, Ordering::AcqRel) + 1 == team.slots.len() as u32 {
            team.n_arrived.store(0, Ordering::Relaxed);
            team.n_meetings.store(meeting.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut n_spins = 0;
        while team.n_meetings.load(Ordering::Acquire) == meeting {
            assert!(!team.is_broken.load(Ordering::Relaxed), "another thread of the measurement panicked");
            n_spins += 1;
            if n_spins < N_SPINS {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    fn allreduce(&self, mine: f64) -> f64 {
        let numbers = &self.team.numbers[self.team.n_meetings.load(Ordering::Relaxed) as usize % 2];
        numbers[self.rank as usize].store(mine.to_bits(), Ordering::Relaxed);
        self.barrier();
        numbers.iter().map(|number| f64::from_bits(number.load(Ordering::Relaxed))).sum()
    }

    fn broadcast<T: Word>(&self, mine: Option<&T>) -> T {
        if let (0, Some(word)) = (self.rank, mine) {
            self.team.put(0, word);
        }
        self.barrier();
        let word = self.team.get(0);
        self.barrier();
        word
    }

    fn gather<T: Word>(&self, mine: &T) -> Option<Vec<T>> {
        self.team.put(self.rank, mine);
        self.barrier();
        let all = (self.rank == 0).then(|| (0..self.team.slots.len()).map(|rank| self.team.get(rank)).collect());
        self.barrier();
        all
    }

    fn highest(&self, mine: &[u32]) -> Vec<u32> {
        let highest = self.gather(&mine.to_vec()).map(|all| {
            let numbers = |idx: usize| all.iter().map(move |of_rank| of_rank[idx]);
            (0..mine.len()).map(|idx| numbers(idx).max().unwrap_or(0)).collect::<Vec<u32>>()
        });
        self.broadcast(highest.as_ref())
    }

    fn highest_of_host(&self, mine: &[u32]) -> Vec<u32> {
        self.highest(mine)
    }

    fn agree<T>(&self, mine: Result<T, Failure>) -> Result<T, Ending> {
        let failures = self.gather(&mine.as_ref().err().cloned());
        let first = failures.map(|failures| (0..).zip(failures).find_map(|(rank, failure)| Some((rank, failure?))));
        let first: Option<(Rank, Failure)> = self.broadcast(first.as_ref());
        match (first, mine) {
            (None, Ok(value)) => Ok(value),
            (Some((rank, failure)), _) => Err(Ending { failure, is_mine_to_tell: rank == self.rank }),
            (None, Err(failure)) => unreachable!("rank {} told of `{failure}`, and nobody heard it", self.rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_threads<T: Send>(n_threads: u32, body: impl Fn(&Member<'_>) -> T + Sync) -> Vec<T> {
        let team = Team::new(n_threads);
        let (team, body) = (&team, &body);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..n_threads).map(|rank| scope.spawn(move || body(&team.member(rank)))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no test panics in a thread")).collect()
        })
    }

    #[test]
    fn every_thread_has_the_sum_of_every_allreduce() {
        let sums = on_threads(3, |member| {
            (0..2_000).map(|call| member.allreduce(f64::from(call + member.rank()))).collect::<Vec<_>>()
        });
        let right: Vec<f64> = (0..2_000).map(|call| f64::from(3 * call + 3)).collect();
        assert!(sums.iter().all(|of_thread| *of_thread == right));
    }

    #[test]
    fn threads_tell_each_other_what_ranks_do() {
        let told = on_threads(3, |member| {
            let rank = member.rank();
            let all = member.gather(&format!("rank {rank}"));
            let first = member.broadcast((rank == 0).then_some(&7_u32));
            (all, first, member.highest(&[rank, 5, 9 - rank]))
        });
        let all = ["rank 0", "rank 1", "rank 2"].map(str::to_owned).to_vec();
        assert_eq!(told.iter().map(|of| of.0.clone()).collect::<Vec<_>>(), [Some(all), None, None]);
        assert!(told.iter().all(|of| of.1 == 7 && of.2 == [2, 5, 9]));
    }

    #[test]
    fn the_lowest_rank_that_failed_speaks_for_all() {
        let ends = on_threads(3, |member| {
            let fine = member.agree(Ok(member.rank()));
            let mine = if member.rank() > 0 { Err(Failure::work(member.rank())) } else { Ok(()) };
            (fine, member.agree(mine))
        });
        for (rank, (fine, ending)) in (0..).zip(ends) {
            assert_eq!(fine, Ok(rank));
            assert_eq!(ending, Err(Ending { failure: Failure::work(1), is_mine_to_tell: rank == 1 }));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let team = Team::new(2);
        let waits = thread::scope(|scope| {
            let waiting = scope.spawn(|| team.member(0).barrier());
            let panicked = scope.spawn(|| {
                let _member = team.member(1);
                panic!("on purpose");
            });
            (waiting.join().is_err(), panicked.join().is_err())
        });
        assert_eq!(waits, (true, true));
    }
}
