//! Processes under MPI as a group.

use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::topology::SimpleCommunicator;
use mpi_run::{Ending, Session, broadcast, gather};
use program::Failure;
use units::Rank;

use super::group::{Group, Word};

/// One of them.
pub(crate) struct Process<'a> {
    session: &'a Session,
    /// The ranks of this host.
    host: SimpleCommunicator,
}

impl<'a> Process<'a> {
    /// Builds the process of `session`. Collective.
    #[must_use]
    pub(crate) fn new(session: &'a Session) -> Self {
        Self { session, host: session.host() }
    }
}

impl Group for Process<'_> {
    fn rank(&self) -> Rank {
        self.session.rank()
    }

    fn barrier(&self) {
        self.session.world().barrier();
    }

    fn allreduce(&self, mine: f64) -> f64 {
        let mut sum = 0.0;
        self.session.world().all_reduce_into(&mine, &mut sum, SystemOperation::sum());
        sum
    }

    fn broadcast<T: Word>(&self, mine: Option<&T>) -> T {
        broadcast(self.session.world(), mine)
    }

    fn gather<T: Word>(&self, mine: &T) -> Option<Vec<T>> {
        gather(self.session.world(), mine)
    }

    fn highest(&self, mine: &[u32]) -> Vec<u32> {
        highest(self.session.world(), mine)
    }

    fn highest_of_host(&self, mine: &[u32]) -> Vec<u32> {
        highest(&self.host, mine)
    }

    fn agree<T>(&self, mine: Result<T, Failure>) -> Result<T, Ending> {
        self.session.agree(mine)
    }
}

fn highest(ranks: &SimpleCommunicator, mine: &[u32]) -> Vec<u32> {
    let mut highest = vec![0; mine.len()];
    ranks.all_reduce_into(mine, &mut highest[..], SystemOperation::max());
    highest
}
