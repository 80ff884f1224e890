//! The communicators of this process: how records name them, and by what name other processes know them.

use std::collections::HashMap;
use std::sync::Arc;

use mpi_abi::{Failed, Handle, Mpi};
use mpi_trace::Event;
use mpi_trace::file::Communicator;

use crate::arguments::Held;

/// The number of communicators that have none of their own.
pub(crate) const UNKNOWN: u32 = 0xffff;

/// Ranks that all definitions together name at most: about 8 MB of text. Whatever is first used later is [`UNKNOWN`].
const N_RANKS_DEFINED_MAX: usize = 1 << 20;

/// The properties of a communicator that a call's record needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) number: u32,
    /// The rank of this process; of an intercommunicator, where no rank of the other side is this process, none.
    pub(crate) rank: u32,
    /// Ranks that calls are with: those on the other side of an intercommunicator.
    pub(crate) n_peers: u32,
}

impl Known {
    /// The properties of a communicator that is not known or one too many.
    pub(crate) const UNKNOWN: Self = Self { number: UNKNOWN, rank: u32::MAX, n_peers: 0 };
    /// The properties used for calls that name no communicator.
    pub(crate) const WORLD: Self = Self { number: 0, ..Self::UNKNOWN };

    pub(crate) fn is_inter(self) -> bool {
        self.rank == u32::MAX
    }
}

/// All that were made and not given up, by their handles in C; windows and files by whatever the program holds.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    communicators: HashMap<usize, Entry>,
    within: HashMap<(Within, Held), Known>,
    /// The events that persistent requests begin. A freed one stays until its handle is another's: requests are few.
    requests: HashMap<Held, Event>,
    /// The counts of communicators that were made of none that both sides have.
    rootless: Children,
    n_numbers: u32,
    n_ranks_defined: usize,
    is_full: bool,
}

/// An object on a communicator that is not a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Within {
    Window,
    File,
}

/// The origin of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A copy of this one, which may not be ready yet.
    Copy(Handle),
    /// Made of members of this one.
    Part(Handle),
    /// Joined from two, or never seen before.
    Unknown,
}

/// The number of communicators that were made with the same members. All of those see the same ones in the same order,
/// so that they agree on names without a message.
#[derive(Debug, Default)]
struct Children(HashMap<u64, u64>);

#[derive(Debug)]
struct Entry {
    id: u64,
    group: Group,
    /// None until a call has used it: most programs make communicators that they never use.
    number: Option<u32>,
    children: Children,
}

/// Members as ranks of `MPI_COMM_WORLD`, in the order of the communicator.
#[derive(Clone, Debug)]
struct Group {
    /// This process, in its own group.
    rank: u32,
    ranks: Arc<[i32]>,
    /// The other group of an intercommunicator; else empty.
    remote: Arc<[i32]>,
}

impl Registry {
    /// Builds the registry with the two communicators that are always there, as numbers 0 and 1.
    ///
    /// # Errors
    /// If MPI refuses to tell of one.
    pub(crate) fn new(mpi: &Mpi, define: &mut dyn FnMut(Communicator)) -> Result<Self, Failed> {
        let mut registry = Self::default();
        for comm in [mpi.constants().comm_world, mpi.constants().comm_self] {
            registry.made(mpi, Origin::Unknown, comm)?;
            registry.find(mpi, comm, define);
        }
        Ok(registry)
    }

    /// Returns the properties of a communicator for its records; asks MPI for one that was made in a way that is not
    /// known.
    pub(crate) fn find(&mut self, mpi: &Mpi, comm: Handle, define: &mut dyn FnMut(Communicator)) -> Known {
        if !self.communicators.contains_key(&comm.0) && self.made(mpi, Origin::Unknown, comm).is_err() {
            return Known::UNKNOWN;
        }
        let Some(entry) = self.communicators.get_mut(&comm.0) else { return Known::UNKNOWN };
        let Group { ranks, remote, .. } = &entry.group;
        let number = *entry.number.get_or_insert_with(|| {
            let n_ranks = ranks.len() + remote.len();
            let is_full = self.n_ranks_defined + n_ranks > N_RANKS_DEFINED_MAX || self.n_numbers == UNKNOWN;
            if is_full {
                if !std::mem::replace(&mut self.is_full, true) {
                    define(Communicator { communicator: UNKNOWN, id: 0, ranks: Vec::new(), remote: Vec::new() });
                }
                return UNKNOWN;
            }
            let number = self.n_numbers;
            self.n_numbers += 1;
            self.n_ranks_defined += n_ranks;
            let [ranks, remote] = [ranks, remote].map(|ranks| ranks.iter().map(|rank| *rank as u32).collect());
            define(Communicator { communicator: number, id: entry.id, ranks, remote });
            number
        });
        entry.group.known(number)
    }

