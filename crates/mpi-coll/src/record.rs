//! The collectors: what one rank writes down about its way through a tree.

use std::sync::Arc;

use clock::Ticks;
use mpi_trace::{Event, Level, Operation, Subject, Writer};

/// The recorder to which a rank writes, for one tree.
#[derive(Debug)]
pub(crate) struct Recorder {
    ticks: Ticks,
    writer: Option<Writer<'static>>,
    is_on: bool,
    operation: Operation,
    /// Calls so far.
    sequence: u32,
    halves: Option<Halves>,
}

/// Position of the bits of a sequence number that differ between communicators.
const COMMUNICATOR_SHIFT: u32 = 24;
/// Communicators whose calls are told apart. Readers know a number from those within 2^31 of it.
const N_COMMUNICATORS: u32 = 64;

/// A call that the engine makes as a reduce and a broadcast, over a part of the recorder's tree. Collectors write when
/// the second half passes them, with the start that they had in the first.
#[derive(Debug)]
struct Halves {
    began: u64,
    is_second: bool,
    bytes: usize,
    /// Number in the tree of each collector, by its number in the part.
    collectors: Arc<[u16]>,
}

impl Recorder {
    /// Builds a recorder. Without a writer nothing is recorded.
    pub(crate) fn new(ticks: Ticks, writer: Option<Writer<'static>>) -> Self {
        Self { ticks, writer, is_on: false, operation: Operation::BARRIER, sequence: 0, halves: None }
    }

    /// Counts on among the numbers of a communicator, so that no call of another one over the same tree has the same:
    /// readers join the records of a call by its number. The numbers of a communicator are all ranks' own.
    pub(crate) fn count_for(&mut self, communicator: u32) {
        let of_call = self.sequence & ((1 << COMMUNICATOR_SHIFT) - 1);
        self.sequence = ((communicator % N_COMMUNICATORS) << COMMUNICATOR_SHIFT) | of_call;
    }

    /// Begins with the next call, or with a half of it.
    pub(crate) fn begin(&mut self, operation: Operation) {
        if let Some(halves) = &mut self.halves {
            halves.is_second = operation == Operation::BCAST;
            return;
        }
        self.is_on = self.writer.as_ref().is_some_and(|writer| writer.ring().level() == Level::Trees);
        self.operation = operation;
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Begins with the next call, whose halves follow.
    pub(crate) fn begin_halves(&mut self, operation: Operation, bytes: usize, collectors: Arc<[u16]>) {
        self.begin(operation);
        self.halves = Some(Halves { began: self.now(), is_second: false, bytes, collectors });
    }

    /// Ends the call, of which both halves have been made.
    pub(crate) fn end_halves(&mut self) {
        self.halves = None;
    }

    pub(crate) fn is_second_half(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.is_second)
    }

    /// Returns the time when the program's call began, if the engine's began at this moment.
    pub(crate) fn began(&self, start: u64) -> u64 {
        self.halves.as_ref().map_or(start, |halves| halves.began)
    }

    /// Returns the present time; 0 if recording is off.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        if self.is_on { self.ticks.now() } else { 0 }
    }

    /// Writes down that a message passed the collector at `start`, and its result came back at this moment.
    #[inline]
    pub(crate) fn passed(&mut self, collector: u16, start: u64, bytes: usize) {
        let (collector, bytes) = match &self.halves {
            None => (collector, bytes),
            Some(halves) if halves.is_second => (halves.collectors[usize::from(collector)], halves.bytes),
            Some(_) => return,
        };
        let Some(writer) = self.writer.as_mut().filter(|writer| self.is_on && writer.ring().is_on(collector)) else {
            return;
        };
        let event = Event {
            start,
            end: self.ticks.now().max(start),
            bytes: bytes as u64,
            operation: self.operation,
            is_failed: false,
            subject: Subject::Stage { collector, sequence: self.sequence.wrapping_sub(1) },
        };
        writer.write(event.to_records());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_two_communicators_have_different_numbers_however_they_alternate() {
        let mut recorders = [0, 1].map(|communicator| {
            let mut recorder = Recorder::new(Ticks::best(), None);
            recorder.count_for(communicator);
            recorder
        });
        let mut numbers = std::collections::BTreeSet::new();
        for call in 0..60 {
            let recorder = &mut recorders[call % 2];
            recorder.begin(Operation::ALLREDUCE);
            assert!(numbers.insert(recorder.sequence), "{call}");
        }
        // A recorder that another communicator had counts on.
        let [mut first, _] = recorders;
        first.count_for(2);
        first.begin(Operation::ALLREDUCE);
        assert!(numbers.insert(first.sequence));
    }
}
