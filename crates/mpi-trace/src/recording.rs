//! The recording of one rank, out of its file or its rings.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use units::Rank;

use crate::file::{
    Clock, Communicator, FileError, Head, KernelNote, Moment, Note, Offset, Part, Reader, RingNote, TreeNote, Writer,
};
use crate::{Alignment, Event, Line, Reading, RingKind};

/// Greatest number of events that are read of one rank; half a gigabyte in memory.
pub const N_EVENTS_MAX: usize = 10_000_000;

/// The recording of one rank.
#[derive(Debug)]
pub struct Recording {
    /// The rank that recorded it.
    pub head: Head,
    /// Events by ring, in the order in which the rings were noted.
    pub rings: Vec<Recorded>,
    /// Trees that stages name.
    pub trees: Vec<TreeNote>,
    /// Samples of the kernel's counters.
    pub kernel: Vec<KernelNote>,
    /// Place and reason if reading ended before the end.
    pub fault: Option<Fault>,
    communicators: BTreeMap<u32, Communicator>,
    offsets: Vec<Offset>,
    until: Option<Moment>,
}

/// Contents of one ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Note of the ring.
    pub note: RingNote,
    /// Records that were lost.
    pub n_lost: u64,
    /// Events in the order in which they ended, in ticks of the ring's clock.
    pub events: Vec<Event>,
}

/// The reason why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A part that is not of use.
    #[error(transparent)]
    File(#[from] FileError),
    /// Events of a ring that no note names.
    #[error("there are events of ring {ring}, but no note of it")]
    Ring {
        /// Its number.
        ring: u32,
    },
    /// More events than fit into memory.
    #[error("there are more than {N_EVENTS_MAX} events; the rest is left out")]
    TooMany,
}

impl Recording {
    /// Builds the recording of a rank that has recorded nothing yet.
    #[must_use]
    pub fn new(head: Head) -> Self {
        let (rings, trees, offsets, kernel) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { head, rings, trees, kernel, fault: None, communicators: BTreeMap::new(), offsets, until: None }
    }

    /// Returns its head and communicators, for events that are made rather than recorded.
    #[must_use]
    pub fn without_events(&self) -> Self {
        let mut empty = Self::new(self.head.clone());
        empty.communicators.clone_from(&self.communicators);
        empty
    }

    /// Reads a file to its end, or up to where it is damaged: then [`fault`](Self::fault) of the last recording says
    /// where. There is one recording in the file of a rank, and one for each rank in a merged file.
    ///
    /// # Errors
    /// If it does not begin as a trace file.
    pub fn read(from: impl BufRead) -> Result<Vec<Self>, FileError> {
        let mut reader = Reader::new(from)?;
        let mut recordings = Vec::new();
        let mut current = Self::new(reader.head().clone());
        let mut n_events = 0;
        current.fault = loop {
            match reader.part() {
                Ok(None) => break None,
                Ok(Some(Part::Note(Note::Head(head)))) => {
                    recordings.push(std::mem::replace(&mut current, Self::new(head)));
                    n_events = 0;
                }
                Ok(Some(Part::Note(note))) => current.note(note),
                Ok(Some(Part::Events { ring, n_lost, events })) => {
                    n_events += events.len();
                    if n_events > N_EVENTS_MAX {
                        break Some(Fault::TooMany);
                    }
                    if let Err(fault) = current.events(ring, n_lost, events) {
                        break Some(fault);
                    }
                }
                Err(error) => break Some(error.into()),
            }
        };
        recordings.push(current);
        Ok(recordings)
    }