    /// The same of one that was found before, without asking MPI.
    pub(crate) fn if_known(&self, comm: Handle) -> Known {
        let entry = self.communicators.get(&comm.0);
        let known = entry.and_then(|entry| Some(entry.group.known(entry.number?)));
        known.unwrap_or(Known::UNKNOWN)
    }

    /// One was made.
    ///
    /// # Errors
    /// If MPI refuses to tell of it.
    pub(crate) fn made(&mut self, mpi: &Mpi, origin: Origin, comm: Handle) -> Result<(), Failed> {
        if comm == mpi.constants().comm_null {
            return Ok(());
        }
        let parent = match origin {
            Origin::Copy(parent) | Origin::Part(parent) => self.communicators.get_mut(&parent.0),
            Origin::Unknown => None,
        };
        let group = match (&parent, origin) {
            (Some(parent), Origin::Copy(_)) => parent.group.clone(),
            _ => Group::ask(mpi, comm)?,
        };
        let (parent_id, children) = parent.map_or((0, &mut self.rootless), |parent| (parent.id, &mut parent.children));
        let id = children.name(parent_id, group.hash());
        self.communicators.insert(comm.0, Entry { id, group, number: None, children: Children::default() });
        Ok(())
    }

    /// One was given up: its handle may come again for another.
    pub(crate) fn gone(&mut self, comm: Handle) {
        self.communicators.remove(&comm.0);
    }

    /// A window or file was made on a communicator.
    pub(crate) fn made_within(&mut self, what: Within, held: Held, on: Known) {
        self.within.insert((what, held), on);
    }

    /// The communicator of a window or file.
    pub(crate) fn find_within(&self, what: Within, held: Held) -> Known {
        self.within.get(&(what, held)).copied().unwrap_or(Known::UNKNOWN)
    }

    /// A window or file was given up.
    pub(crate) fn gone_within(&mut self, what: Within, held: Held) {
        self.within.remove(&(what, held));
    }

    /// A persistent request was made.
    pub(crate) fn made_request(&mut self, held: Held, begins: Event) {
        self.requests.insert(held, begins);
    }

    /// Returns the event that a persistent request begins.
    pub(crate) fn started(&self, held: Held) -> Option<Event> {
        self.requests.get(&held).copied()
    }
}

impl Group {
    fn ask(mpi: &Mpi, comm: Handle) -> Result<Self, Failed> {
        let remote = if mpi.is_inter(comm)? { mpi.remote_world_ranks(comm)? } else { Vec::new() };
        Ok(Self { rank: mpi.comm_rank(comm)? as u32, ranks: mpi.world_ranks(comm)?.into(), remote: remote.into() })
    }

    fn known(&self, number: u32) -> Known {
        if self.remote.is_empty() {
            Known { number, rank: self.rank, n_peers: self.ranks.len() as u32 }
        } else {
            Known { number, rank: u32::MAX, n_peers: self.remote.len() as u32 }
        }
    }

    /// The same on both sides of an intercommunicator.
    fn hash(&self) -> u64 {
        let [own, remote] = [&self.ranks, &self.remote].map(|ranks| hash(ranks.iter().map(|rank| *rank as u64)));
        hash([own.min(remote), own.max(remote)])
    }
}

impl Children {
    fn name(&mut self, parent: u64, members: u64) -> u64 {
        let n_before = self.0.entry(members).or_default();
        *n_before += 1;
        hash([parent, members, *n_before])
    }
}

/// The same in all processes, unlike the hashes of the standard library: SplitMix64 (Steele, Lea and Flood 2014) over
/// each word.
fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| {
        let mut mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_parent_members_and_turn() {
        let mut one = Children::default();
        let mut other = Children::default();
        // The second process does not see the communicator of other members that the first takes part in.
        let seen = [one.name(5, 1), one.name(5, 2), one.name(5, 1), one.name(6, 1)];
        assert_eq!([other.name(5, 1), other.name(5, 1)], [seen[0], seen[2]]);
        let mut distinct = seen.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), seen.len());
    }

    #[test]
    fn both_sides_of_an_intercommunicator_have_one_name() {
        let side = |ranks: &[i32], remote: &[i32]| Group { rank: 0, ranks: ranks.into(), remote: remote.into() }.hash();
        assert_eq!(side(&[0, 1], &[2]), side(&[2], &[0, 1]));
        assert_ne!(side(&[0, 1], &[2]), side(&[1, 0], &[2]));
    }
}
