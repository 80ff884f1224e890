//! Contents of a tree file: hosts, trees on them, and rules for the operations that use a tree.

use units::{ByteCount, Rank};

use crate::{Host, Tree, TreeError};

/// The most that a call over a tree brings to a node, in bytes: of a gather or a scatter all blocks. Larger calls go in
/// pieces between clusters, or are the MPI library's, and stages are not recorded.
pub const CAPACITY_BYTES: usize = 64 * 1024;

/// Trees over the ranks of one job, and rules that choose among them.
///
/// One that was [parsed](crate::Forest::parse) is sound; one that was put together is sound if [`check`](Self::check)
/// says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// A forest with a higher epoch replaces one that is in force.
    pub epoch: u64,
    /// All hosts of the job. Each rank is on one of them.
    pub hosts: Vec<Host>,
    /// Trees, in the order of the file.
    pub trees: Vec<Tree>,
    /// Rules, of which the first that fits decides.
    pub rules: Vec<Rule>,
}

/// A rule for the operations that go over a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The operation; none for all of them.
    pub operation: Option<Collective>,
    /// The most that one rank may bring or get.
    pub bytes_max: Option<ByteCount>,
    /// The tree, by its position.
    pub tree: usize,
}

/// Operations that can go over a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Scatter`.
    Scatter,
}

impl Forest {
    /// The tree for an operation, by its position; none if the MPI library is to do it.
    ///
    /// `bytes` is what one rank brings or gets, which MPI requires to be equal on all ranks: of an allreduce its whole
    /// buffer, of a gather one rank's part, of a barrier 0.
    #[must_use]
    pub fn rule(&self, operation: Collective, bytes: u64) -> Option<usize> {
        let fits = |rule: &&Rule| {
            rule.operation.is_none_or(|of_rule| of_rule == operation)
                && rule.bytes_max.is_none_or(|bytes_max| bytes <= bytes_max.bytes())
        };
        self.rules.iter().find(fits).map(|rule| rule.tree)
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.hosts.iter().map(|host| host.ranks.len()).sum()
    }

    /// Returns the place of each rank: positions of hosts. A forest that is not sound may have ranks without a host.
    #[must_use]
    pub fn places(&self) -> Vec<Option<usize>> {
        places(&self.hosts)
    }

    /// Whether all is as a program can use it. The first fault is told.
    ///
    /// # Errors
    /// Ranks without a host, and what [`Tree::check`] finds.
    pub fn check(&self) -> Result<(), TreeError> {
        let places = self.places();
        let last = places.len().checked_sub(1).ok_or(TreeError::Empty)? as Rank;
        if let Some(rank) = places.iter().position(Option::is_none) {
            return Err(TreeError::Unplaced { rank: rank as Rank, last });
        }
        self.trees.iter().try_for_each(|tree| tree.check(&self.hosts))
    }

    /// Whether this is for a job of so many ranks, wherever they are.
    ///
    /// # Errors
    /// [`TreeError::NRanks`] for another number.
    pub fn check_n_ranks(&self, needed: usize) -> Result<(), TreeError> {
        let given = self.n_ranks();
        if given == needed { Ok(()) } else { Err(TreeError::NRanks { given, needed }) }
    }

    /// Whether this is for a job whose ranks are on these hosts, in the order of the ranks.
    ///
    /// # Errors
    /// Another number of ranks, or a rank on another host.
    pub fn check_job(&self, hosts: &[impl AsRef<str>]) -> Result<(), TreeError> {
        self.check_n_ranks(hosts.len())?;
        for (rank, (place, needed)) in self.places().into_iter().zip(hosts).enumerate() {
            let given = place.map_or("", |host| self.hosts[host].name.as_str());
            if given != needed.as_ref() {
                let (given, needed) = (given.to_owned(), needed.as_ref().to_owned());
                return Err(TreeError::Host { rank: rank as Rank, given, needed });
            }
        }
        Ok(())
    }

    /// Returns the id of the tree at this position in records: different in each forest, and for each tree of one.
    #[must_use]
    pub fn id_of(&self, tree: usize) -> u64 {
        self.fingerprint().wrapping_add(tree as u64)
    }

    /// Returns the position of the tree that has this id in records, if the tree is one of this forest.
    #[must_use]
    pub fn tree_of(&self, id: u64) -> Option<usize> {
        usize::try_from(id.wrapping_sub(self.fingerprint())).ok().filter(|tree| *tree < self.trees.len())
    }

    /// A hash of the canonical text, by which ranks can tell that their files are the same: 64-bit FNV-1a.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.to_text().bytes().fold(0xcbf2_9ce4_8422_2325, fold)
    }
}

pub(crate) fn places(hosts: &[Host]) -> Vec<Option<usize>> {
    let n_ranks = hosts.iter().filter_map(|host| host.ranks.last()).max().map_or(0, |last| *last as usize + 1);
    let mut places = vec![None; n_ranks];
    for (at, host) in hosts.iter().enumerate() {
        host.ranks.iter().for_each(|&rank| places[rank as usize] = Some(at));
    }
    places
}
