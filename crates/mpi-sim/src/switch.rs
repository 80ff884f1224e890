//! How one rank makes way for another.

pub(crate) mod futex;

use units::Rank;

pub use futex::Futexes;

/// How one rank makes way for another. As many ranks run at a time as there are workers; each holds the right to run of one of them.
pub trait Switch {
    /// Lets `next` run in place of `me`, or nobody where there is none, and returns when `me` may run again.
    fn give_way(&self, me: Rank, next: Option<Rank>);

    /// Lets `rank` run beside the caller: a worker was idle.
    fn wake(&self, rank: Rank);

    /// As [`give_way`](Self::give_way) by one that has ended, and does not wait.
    fn leave(&self, me: Rank, next: Option<Rank>);
}
