//! Calls of each rank, from traces.

use std::collections::{BTreeMap, BTreeSet};

use mpi_trace::{Event, Operation, Peer, Placed, Recording, RingKind, Subject, Timeline};
use units::{Rank, SimDuration};

use crate::compute::{Laws, Times};
use crate::message::Context;

/// Calls of all ranks of a program.
#[derive(Clone, Debug)]
pub struct Script {
    ranks: Vec<Vec<Call>>,
    groups: Vec<Vec<Rank>>,
}

/// One call, or a part of the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Computation before it.
    pub(super) compute: SimDuration,
    pub(super) event: Event,
    /// The partner of the call, as a rank of all.
    pub(super) peer: Option<Rank>,
    /// Its communicator, by number; none of one whose members were not recorded.
    pub(super) group: Option<usize>,
}

/// The reason why traces cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A rank of which nothing was recorded.
    #[error("there is no trace of rank {rank} of {n_ranks}: all ranks are needed")]
    Missing {
        /// The rank.
        rank: Rank,
        /// Ranks of the program.
        n_ranks: u32,
    },
    /// A rank whose trace has gaps.
    #[error("{n_lost} calls of rank {rank} were lost: trace with larger rings, or with `--keep all`")]
    Lost {
        /// The rank.
        rank: Rank,
        /// Number of lost calls.
        n_lost: u64,
    },
    /// Nothing at all.
    #[error("there are no calls in the trace")]
    Empty,
}

impl Script {
    /// Builds the script that repeats what was recorded.
    ///
    /// # Errors
    /// [`ScriptError`] where a rank's calls are not all there.
    pub fn of(recordings: &[Recording]) -> Result<Self, ScriptError> {
        let timeline = Timeline::of(recordings);
        let n_ranks = timeline.n_ranks();
        if timeline.calls().is_empty() {
            return Err(ScriptError::Empty);
        }
        let mut groups = Groups::default();
        for rank in 0..n_ranks {
            let recording = timeline.recording(rank).ok_or(ScriptError::Missing { rank, n_ranks })?;
            let n_lost = recording.n_lost(RingKind::Calls);
            if n_lost > 0 {
                return Err(ScriptError::Lost { rank, n_lost });
            }
        }
        let mut ranks = vec![Vec::new(); n_ranks as usize];
        for calls in timeline.by_rank() {
            let rank = calls[0].rank;
            let recording = timeline.recording(rank).ok_or(ScriptError::Missing { rank, n_ranks })?;
            groups.note(recording, calls);
            let mut over_ns = None;
            let of_rank = &mut ranks[rank as usize];
            for placed in calls {
                let communicator = match placed.event.subject {
                    Subject::Call { communicator, .. } | Subject::Part { communicator, .. } => communicator,
                    Subject::Stage { .. } => continue,
                };
                // Nothing will complete it: the program computes meanwhile.
                if timeline.is_called_off(placed) {
                    continue;
                }
                let compute =
                    SimDuration::from_nanos(placed.start_ns.saturating_sub(over_ns.unwrap_or(placed.start_ns)));
                over_ns = over_ns.max(Some(placed.end_ns));
                let group = recording.communicator_id(communicator).and_then(|id| groups.position(id, placed.rank));
                of_rank.push(Call { compute, event: placed.event, peer: timeline.peer(placed), group });
            }
        }
        Ok(Self { ranks, groups: groups.members })
    }

    /// Ranks of the program.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Calls of all ranks, without parts.
    #[must_use]
    pub fn n_calls(&self) -> usize {
        self.ranks.iter().flatten().filter(|call| !call.event.is_part()).count()
    }

    /// Returns the computation of the ranks before their calls. Traces hold no addresses: a call and its tag stand for
    /// the place that the call is made from.
    #[must_use]
    pub fn times(&self) -> Times {
        let mut times = Times::new(self.n_ranks());
        for (rank, calls) in (0..).zip(&self.ranks) {
            for call in calls.iter().filter(|call| !call.event.is_part()) {
                times.record(rank, &call.site(), call.event.bytes, call.compute);
            }
        }
        times
    }

    /// Returns the same program with compute times by laws; a call without a law keeps its own time.
    #[must_use]
    pub fn with_laws(mut self, laws: &Laws) -> Self {
        let n_ranks = self.n_ranks();
        for call in self.ranks.iter_mut().flatten().filter(|call| !call.event.is_part()) {
            if let Some(span) = laws.span(&call.site(), n_ranks, call.event.bytes) {
                call.compute = span;
            }
        }
        self
    }

    pub(super) fn calls(&self, rank: Rank) -> &[Call] {
        &self.ranks[rank as usize]
    }

    /// Members of a call's communicator.
    pub(super) fn members(&self, call: &Call) -> &[Rank] {
        call.group.map_or(&[], |group| &self.groups[group])
    }
}

impl Call {
    /// Whether nobody is at the other end: `MPI_PROC_NULL`, or members that nobody knows.
    pub(super) fn is_with_nobody(&self) -> bool {
        let is_null = matches!(
            self.event.subject,
            Subject::Call { peer: Peer::Null, .. } | Subject::Part { peer: Peer::Null, .. }
        );
        is_null || self.group.is_none()
    }

    /// Its communicator's context for messages; that for collectives is the next one.
    pub(super) fn context(&self) -> Context {
        self.group.unwrap_or(0) as Context * 2
    }

    fn site(&self) -> String {
        let name = self.event.operation.name();
        self.tag().map_or_else(|| name.to_owned(), |tag| format!("{name}, tag {tag}"))
    }

    pub(super) fn tag(&self) -> Option<i32> {
        match self.event.subject {
            Subject::Call { tag, .. } | Subject::Part { tag, .. } => tag.filter(|tag| *tag >= 0),
            Subject::Stage { .. } => None,
        }
    }

    pub(super) fn is(&self, operations: &[Operation]) -> bool {
        operations.contains(&self.event.operation)
    }
}

/// Communicators of all ranks, numbered alike on all of them.
#[derive(Default)]
struct Groups {
    by_id: BTreeMap<(u64, Option<Rank>), usize>,
    members: Vec<Vec<Rank>>,
}

/// `MPI_COMM_WORLD`.
const WORLD: u32 = 0;
/// `MPI_COMM_SELF` has one id on all ranks, and is not the same there.
const SELF: u32 = 1;

impl Groups {
    fn note(&mut self, recording: &Recording, calls: &[Placed]) {
        let rank = recording.head.rank;
        let named = calls.iter().filter_map(Placed::communicator_and_peer).map(|(communicator, _)| communicator);
        let numbers: BTreeSet<u32> = named.chain([WORLD]).collect();
        for communicator in numbers {
            let Some(id) = recording.communicator_id(communicator) else { continue };
            let n_members = recording.n_members(communicator).unwrap_or(0) as u32;
            let members: Vec<Rank> =
                (0..n_members).filter_map(|peer| recording.world_rank(communicator, peer)).collect();
            let key = (id, (communicator == SELF).then_some(rank));
            let next = self.members.len();
            if *self.by_id.entry(key).or_insert(next) == next {
                self.members.push(members);
            }
        }
    }

    fn position(&self, id: u64, rank: Rank) -> Option<usize> {
        self.by_id.get(&(id, None)).or_else(|| self.by_id.get(&(id, Some(rank)))).copied()
    }
}
