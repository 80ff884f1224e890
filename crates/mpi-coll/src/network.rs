//! The port of a running job: messages of MPI on a communicator of our own, and processes that may end.

use std::collections::VecDeque;
use std::sync::Arc;

use clock::monotonic_ns;
use mpi_abi::{Handle, Mpi};
use mpi_job::Process;
use mpi_tree::Wake;
use units::Rank;

use crate::crossing::Crossing;
use crate::pause::{Patience, Pause};
use crate::port::{Port, Trouble};

/// Interval at which a rank that waits looks at whether the others of its machine are still there.
const CHECK_NS: u64 = 200_000_000;
/// Interval at which the rank that completes a call looks for a tree file that is to come into force.
const NOTICE_NS: u64 = 20_000_000;
/// Tag of all messages: their heads define what they are.
const TAG: i32 = 0;

/// One communicator's messages.
pub(crate) struct Network {
    mpi: &'static Mpi,
    /// Nobody else uses it.
    comm: Handle,
    /// Messages that came while this rank was sending.
    early: VecDeque<Vec<u8>>,
    /// Messages that are delayed on their way.
    crossing: Crossing,
    /// Ranks on this machine.
    neighbours: Arc<[(Rank, Process)]>,
    checked_ns: u64,
    /// Returns the epoch that waits to come into force, or 0.
    pending: Box<dyn FnMut() -> u32 + Send>,
    noticed_ns: u64,
}

impl Network {
    pub(crate) fn new(
        mpi: &'static Mpi,
        comm: Handle,
        crossing: Crossing,
        neighbours: Arc<[(Rank, Process)]>,
        pending: Box<dyn FnMut() -> u32 + Send>,
    ) -> Self {
        let (early, checked_ns) = (VecDeque::new(), monotonic_ns());
        Self { mpi, comm, early, crossing, neighbours, checked_ns, pending, noticed_ns: 0 }
    }

    pub(crate) fn comm(&self) -> Handle {
        self.comm
    }

    fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, Trouble> {
        let any = self.mpi.constants().any_source;
        while let Some(status) = self.mpi.iprobe(any, TAG, self.comm)? {
            into.resize(status.bytes as usize, 0);
            self.mpi.recv(into, status.source, TAG, self.comm)?;
            if let Some(message) = self.crossing.keep(status.source as Rank, std::mem::take(into)) {
                *into = message;
                return Ok(true);
            }
        }
        let Some((_, message)) = self.crossing.due() else { return Ok(false) };
        *into = message;
        Ok(true)
    }
}

impl Port for Network {
    fn send(&mut self, to: Rank, message: &[u8]) -> Result<(), Trouble> {
        let message = self.crossing.stamped(to, message);
        // SAFETY: this function does not return before the request is done, except when the job ends.
        let mut request = unsafe { self.mpi.isend(&raw const *message, to as i32, TAG, self.comm)? };
        let mut pause = Pause::new(Patience { is_crowded: true, wake: Wake::Both });
        // Two ranks with long messages for each other both have to receive before either is done.
        while self.mpi.test(&mut request)?.is_none() {
            let mut other = Vec::new();
            if self.next(&mut other)? {
                self.early.push_back(other);
            } else {
                pause.step(None, 0, self)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, into: &mut Vec<u8>) -> Result<bool, Trouble> {
        match self.early.pop_front() {
            Some(message) => {
                into.extend_from_slice(&message);
                Ok(true)
            }
            None => self.next(into),
        }
    }

    fn check(&mut self) -> Result<(), Trouble> {
        let now = monotonic_ns();
        if now.saturating_sub(self.checked_ns) < CHECK_NS {
            return Ok(());
        }
        self.checked_ns = now;
        match self.neighbours.iter().find(|(_, process)| !process.is_running()) {
            Some(&(rank, process)) => Err(Trouble::Ended { rank, pid: process.pid }),
            None => Ok(()),
        }
    }

    fn notice(&mut self) -> u32 {
        let now = monotonic_ns();
        if now.saturating_sub(self.noticed_ns) < NOTICE_NS {
            return 0;
        }
        self.noticed_ns = now;
        (self.pending)()
    }
}
