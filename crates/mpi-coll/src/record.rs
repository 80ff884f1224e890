//! The collectors: what one rank writes down about its way through a tree.

use clock::Ticks;
use mpi_trace::{Event, Level, Operation, Subject, Writer};

/// Where a rank writes, for one tree.
#[derive(Debug)]
pub(crate) struct Recorder {
    ticks: Ticks,
    writer: Option<Writer<'static>>,
    is_on: bool,
    operation: Operation,
    /// Calls so far.
    sequence: u32,
}

impl Recorder {
    /// Without a writer nothing is recorded.
    pub(crate) fn new(ticks: Ticks, writer: Option<Writer<'static>>) -> Self {
        Self { ticks, writer, is_on: false, operation: Operation::BARRIER, sequence: 0 }
    }

    /// Begins with the next call.
    pub(crate) fn begin(&mut self, operation: Operation) {
        self.is_on = self.writer.as_ref().is_some_and(|writer| writer.ring().level() == Level::Trees);
        self.operation = operation;
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The moment, if anybody wants to know.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        if self.is_on { self.ticks.now() } else { 0 }
    }

    /// Writes down that a message passed the collector at `start`, and its result came back at this moment.
    #[inline]
    pub(crate) fn passed(&mut self, collector: u16, start: u64, bytes: usize) {
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
