//! Offsets of the clocks of the job's hosts from that of rank 0's, by round trips.

use clock::monotonic_ns;
use mpi_abi::{Failed, Handle, Mpi};

/// Round trips with each host; the quickest counts.
const N_TRIPS: usize = 30;
const TAG: i32 = 1;

/// The hosts of a job, and the communicator on which they compare their clocks.
#[derive(Debug)]
pub(crate) struct Hosts {
    rank: i32,
    /// The lowest rank of each host but that of rank 0, in ascending order.
    leaders: Vec<i32>,
    /// The index of this host's leader among those leaders; none on that of rank 0.
    own: Option<usize>,
    n_ranks_here: usize,
    /// A message to it cannot be taken for one of the program's. None if there is one host only.
    comm: Option<Handle>,
}

/// This host's monotonic clock minus that of rank 0's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) offset_ns: i64,
    pub(crate) error_ns: u64,
}

impl Hosts {
    /// Finds out who is where. All ranks have to call.
    ///
    /// # Errors
    /// If MPI refuses.
    pub(crate) fn find(mpi: &Mpi, host: u64) -> Result<Self, Failed> {
        let world = mpi.constants().comm_world;
        let hosts: Vec<[u8; 8]> = mpi.allgather(&host.to_le_bytes(), world)?.as_chunks().0.to_vec();
        let first = |host: &[u8; 8]| hosts.iter().position(|other| other == host).unwrap_or(0) as i32;
        let mut leaders: Vec<i32> = hosts.iter().map(first).filter(|leader| *leader > 0).collect();
        leaders.sort_unstable();
        leaders.dedup();
        let own = leaders.binary_search(&first(&host.to_le_bytes())).ok();
        let comm = if leaders.is_empty() { None } else { Some(mpi.comm_dup(world)?) };
        let n_ranks_here = hosts.iter().filter(|other| **other == host.to_le_bytes()).count();
        Ok(Self { rank: mpi.comm_rank(world)?, leaders, own, n_ranks_here, comm })
    }

    /// One for all ranks.
    pub(crate) fn one(rank: i32, n_ranks: usize) -> Self {
        Self { rank, leaders: Vec::new(), own: None, n_ranks_here: n_ranks, comm: None }
    }

    /// Returns the number of ranks that share this host, this one included.
    pub(crate) fn n_ranks_here(&self) -> usize {
        self.n_ranks_here
    }

    /// Compares the clocks. All ranks have to call.
    ///
    /// # Errors
    /// If MPI refuses.
    pub(crate) fn compare(&self, mpi: &Mpi) -> Result<Offset, Failed> {
        let Some(comm) = self.comm else { return Ok(Offset::default()) };
        let mut all = vec![0; self.leaders.len() * 16];
        if self.rank == 0 {
            for (leader, place) in self.leaders.iter().zip(all.as_chunks_mut::<16>().0) {
                let Offset { offset_ns, error_ns } = ask(mpi, comm, *leader)?;
                *place = (u128::from(offset_ns as u64) | u128::from(error_ns) << 64).to_le_bytes();
            }
        } else if self.leaders.contains(&self.rank) {
            for _ in 0..N_TRIPS {
                mpi.recv(&mut [], 0, TAG, comm)?;
                mpi.send(&monotonic_ns().to_le_bytes(), 0, TAG, comm)?;
            }
        }
        mpi.bcast(&mut all, 0, comm)?;
        let own = self.own.and_then(|own| all.as_chunks::<16>().0.get(own)).map(|bytes| u128::from_le_bytes(*bytes));
        Ok(own.map_or_else(Offset::default, |word| Offset {
            offset_ns: word as u64 as i64,
            error_ns: (word >> 64) as u64,
        }))
    }

    /// Gives the communicator back, before MPI ends. All ranks have to call.
    ///
    /// # Errors
    /// If MPI refuses.
    pub(crate) fn leave(&self, mpi: &Mpi) -> Result<(), Failed> {
        self.comm.map_or(Ok(()), |comm| mpi.comm_free(comm))
    }
}

/// The other side's time is somewhere between ours before and after: half of the trip is how wrong its middle can be.
fn ask(mpi: &Mpi, comm: Handle, leader: i32) -> Result<Offset, Failed> {
    let mut best = Offset { offset_ns: 0, error_ns: u64::MAX };
    for _ in 0..N_TRIPS {
        let mut theirs = [0; 8];
        let before = monotonic_ns();
        mpi.send(&[], leader, TAG, comm)?;
        mpi.recv(&mut theirs, leader, TAG, comm)?;
        let trip_ns = monotonic_ns() - before;
        if trip_ns.div_ceil(2) < best.error_ns {
            let offset_ns = u64::from_le_bytes(theirs).wrapping_sub(before + trip_ns / 2) as i64;
            best = Offset { offset_ns, error_ns: trip_ns.div_ceil(2) };
        }
    }
    Ok(best)
}