    /// Writes all but the head.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, to: &mut Writer<impl Write>) -> io::Result<()> {
        let rings = self.rings.iter().map(|recorded| recorded.note.clone().into());
        let communicators = self.communicators.values().cloned().map(Note::from);
        let offsets = self.offsets.iter().copied().map(Note::from);
        let trees = self.trees.iter().cloned().map(Note::from);
        let kernel = self.kernel.iter().copied().map(Note::from);
        let until = self.until.map(Note::from);
        for note in rings.chain(communicators).chain(offsets).chain(trees).chain(kernel).chain(until) {
            to.note(&note)?;
        }
        self.rings.iter().try_for_each(|recorded| to.events(recorded.note.ring, recorded.n_lost, &recorded.events))
    }

    /// Returns the recording in nanoseconds of the clock of rank 0's host.
    #[must_use]
    pub fn aligned(&self) -> Self {
        let alignment = self.alignment();
        let align = |recorded: &Recorded| {
            let line = self.line(&recorded.note);
            let ns = |ticks: u64| alignment.ns(line.ns(ticks));
            let events = recorded.events.iter().map(|&event| {
                let start = ns(event.start);
                Event { start, end: ns(event.end).max(start), ..event }
            });
            let note = RingNote { clock: Clock::Monotonic, ticks: 0, monotonic_ns: 0, ..recorded.note.clone() };
            Recorded { note, events: events.collect(), ..*recorded }
        };
        let offset =
            |offset: &Offset| Offset { offset_ns: 0, monotonic_ns: alignment.ns(offset.monotonic_ns), ..*offset };
        let sample = |sample: &KernelNote| KernelNote { monotonic_ns: alignment.ns(sample.monotonic_ns), ..*sample };
        Self {
            head: self.head.clone(),
            kernel: self.kernel.iter().map(sample).collect(),
            rings: self.rings.iter().map(align).collect(),
            trees: self.trees.clone(),
            fault: None,
            communicators: self.communicators.clone(),
            offsets: self.offsets.iter().map(offset).collect(),
            until: None,
        }
    }

    /// Adds a note.
    pub fn note(&mut self, note: Note) {
        match note {
            // A rank that tells its name again.
            Note::Head(head) => self.head = head,
            Note::Ring(note) => self.rings.push(Recorded { note, n_lost: 0, events: Vec::new() }),
            Note::Moment(moment) => self.until = Some(moment),
            Note::Communicator(note) => drop(self.communicators.insert(note.communicator, note)),
            Note::Offset(offset) => self.offsets.push(offset),
            Note::Tree(tree) => self.trees.push(tree),
            Note::Kernel(sample) => self.kernel.push(sample),
        }
    }

    /// Adds events of a ring.
    ///
    /// # Errors
    /// If no note named the ring.
    pub fn events(&mut self, ring: u32, n_lost: u64, events: Vec<Event>) -> Result<(), Fault> {
        let recorded = self.rings.iter_mut().find(|recorded| recorded.note.ring == ring).ok_or(Fault::Ring { ring })?;
        recorded.n_lost += n_lost;
        recorded.events.extend(events);
        Ok(())
    }

    /// Returns the number of events of all rings.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.rings.iter().map(|recorded| recorded.events.len()).sum()
    }

    /// Returns the number of records that were lost, of rings of this kind.
    #[must_use]
    pub fn n_lost(&self, kind: RingKind) -> u64 {
        self.rings.iter().filter(|recorded| recorded.note.kind == kind).map(|recorded| recorded.n_lost).sum()
    }

    /// Returns the conversion from a ring's ticks to this host's monotonic clock.
    #[must_use]
    pub fn line(&self, ring: &RingNote) -> Line {
        match (ring.clock, self.until) {
            (Clock::Monotonic, _) => Line::identity(),
            (Clock::Counter, Some(Moment { ticks, monotonic_ns })) => {
                Line::through(ring.reading(), Reading { ticks, monotonic_ns })
            }
            (Clock::Counter, None) => Line::through(ring.reading(), ring.reading()),
        }
    }

    /// Returns the conversion from this host's monotonic clock to that of rank 0's host.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        Alignment::of(self.offsets.clone())
    }

    /// Returns the id of a communicator that a call names; `None` for one that was never noted, or whose members are
    /// not known.
    #[must_use]
    pub fn communicator_id(&self, communicator: u32) -> Option<u64> {
        match communicator {
            WORLD | SELF => Some(communicator.into()),
            _ => self.communicators.get(&communicator).filter(|note| !note.ranks.is_empty()).map(|note| note.id),
        }
    }

    /// Returns the number of ranks of a communicator.
    #[must_use]
    pub fn n_members(&self, communicator: u32) -> Option<usize> {
        match communicator {
            WORLD => Some(self.head.n_ranks as usize),
            SELF => Some(1),
            _ => self.communicators.get(&communicator).map(|note| note.ranks.len() + note.remote.len()),
        }
    }

    /// Returns the rank in `MPI_COMM_WORLD` of a call's peer.
    #[must_use]
    pub fn world_rank(&self, communicator: u32, peer: u32) -> Option<Rank> {
        match communicator {
            WORLD => Some(peer).filter(|peer| *peer < self.head.n_ranks),
            SELF => Some(self.head.rank).filter(|_| peer == 0),
            _ => {
                let note = self.communicators.get(&communicator)?;
                let group = if note.remote.is_empty() { &note.ranks } else { &note.remote };
                group.get(peer as usize).copied()
            }
        }
    }
}

