//! A ring of any user's, read through its file.
//!
//! It is not mapped: whoever may write a file may cut it, and that would end a process that has it mapped.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use mpi_trace::{
    Assembly, Cursor, Event, Line, N_HEADER_WORDS, N_RECORD_WORDS, Record, RingHeader, RingMemory, check_capacity,
};

use crate::ring_file::readings;
use crate::{JobError, Process};

const WORD_BYTES: usize = size_of::<u64>();
/// Records that are copied at once.
const N_AT_ONCE: usize = 1 << 10;

/// A ring that some process made, and how far this one has read it. It changes nothing in it.
#[derive(Debug)]
pub struct RingReader {
    /// Path at which the ring was found.
    pub path: PathBuf,
    /// Header of the ring at that time.
    pub header: RingHeader,
    /// Owner of the file.
    pub user: u32,
    /// The file system's number of its file: tells it from a ring that a later process has put in its place.
    pub number: u64,
    capacity: u64,
    words: Words,
    cursor: Cursor,
    assembly: Assembly,
}

#[derive(Debug)]
struct Words(File);

impl RingReader {
    /// Reads from its begin a ring that is in this file.
    ///
    /// # Errors
    /// If it is none, or cannot be read.
    pub fn new(file: File, user: u32, path: PathBuf) -> Result<Self, JobError> {
        let words = Words(file);
        let looked = || {
            let found = words.0.metadata()?;
            let mut bytes = [0; N_HEADER_WORDS * WORD_BYTES];
            let n_bytes = bytes.len().min(found.len() as usize);
            words.0.read_exact_at(&mut bytes[..n_bytes], 0)?;
            let (given, _) = bytes[..n_bytes].as_chunks::<WORD_BYTES>();
            let header: Vec<AtomicU64> = given.iter().map(|word| u64::from_le_bytes(*word).into()).collect();
            Ok((found.ino(), found.len() as usize / WORD_BYTES, header))
        };
        let (number, n_words, header) = looked().map_err(JobError::file("read", &path))?;
        let understood = RingHeader::read(&header).and_then(|(header, capacity)| {
            check_capacity(capacity, n_words)?;
            Ok((header, capacity))
        });
        match understood {
            Ok((header, capacity)) => {
                let (cursor, assembly) = Default::default();
                Ok(Self { path, header, user, number, capacity, words, cursor, assembly })
            }
            Err(source) => Err(JobError::Ring { path, source }),
        }
    }

    /// Gives `each` what was written since the last time, at most `n_max` records of it, and says how many records were
    /// lost: overwritten before they were read, or of no use.
    ///
    /// # Errors
    /// If the file has been cut. What was read until then has been given.
    pub fn take(&mut self, n_max: u64, mut each: impl FnMut(&Event)) -> io::Result<u64> {
        let (mut records, mut events, mut n_lost) = (Vec::new(), Vec::new(), 0_u64);
        // A rank that goes on meanwhile is not run after.
        let mut n_left = self.n_ahead()?.min(self.capacity).min(n_max) as usize;
        while n_left > 0 {
            let n_records = n_left.min(N_AT_ONCE);
            let n_overwritten = self.cursor.read(&self.words, self.capacity, n_records, &mut records)?;
            n_lost = n_lost.saturating_add(self.assembly.add(&records, n_overwritten, &mut events));
            records.clear();
            events.drain(..).for_each(|event| each(&event));
            n_left -= n_records;
        }
        Ok(n_lost)
    }

    /// Goes on with what is written from now on.
    ///
    /// # Errors
    /// If the file has been cut.
    pub fn pass(&mut self) -> io::Result<()> {
        self.cursor.position = self.words.n_written()?;
        self.assembly = Assembly::default();
        Ok(())
    }

    /// Records that were written since, there or overwritten.
    fn n_ahead(&mut self) -> io::Result<u64> {
        let n_written = self.words.n_written()?;
        // A writer that is damaged may go back.
        self.cursor.position = self.cursor.position.min(n_written);
        Ok(n_written - self.cursor.position)
    }

    /// Returns the line from its ticks to nanoseconds.
    #[must_use]
    pub fn line(&self) -> Line {
        readings(&self.header).map_or_else(Line::identity, |[began, now]| Line::through(began, now))
    }

    /// Returns the process that made the ring, as the header states.
    #[must_use]
    pub fn process(&self) -> Process {
        Process { pid: self.header.pid, started: self.header.pid_started }
    }
}

impl RingMemory for Words {
    type Error = io::Error;

