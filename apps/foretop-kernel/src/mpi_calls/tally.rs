//! Tally of MPI's calls: the calls that count, and the cost of counting.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::control::PointState;
use kernel::{Counters, GroupLimits, N_RANGES, Price, Subsystem, Toll};
use mpi_job::RingReader;
use mpi_trace::{Event, Family, Line, Operation, Peer, Ring, RingHeader, RingKind, Subject, n_words};
use rustix::fs::{MemfdFlags, memfd_create};

/// Points, by their numbers there.
pub(super) const SEND: usize = 0;
pub(super) const RECEIVE: usize = 1;
pub(super) const WAIT: usize = 2;
pub(super) const COLLECTIVE: usize = 3;
/// Records that are read to see what that takes, and how often.
pub(super) const N_TRIED: u64 = 1 << 12;
const N_TRIALS: usize = 31;

/// The calls made, and the part of them that counts.
pub(super) struct Tally {
    groups: GroupLimits,
    pub(super) states: Vec<PointState>,
    /// One call in so many counts, for all of them.
    pub(super) weight: u32,
    n_calls: u64,
    /// Whether nothing is read at all.
    pub(super) is_shed: bool,
    pub(super) cells: BTreeMap<(usize, usize), Counters>,
}

impl Tally {
    /// Makes the tally of all points of this subsystem, with sizes in these groups.
    pub(super) fn new(groups: &GroupLimits, subsystem: &Subsystem) -> Self {
        let cells = subsystem.points.iter().enumerate().map(|(number, point)| {
            let size = point.is_sized.then_some(0);
            let nothing =
                Counters { count: Some(0), time_ns: Some(0), asked: size, returned: size, ..Counters::default() };
            ((number, 0), nothing)
        });
        Self {
            groups: groups.clone(),
            states: vec![PointState::Summary; subsystem.points.len()],
            weight: 1,
            n_calls: 0,
            is_shed: false,
            cells: cells.collect(),
        }
    }

    pub(super) fn count(&mut self, line: &Line, event: &Event) {
        let Some(point) = point(event).filter(|&point| self.states[point] != PointState::Inactive) else { return };
        self.n_calls += 1;
        if !self.n_calls.is_multiple_of(u64::from(self.weight)) {
            return;
        }
        let is_sized = point != WAIT;
        let group = if is_sized { self.groups.as_slice().partition_point(|limit| *limit < event.bytes) } else { 0 };
        let length_ns = line.span_ns(event.end - event.start);
        let add = |to: &mut Option<u64>, more: u64| {
            *to = Some(to.unwrap_or(0).saturating_add(more.saturating_mul(u64::from(self.weight))));
        };
        let cell = self.cells.entry((point, group)).or_default();
        add(&mut cell.count, 1);
        cell.sampled += 1;
        add(&mut cell.time_ns, length_ns);
        if is_sized {
            add(&mut cell.asked, event.bytes);
            add(&mut cell.returned, if event.is_failed { 0 } else { event.bytes });
        }
        cell.min_ns = Some(cell.min_ns.map_or(length_ns, |least| least.min(length_ns)));
        cell.max_ns = Some(cell.max_ns.map_or(length_ns, |most| most.max(length_ns)));
        let range = (length_ns | 1).ilog2().min(N_RANGES as u32 - 1) as usize;
        let ranges = cell.ranges.get_or_insert([0; N_RANGES]);
        ranges[range] = ranges[range].wrapping_add(1);
    }
}

/// Returns the processor time of reading a record and counting it. The program that wrote the record pays nothing for
/// that.
pub(super) fn price(mut tally: Tally) -> Price {
    let trials = ring_to_try().and_then(|file| {
        let trial = |_| {
            let file = file.try_clone()?;
            let mut ring = RingReader::new(file, 0, PathBuf::new()).map_err(io::Error::other)?;
            let since = clock::thread_cpu();
            ring.take(N_TRIED, |event| tally.count(&Line::identity(), event))?;
            Ok((clock::thread_cpu() - since).as_nanos() as f64 / N_TRIED as f64)
        };
        (0..N_TRIALS).map(trial).collect::<io::Result<Vec<f64>>>()
    });
    let event_ns = trials.ok().and_then(|trials| statistics::median(&trials)).unwrap_or(0.0);
    Price { paid: Toll { pass_ns: Vec::new(), event_ns }, seen: Toll::default() }
}

/// A file in memory with a ring that is full.
pub(super) fn ring_to_try() -> io::Result<File> {
    let words: Vec<AtomicU64> = (0..n_words(N_TRIED)).map(|_| AtomicU64::new(0)).collect();
    let header = RingHeader {
        kind: RingKind::Calls,
        rank: 0,
        n_ranks: 1,
        pid: 0,
        pid_started: 0,
        thread: 0,
        is_counter: false,
        reading: mpi_trace::Reading::default(),
        tree: 0,
        host: String::new(),
    };
    let mut writer = Ring::create(&words, N_TRIED, &header).map_err(io::Error::other)?.writer();
    let subject = Subject::Call { communicator: 0, peer: Peer::Any, tag: None };
    let call = Event { start: 0, end: 1, bytes: 1, operation: Operation::SEND, is_failed: false, subject };
    // One less than it holds: the place of the next is not read.
    (1..N_TRIED).for_each(|_| writer.write(call.to_records()));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    let mut file = File::from(memfd_create("ring", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    Ok(file)
}

/// Returns the point that an event counts for. A part is a message of its own, as the receive of `MPI_Sendrecv`.
fn point(event: &Event) -> Option<usize> {
    let (peer, is_part) = match event.subject {
        Subject::Call { peer, .. } => (peer, false),
        Subject::Part { peer, .. } => (peer, true),
        Subject::Stage { .. } => return None,
    };
    match event.operation.family() {
        // No message goes to nobody.
        Family::Send | Family::Receive | Family::Exchange if peer == Peer::Null => None,
        Family::Send => Some(SEND),
        Family::Receive => Some(RECEIVE),
        Family::Exchange if !is_part => Some(SEND),
        Family::Wait if !is_part => Some(WAIT),
        Family::Barrier | Family::Collective => Some(COLLECTIVE),
        _ => None,
    }
}
