//! The calls of all ranks on one axis of time: nanoseconds of the monotonic clock of rank 0's host.

use std::collections::{BTreeMap, HashSet};

use units::Rank;

use crate::{Call, Event, Family, Mode, Operation, Peer, Recording, RingKind, Row, Subject, Trace};

/// Recordings of several ranks, brought together.
#[derive(Debug)]
pub struct Timeline<'a> {
    recordings: BTreeMap<Rank, &'a Recording>,
    /// Calls by rank and then by start.
    calls: Vec<Placed>,
    called_off: HashSet<Post>,
    n_ranks: u32,
    error_ns: u64,
}

/// Rank, thread, times in ticks, and subject of a receive, all of which the record that calls it off has as well.
type Post = (Rank, u32, u64, u64, Subject);

/// A call or a stage of one rank on the common axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Rank of the call.
    pub rank: Rank,
    /// Number of the thread of the call.
    pub thread: u32,
    /// Time at which it began.
    pub start_ns: u64,
    /// Time at which it ended; not before it began.
    pub end_ns: u64,
    /// The event; its own times are still in ticks.
    pub event: Event,
}

impl Placed {
    /// Returns the time that it took.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Returns the number of a call's communicator, and its peer there; `None` for a stage.
    #[must_use]
    pub fn communicator_and_peer(&self) -> Option<(u32, Peer)> {
        match self.event.subject {
            Subject::Call { communicator, peer, .. } | Subject::Part { communicator, peer, .. } => {
                Some((communicator, peer))
            }
            Subject::Stage { .. } => None,
        }
    }

    /// A receive that was started is a part, one that was called is not; the record that calls it off always is.
    fn post(&self) -> Post {
        let subject = match self.event.subject {
            Subject::Call { communicator, peer, tag } => Subject::Part { communicator, peer, tag },
            subject => subject,
        };
        (self.rank, self.thread, self.event.start, self.event.end, subject)
    }
}

/// Calls of a rank of one kind, in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of calls.
    pub n_calls: u64,
    /// Time in them.
    pub span_ns: u64,
    /// Bytes of their messages.
    pub bytes: u64,
    /// Calls that returned an error.
    pub n_failed: u64,
}

impl<'a> Timeline<'a> {
    /// Builds the timeline of one recording for each rank; of two for the same rank the later one counts.
    #[must_use]
    pub fn of(recordings: &'a [Recording]) -> Self {
        let recordings: BTreeMap<Rank, &Recording> =
            recordings.iter().map(|recording| (recording.head.rank, recording)).collect();
        let mut calls = Vec::new();
        for recording in recordings.values() {
            let begin = calls.len();
            calls.extend(placed(recording, RingKind::Calls));
            calls[begin..].sort_by_key(|call: &Placed| (call.start_ns, call.end_ns));
        }
        let n_ranks = |recording: &&Recording| recording.head.n_ranks.max(recording.head.rank.saturating_add(1));
        let n_ranks = recordings.values().map(n_ranks).max();
        let error_ns = recordings.values().map(|recording| recording.alignment().error_ns()).max();
        let called_off = calls.iter().filter(|call| call.event.calls_off()).map(Placed::post).collect();
        Self { recordings, calls, called_off, n_ranks: n_ranks.unwrap_or(0), error_ns: error_ns.unwrap_or(0) }
    }

