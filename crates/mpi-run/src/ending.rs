//! How a run under MPI ends before its time: on all ranks alike, and said by one of them.

use program::Failure;

/// How a run ends on each of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why, the same on all ranks.
    pub failure: Failure,
    /// Whether this is the rank that says so.
    pub is_mine_to_tell: bool,
}
