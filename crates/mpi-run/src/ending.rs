//! Early ends of a run under MPI: on all ranks alike, and reported by one of them.

use program::Failure;

/// Failure that ends a run on each of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// The reason, the same on all ranks.
    pub failure: Failure,
    /// Whether this is the rank that reports the failure.
    pub is_mine_to_tell: bool,
}
