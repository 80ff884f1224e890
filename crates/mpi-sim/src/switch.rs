//! Hand-over of the right to run from one rank to another.

pub(crate) mod futex;

use units::Rank;

pub use futex::Futexes;

/// Hand-over of the right to run from one rank to another. As many ranks run at a time as there are workers; each
/// holds the right to run of one of them.
pub trait Switch {
    /// Lets `next` run in place of `me`, or nobody where there is none, and returns when `me` may run again.
    fn give_way(&self, me: Rank, next: Option<Rank>);

    /// Lets `rank` run beside the caller: a worker was idle.
    fn wake(&self, rank: Rank);

    /// Lets `next` run, as [`give_way`](Self::give_way), in place of `me`, which has ended and does not wait.
    fn leave(&self, me: Rank, next: Option<Rank>);
}