    /// Returns the number of ranks of the program, also those that recorded nothing.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.n_ranks
    }

    /// Returns the error bound of a time of one host beside one of another.
    #[must_use]
    pub fn error_ns(&self) -> u64 {
        self.error_ns
    }

    /// Returns all calls with their parts, by rank and then by start. A part comes after its call.
    #[must_use]
    pub fn calls(&self) -> &[Placed] {
        &self.calls
    }

    /// Returns each rank's calls; ranks that made none are left out.
    pub fn by_rank(&self) -> impl Iterator<Item = &[Placed]> {
        self.calls.chunk_by(|a, b| a.rank == b.rank)
    }

    /// Whether this is a receive that `MPI_Cancel` called off, which no message meets, or the record that says so.
    #[must_use]
    pub fn is_called_off(&self, call: &Placed) -> bool {
        let operation = call.event.operation;
        let may_be = operation == Operation::CANCEL || operation.family() == Family::Receive;
        may_be && !self.called_off.is_empty() && self.called_off.contains(&call.post())
    }

    /// Returns all stages, by rank and ring.
    pub fn stages(&self) -> impl Iterator<Item = Placed> {
        self.recordings.values().flat_map(|recording| placed(recording, RingKind::Stages))
    }

    /// Returns the recording of each rank, by rank.
    pub fn recordings(&self) -> impl Iterator<Item = &'a Recording> {
        self.recordings.values().copied()
    }

    /// Whether calls of a rank are missing.
    #[must_use]
    pub fn is_lossy(&self, rank: Rank) -> bool {
        self.recording(rank).is_none_or(|recording| recording.n_lost(RingKind::Calls) > 0)
    }

    /// Returns the recording of a rank.
    #[must_use]
    pub fn recording(&self, rank: Rank) -> Option<&'a Recording> {
        self.recordings.get(&rank).copied()
    }

    /// Returns the peer of a call, as a rank of `MPI_COMM_WORLD`.
    #[must_use]
    pub fn peer(&self, call: &Placed) -> Option<Rank> {
        match call.communicator_and_peer()? {
            (communicator, Peer::Rank(peer)) => self.recording(call.rank)?.world_rank(communicator, peer),
            _ => None,
        }
    }

    /// Returns the calls of each rank and operation, in sum.
    #[must_use]
    pub fn usage(&self) -> BTreeMap<(Rank, Operation), Usage> {
        let mut usage: BTreeMap<_, Usage> = BTreeMap::new();
        for call in self.calls.iter().filter(|call| !call.event.is_part()) {
            let entry = usage.entry((call.rank, call.event.operation)).or_default();
            entry.n_calls += 1;
            entry.span_ns += call.span_ns();
            entry.bytes = entry.bytes.saturating_add(call.event.bytes);
            entry.n_failed += u64::from(call.event.is_failed);
        }
        usage
    }

    /// Returns the calls that move data, as a model of the application takes them:
    /// `docs/formats/communication-trace.md`. Sends to `MPI_PROC_NULL`, receives that were called off, and calls
    /// that failed are left out. Parts take
    /// no time: their calls have it.
    pub fn rows(&self) -> impl Iterator<Item = (Operation, Row)> {
        self.calls.iter().filter(|call| !call.event.is_failed && !self.is_called_off(call)).filter_map(|placed| {
            let call = placed.event.operation.call()?;
            let peer = self.peer(placed);
            let is_complete = !matches!(call, Call::Send(_)) || peer.is_some();
            let &Placed { rank, end_ns, .. } = placed;
            let start_ns = if placed.event.is_part() { end_ns } else { placed.start_ns };
            // What waits moves nothing; the bytes that it tells are in the rows of the messages.
            let size_bytes = if matches!(call, Call::Wait | Call::Barrier) { 0 } else { placed.event.bytes };
            let row = Row { rank, start_ns, end_ns, call, peer, size_bytes };
            is_complete.then_some((placed.event.operation, row))
        })
    }

    /// Returns the rows as a trace.
    #[must_use]
    pub fn to_trace(&self) -> Trace {
        Trace::of(self.rows().map(|(_, row)| row).collect())
    }
}

impl Operation {
    /// Returns the call that it is to a model of the application; `None` if such a model leaves it out.
    #[must_use]
    pub fn call(self) -> Option<Call> {
        // What comes from messages that `MPI_Mprobe` holds back is received like any other.
        match self {
            Self::MRECV | Self::IMRECV => Some(Call::Receive),
            Self::SENDRECV | Self::SENDRECV_REPLACE => Some(Call::Send(Mode::Blocking)),
            _ => self.name().parse().ok(),
        }
    }
}

fn placed(recording: &Recording, kind: RingKind) -> impl Iterator<Item = Placed> {
    let alignment = recording.alignment();
    recording.rings.iter().filter(move |recorded| recorded.note.kind == kind).flat_map(move |recorded| {
        let (line, alignment) = (recording.line(&recorded.note), alignment.clone());
        recorded.events.iter().map(move |&event| {
            let start_ns = alignment.ns(line.ns(event.start));
            let end_ns = alignment.ns(line.ns(event.end)).max(start_ns);
            Placed { rank: recording.head.rank, thread: recorded.note.thread, start_ns, end_ns, event }
        })
    })
}
