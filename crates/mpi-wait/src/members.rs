//! Facts that ranks tell each other at Init, before anything depends on them.

use mpi_abi::{Failed, Mpi};
use mpi_job::Process;
use mpi_trace::WaitMode;
use units::Rank;

use crate::binding::{AllowedCores, N_CORE_WORDS};

/// Words of a member: host, process and its start, mode, cores.
const N_WORDS: usize = 4 + N_CORE_WORDS;

/// A rank of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberFacts {
    /// Hash of the host's name.
    host: u64,
    process: Process,
    mode: u64,
    /// The cores that it may use.
    cores: AllowedCores,
}

/// The ranks of a job, and those of this rank's host by their positions there.
#[derive(Debug)]
pub(crate) struct JobMembers {
    all: Vec<MemberFacts>,
    /// Rank in `MPI_COMM_WORLD` of each position.
    pub(crate) here: Vec<Rank>,
    /// Position of this rank.
    pub(crate) own: usize,
}

impl JobMembers {
    /// Asks all ranks, all of which have to call.
    pub(crate) fn gather(mpi: &Mpi, mode: WaitMode) -> Result<Self, Failed> {
        let world = mpi.constants().comm_world;
        let this = Process::this();
        let host = mpi_job::fnv_1a(mpi_job::host_name().bytes().map(u64::from));
        let own = [host, this.pid.into(), this.started, mode as u64].into_iter().chain(AllowedCores::allowed().0);
        let own: Vec<u8> = own.flat_map(u64::to_ne_bytes).collect();
        let all: Vec<MemberFacts> =
            mpi.allgather(&own, world)?.chunks_exact(own.len()).map(MemberFacts::read).collect();
        Ok(Self::of(all, mpi.comm_rank(world)? as usize))
    }

    fn of(all: Vec<MemberFacts>, rank: usize) -> Self {
        let is_here = |other: &usize| all[*other].host == all[rank].host;
        let here: Vec<Rank> = (0..all.len()).filter(is_here).map(|other| other as Rank).collect();
        let own = here.iter().position(|other| *other as usize == rank).unwrap_or_default();
        Self { all, here, own }
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.all.len()
    }

    /// Whether ranks are on several hosts.
    pub(crate) fn is_spread(&self) -> bool {
        self.here.len() < self.all.len()
    }

    /// Whether all ranks are to wait in the same way.
    pub(crate) fn is_one_mode(&self) -> bool {
        self.all.iter().all(|member| member.mode == self.all[0].mode)
    }

    /// Returns the position on this host of a rank of `MPI_COMM_WORLD`.
    pub(crate) fn position(&self, rank: i32) -> Option<u32> {
        let rank = Rank::try_from(rank).ok()?;
        self.here.binary_search(&rank).ok().map(|at| at as u32)
    }

    /// Returns the cores that any rank of this host may use.
    pub(crate) fn cores(&self) -> AllowedCores {
        self.here.iter().fold(AllowedCores::NONE, |cores, rank| cores.or(&self.all[*rank as usize].cores))
    }
}

impl MemberFacts {
    fn read(bytes: &[u8]) -> Self {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        assert_eq!(words.len(), N_WORDS, "all send as much");
        let process = Process { pid: words[1] as u32, started: words[2] };
        let cores = AllowedCores(std::array::from_fn(|at| words[4 + at]));
        Self { host: words[0], process, mode: words[3], cores }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(host: u64, core: usize, mode: u64) -> MemberFacts {
        let mut cores = AllowedCores::NONE;
        cores.0[core / 64] |= 1 << (core % 64);
        MemberFacts { host, process: Process { pid: 1, started: 1 }, mode, cores }
    }

    #[test]
    fn ranks_of_a_host_have_positions_in_the_order_of_their_ranks() {
        let members = JobMembers::of(vec![member(7, 0, 2), member(8, 1, 2), member(7, 70, 2)], 2);
        assert_eq!((members.here.as_slice(), members.own), ([0, 2].as_slice(), 1));
        assert_eq!([0, 1, 2, -1].map(|rank| members.position(rank)), [Some(0), None, Some(1), None]);
        assert!(members.is_spread() && members.is_one_mode());
        assert_eq!(members.cores().list(), [0, 70]);
    }

    #[test]
    fn ranks_of_different_modes_are_noticed() {
        assert!(!JobMembers::of(vec![member(7, 0, 2), member(7, 1, 1)], 0).is_one_mode());
    }
}
