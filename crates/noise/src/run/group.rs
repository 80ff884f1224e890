//! Ranks that measure together, and what they tell each other: processes under MPI, or threads of one process.

use mpi_run::Ending;
use program::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::Rank;

/// Message between ranks: as text between processes, as it is between threads.
pub(crate) trait Word: Serialize + DeserializeOwned + Clone + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Send + 'static> Word for T {}

/// A rank's part among all. Every call is collective.
pub(crate) trait Group {
    /// Its position.
    fn rank(&self) -> Rank;

    /// Waits for all.
    fn barrier(&self);

    /// The sum over all ranks: what is measured.
    fn allreduce(&self, mine: f64) -> f64;

    /// Rank 0's value; what others give is not looked at.
    fn broadcast<T: Word>(&self, mine: Option<&T>) -> T;

    /// Each rank's value on rank 0, in the order of ranks; `None` elsewhere.
    fn gather<T: Word>(&self, mine: &T) -> Option<Vec<T>>;

    /// The highest of each number over all ranks.
    fn highest(&self, mine: &[u32]) -> Vec<u32>;

    /// Likewise over the ranks of this rank's host.
    fn highest_of_host(&self, mine: &[u32]) -> Vec<u32>;

    /// Brings all ranks to the same end: where one failed, all fail, with the words of the lowest rank that did.
    fn agree<T>(&self, mine: Result<T, Failure>) -> Result<T, Ending>;
}