    fn word(&self, at: usize) -> io::Result<u64> {
        let mut bytes = [0; WORD_BYTES];
        self.0.read_exact_at(&mut bytes, (at * WORD_BYTES) as u64)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn records(&self, at: usize, into: &mut [Record]) -> io::Result<()> {
        let mut bytes = [[0; WORD_BYTES]; N_RECORD_WORDS * N_AT_ONCE];
        let bytes = &mut bytes[..N_RECORD_WORDS * into.len()];
        self.0.read_exact_at(bytes.as_flattened_mut(), (at * WORD_BYTES) as u64)?;
        for (record, words) in into.iter_mut().zip(bytes.as_chunks::<N_RECORD_WORDS>().0) {
            *record = Record(words.map(u64::from_le_bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mpi_trace::{Operation, Peer, Subject, Writer};
    use tempfile::{TempDir, tempdir};

    use super::*;
    use crate::folder::tests::header;
    use crate::{Folder, RingFile};

    /// Each third event is too large for one record.
    fn event(at: u64) -> Event {
        let subject = Subject::Call { communicator: 0, peer: Peer::None, tag: None };
        let bytes = if at.is_multiple_of(3) { 1 << 40 } else { 8 };
        Event { start: at, end: at + 1, bytes, operation: Operation::BCAST, is_failed: false, subject }
    }

    fn ring(capacity: u64) -> (TempDir, RingFile, RingReader) {
        let root = tempdir().unwrap();
        let folder = Folder::create(&root.path().join("job")).unwrap();
        let header = header(1);
        let made = folder.create_ring(capacity, &header).unwrap();
        let reader = RingReader::new(File::open(&made.path).unwrap(), 0, made.path.clone()).unwrap();
        assert_eq!((&reader.header, reader.process()), (&header, Process::this()));
        (root, made, reader)
    }

    fn write(writer: &mut Writer<'_>, events: std::ops::Range<u64>) {
        events.for_each(|at| writer.write(event(at).to_records()));
    }

    fn taken(reader: &mut RingReader, n_max: u64) -> (Vec<Event>, u64) {
        let mut events = Vec::new();
        let n_lost = reader.take(n_max, |event| events.push(*event)).unwrap();
        (events, n_lost)
    }

    #[test]
    fn events_come_whole_around_the_end_and_what_was_overwritten_is_counted() {
        let (_root, made, mut reader) = ring(4096);
        let mut writer = made.ring().writer();
        for events in [0..3000, 3000..6000, 6000..6001] {
            write(&mut writer, events.clone());
            assert_eq!(taken(&mut reader, u64::MAX), (events.map(event).collect(), 0));
        }
        write(&mut writer, 6001..10_001);
        let (events, n_lost) = taken(&mut reader, u64::MAX);
        let n_records: u64 = events.iter().map(|event| 1 + u64::from(event.to_records().0.is_some())).sum();
        let n_since: u64 = (6001..10_001_u64).map(|at| 1 + u64::from(at % 3 == 0)).sum();
        assert_eq!(n_lost + n_records, n_since);
        assert_eq!(events, (10_001 - events.len() as u64..10_001).map(event).collect::<Vec<_>>());

        write(&mut writer, 0..2000);
        assert_eq!(taken(&mut reader, 4), ((0..3).map(event).collect(), 0));
        write(&mut writer, 0..10);
        reader.pass().unwrap();
        write(&mut writer, 10..11);
        assert_eq!(taken(&mut reader, u64::MAX), (vec![event(10)], 0));
    }

    #[test]
    fn a_file_that_is_cut_and_a_head_that_jumps_end_no_reader() {
        let (_root, made, mut reader) = ring(64);
        write(&mut made.ring().writer(), 0..10);
        let file = File::options().write(true).open(&made.path).unwrap();
        for head in [5_u64, u64::MAX, 0, 7] {
            file.write_all_at(&head.to_le_bytes(), 32 * 8).unwrap();
            assert!(taken(&mut reader, u64::MAX).0.len() <= 64);
            assert_eq!(reader.cursor.position, head);
        }
        file.set_len(8 * 70).unwrap();
        file.write_all_at(&20_u64.to_le_bytes(), 32 * 8).unwrap();
        assert!(reader.take(u64::MAX, |_| {}).is_err());
        file.set_len(8).unwrap();
        assert!(reader.take(u64::MAX, |_| {}).is_err() && reader.pass().is_err());
        assert!(RingReader::new(File::open(&made.path).unwrap(), 0, made.path.clone()).is_err());
        file.set_len(0).unwrap();
        assert!(RingReader::new(File::open(&made.path).unwrap(), 0, made.path.clone()).is_err());
    }
}