/// The number of `MPI_COMM_WORLD`, and its id.
const WORLD: u32 = 0;
/// The number of `MPI_COMM_SELF`, and its id.
const SELF: u32 = 1;

/// Writes recordings as one file, in nanoseconds of the clock of rank 0's host.
///
/// # Errors
/// If it cannot be written. There is nothing to write of no recordings.
pub fn merge(recordings: &[Recording], to: impl Write) -> io::Result<()> {
    let Some((first, rest)) = recordings.split_first() else { return Ok(()) };
    let mut writer = Writer::new(to, &first.head)?;
    first.aligned().write(&mut writer)?;
    for recording in rest {
        writer.note(&recording.head.clone().into())?;
        recording.aligned().write(&mut writer)?;
    }
    writer.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Phase, VERSION};
    use crate::{Operation, Peer, Subject};

    fn recording(rank: Rank) -> Recording {
        let (host, program, library) = (format!("host-{rank}"), "heat".to_owned(), "MPICH".to_owned());
        let mut recording = Recording::new(Head { version: VERSION, rank, n_ranks: 2, host, pid: 9, program, library });
        let (kind, clock) = (RingKind::Calls, Clock::Counter);
        recording.note(RingNote { ring: 4, kind, thread: 0, clock, ticks: 1000, monotonic_ns: 500, tree: None }.into());
        recording.note(Communicator { communicator: 2, id: 77, ranks: vec![1, 0], remote: Vec::new() }.into());
        recording.note(Moment { ticks: 3000, monotonic_ns: 1500 }.into());
        let offset_ns = 100 * i64::from(rank);
        recording.note(Offset { offset_ns, error_ns: 3, monotonic_ns: 600, at: Phase::Init }.into());
        let subject = Subject::Call { communicator: 2, peer: Peer::Rank(0), tag: Some(1) };
        let (operation, is_failed) = (Operation::SEND, false);
        let event = Event { start: 2000, end: 2100, bytes: 8, operation, is_failed, subject };
        recording.events(4, 5, vec![event]).unwrap();
        recording
    }

    #[test]
    fn merged_files_have_all_ranks_on_one_axis() {
        let mut merged = Vec::new();
        merge(&[recording(0), recording(1)], &mut merged).unwrap();
        let read = Recording::read(&merged[..]).unwrap();
        let starts: Vec<u64> = read.iter().map(|recording| recording.rings[0].events[0].start).collect();
        assert_eq!(starts, [1000, 900]);
        for (read, written) in read.iter().zip([recording(0), recording(1)]) {
            assert_eq!((&read.head, read.n_lost(RingKind::Calls)), (&written.head, 5));
            assert_eq!((read.world_rank(2, 0), read.communicator_id(2)), (Some(1), Some(77)));
            assert_eq!((read.alignment().error_ns(), read.alignment().ns(1000)), (3, 1000));
        }
    }

    #[test]
    fn events_of_an_unknown_ring_end_the_recording_with_a_reason() {
        let mut writer = Writer::new(Vec::new(), &recording(0).head).unwrap();
        recording(0).write(&mut writer).unwrap();
        writer.events(6, 0, &recording(0).rings[0].events).unwrap();
        let read = Recording::read(&writer.finish().unwrap()[..]).unwrap().remove(0);
        assert_eq!(read.n_events(), 1);
        assert_eq!(read.fault.unwrap().to_string(), "there are events of ring 6, but no note of it");
    }
}
