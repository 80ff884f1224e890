//! Analyzers of each tree, from the recordings of ranks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mpi_trace::file::RingNote;
use mpi_trace::{Event, N_RANKS_MAX, Operation, Recording, RingKind, Subject};
use mpi_tree::{CAPACITY_BYTES, Collective, Forest, TreeError};

use crate::{Analyzer, HostClock};

/// Events of one ring before those of the next are taken: few, so that no call has to wait long for its last records.
const N_AT_ONCE: usize = 256;

/// Stages that cannot be made sense of.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// Error of the tree file.
    #[error("the tree file that rank {rank} recorded is none")]
    Tree {
        /// Rank that recorded the tree.
        rank: u32,
        /// Fault of the tree.
        source: TreeError,
    },
    /// Too large.
    #[error("tree `{name}` has {n_ranks} ranks; at most {N_RANKS_MAX} are analyzed")]
    Large {
        /// The tree.
        name: String,
        /// Its ranks.
        n_ranks: usize,
    },
}

/// An analyzer of each tree that has stages in `recordings`, in the order of their first ranks and rings. Rings whose
/// tree nobody recorded are left out.
///
/// # Errors
/// If a tree that was recorded is not one, or has more ranks than orders of arrival can be counted of.
pub fn analyzers(recordings: &[Recording]) -> Result<Vec<Analyzer>, RecordedError> {
    let forests = forests(recordings)?;
    let mut ids: Vec<u64> = Vec::new();
    for id in stages(recordings).filter_map(|(_, note, _)| note.tree) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let analyzer = |id: u64| {
        let forest = forests.get(&id)?;
        let tree = forest.trees[forest.tree_of(id)?].clone();
        let mut analyzer = Analyzer::new(tree, forest.hosts.clone(), clocks(recordings, forest, id));
        take_turns(
            &mut analyzer,
            stages(recordings).filter(|ring| ring.1.tree == Some(id)).map(|ring| ring.2).collect(),
        );
        Some(analyzer)
    };
    Ok(ids.into_iter().filter_map(analyzer).collect())
}

/// Numbers of calls by operation that a rule sends over a tree, and that have no stages because they bring more
/// than [`CAPACITY_BYTES`] to a node. Each call counts once.
///
/// # Errors
/// As those of [`analyzers`].
pub fn calls_without_stages(recordings: &[Recording]) -> Result<BTreeMap<Operation, u64>, RecordedError> {
    let forests = forests(recordings)?;
    let mut without = BTreeMap::new();
    // All ranks make these calls.
    let Some(recording) = recordings.iter().min_by_key(|recording| recording.head.rank) else { return Ok(without) };
    let n_ranks = recording.head.n_ranks as usize;
    let calls = recording.rings.iter().filter(|ring| ring.note.kind == RingKind::Calls);
    for event in calls.flat_map(|ring| &ring.events) {
        let (Some((collective, n_blocks)), Subject::Call { communicator, .. }) =
            (carried(event.operation, n_ranks), event.subject)
        else {
            continue;
        };
        let is_of_all = recording.n_members(communicator) == Some(n_ranks);
        let is_large = event.bytes.saturating_mul(n_blocks as u64) > CAPACITY_BYTES as u64;
        if is_of_all && is_large && forests.values().any(|forest| forest.rule(collective, event.bytes).is_some()) {
            *without.entry(event.operation).or_default() += 1;
        }
    }
    Ok(without)
}

/// The operation that a tree may carry for a call, and the blocks that come together at its root.
fn carried(operation: Operation, n_ranks: usize) -> Option<(Collective, usize)> {
    Some(match operation {
        Operation::ALLREDUCE => (Collective::Allreduce, 1),
        Operation::BCAST => (Collective::Bcast, 1),
        Operation::GATHER => (Collective::Gather, n_ranks),
        Operation::REDUCE => (Collective::Reduce, 1),
        Operation::SCATTER => (Collective::Scatter, n_ranks),
        _ => return None,
    })
}

/// All tree files that ranks recorded, by the hash that stages name them by.
fn forests(recordings: &[Recording]) -> Result<BTreeMap<u64, Forest>, RecordedError> {
    let mut forests: BTreeMap<u64, Forest> = BTreeMap::new();
    for recording in recordings {
        for note in &recording.trees {
            if let Entry::Vacant(place) = forests.entry(note.tree) {
                let read = Forest::parse(&note.text);
                let forest = read.map_err(|source| RecordedError::Tree { rank: recording.head.rank, source })?;
                if let Some(tree) = forest.trees.first()
                    && forest.n_ranks() > N_RANKS_MAX as usize
                {
                    return Err(RecordedError::Large { name: tree.name.clone(), n_ranks: forest.n_ranks() });
                }
                place.insert(forest);
            }
        }
    }
    Ok(forests)
}

fn stages(recordings: &[Recording]) -> impl Iterator<Item = (&Recording, &RingNote, &[Event])> {
    let rings = recordings.iter().flat_map(|recording| recording.rings.iter().map(move |ring| (recording, ring)));
    rings.filter(|(_, ring)| ring.note.kind == RingKind::Stages).map(|(of, ring)| (of, &ring.note, &ring.events[..]))
}

/// Each host's clock is that of the first of its ranks that recorded stages of this tree.
fn clocks(recordings: &[Recording], forest: &Forest, id: u64) -> Vec<HostClock> {
    let clock = |host: &mpi_tree::Host| {
        let mut rings = stages(recordings).filter(|(_, note, _)| note.tree == Some(id));
        let first = rings.find(|(recording, ..)| host.ranks.contains(&recording.head.rank));
        first.map_or_else(HostClock::alone, |(recording, note, _)| HostClock {
            line: recording.line(note),
            alignment: Some(recording.alignment()),
        })
    };
    forest.hosts.iter().map(clock).collect()
}

fn take_turns(analyzer: &mut Analyzer, mut rings: Vec<&[Event]>) {
    while !rings.is_empty() {
        for events in &mut rings {
            let (turn, rest) = events.split_at(events.len().min(N_AT_ONCE));
            analyzer.take(turn.iter().copied());
            *events = rest;
        }
        rings.retain(|events| !events.is_empty());
    }
}
