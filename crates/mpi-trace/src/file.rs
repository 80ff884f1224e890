//! Trace files: the recording of one rank, `docs/formats/mpi-trace.md`.
//!
//! Files are not opened here: a [`Writer`] takes anything that can be written, a [`Reader`] anything that can be read.
//! What is cut off or damaged is readable up to there, and no bytes make a reader panic or take more memory than a
//! block's.

mod block;
mod note;
mod reader;
mod writer;

pub use note::{Clock, Communicator, Head, KernelNote, Moment, Note, Offset, Phase, RingNote, TreeNote};
pub use reader::{FileError, Part, Reader};
pub use writer::Writer;

/// The version of the format that is written, and read.
pub const VERSION: u32 = 1;
/// Greatest number of events in a block.
pub const N_EVENTS_MAX: usize = 4_096;

/// The longest head, its line end included.
const HEAD_BYTES_MAX: u64 = 65_536;
/// Bytes before the payload of a block: kind, length, checksum.
const FRAME_BYTES: usize = 9;
/// The longest payload.
const PAYLOAD_BYTES_MAX: usize = 1 << 20;

const KIND_NOTE: u8 = b'N';
const KIND_EVENTS: u8 = b'E';

fn checksum(kind_and_length: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(kind_and_length);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Event, Operation, Peer, RingKind, Subject};

    const EXAMPLE_EVENTS: &[u8] = &[
        0x45, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0x0b, 0x38, 4, 0x0e, 8, 0xd0, 0x0f, 0xac, 2, 0, 0xc8, 1, 0xac, 2,
    ];

    fn head() -> Head {
        let (program, library) = ("ping".to_owned(), "MPICH".to_owned());
        Head { version: VERSION, rank: 0, n_ranks: 2, host: "a".to_owned(), pid: 7, program, library }
    }

    fn ring() -> Note {
        let (kind, clock) = (RingKind::Calls, Clock::Counter);
        RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 1000, tree: None }.into()
    }

    fn send(start: u64) -> Event {
        let subject = Subject::Call { communicator: 0, peer: Peer::Rank(1), tag: Some(5) };
        Event { start, end: start + 300, bytes: 8, operation: Operation::SEND, is_failed: false, subject }
    }

    fn example() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &head()).unwrap();
        writer.note(&ring()).unwrap();
        writer.events(0, 0, &[send(1000), send(1400)]).unwrap();
        writer.finish().unwrap()
    }

    /// All parts up to the end or what is wrong.
    fn parts(bytes: &[u8]) -> (Vec<Part>, Option<FileError>) {
        let mut parts = Vec::new();
        match Reader::new(bytes) {
            Ok(mut reader) => loop {
                match reader.part() {
                    Ok(Some(part)) => parts.push(part),
                    Ok(None) => return (parts, None),
                    Err(error) => return (parts, Some(error)),
                }
            },
            Err(error) => (parts, Some(error)),
        }
    }

    #[test]
    fn the_example_of_the_format_is_written_as_the_page_says() {
        let written = example();
        let begin = written.len() - EXAMPLE_EVENTS.len();
        let mut events = EXAMPLE_EVENTS.to_vec();
        let sum = checksum(&events[..5], &events[9..]);
        events[5..9].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(written[begin..], events);
        let page = include_str!("../../../docs/formats/mpi-trace.md");
        let line_end = written.iter().position(|byte| *byte == b'\n').unwrap();
        let note = &written[line_end + 1..begin];
        for (frame, is_of) in [(&events[..9], "events, 18 bytes"), (&note[..9], "note of 84 bytes")] {
            let bytes = frame.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
            assert!(page.contains(&format!("{bytes}   {is_of}, checksum")), "{bytes}   {is_of}");
        }
        for text in [&written[..line_end], &note[9..]] {
            let text = std::str::from_utf8(text).unwrap();
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_files_can_be_gone_on_with() {
        let mut writer = Writer::append(example());
        let communicator = Communicator { communicator: 2, id: u64::MAX, ranks: vec![1, 0], remote: Vec::new() };
        let offset = Offset { offset_ns: -5, error_ns: 2, monotonic_ns: 9, at: Phase::Finalize };
        let tree = TreeNote { tree: 0xabc, text: "[[node]]\n".to_owned() };
        let moment = Moment { ticks: 9000, monotonic_ns: 4000 };
        let notes = [Note::from(communicator), offset.into(), tree.into(), moment.into()];
        notes.iter().for_each(|note| writer.note(note).unwrap());
        let many: Vec<Event> = (0..N_EVENTS_MAX as u64 + 1).map(|at| send(at * 400)).collect();
        writer.events(0, 7, &many).unwrap();
        let (parts, error) = parts(&writer.finish().unwrap());
        assert!(error.is_none(), "{error:?}");
        let mut expected =
            vec![Part::Note(ring()), Part::Events { ring: 0, n_lost: 0, events: vec![send(1000), send(1400)] }];
        expected.extend(notes.map(Part::Note));
        let (first, rest) = many.split_at(N_EVENTS_MAX);
        expected.push(Part::Events { ring: 0, n_lost: 7, events: first.to_vec() });
        expected.push(Part::Events { ring: 0, n_lost: 0, events: rest.to_vec() });
        assert_eq!(parts, expected);
    }

    #[test]
    fn calls_whose_tags_count_up_take_few_bytes() {
        let mut events = Vec::new();
        for at in 0..10_000_u64 {
            let subject = Subject::Call { communicator: 3, peer: Peer::Rank(at as u32 % 6), tag: Some(at as i32) };
            let start = at * 1_000_000 + at * at % 1000;
            let event = Event { start, end: start + 300_000, bytes: 1 << 16, subject, ..send(0) };
            events.push(event);
        }
        let mut writer = Writer::append(Vec::new());
        writer.events(0, 0, &events).unwrap();
        let n_bytes = writer.finish().unwrap().len();
        assert!(n_bytes <= 12 * events.len(), "{n_bytes} bytes");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |bytes: &[u8]| parts(bytes).1.unwrap().to_string();
        assert!(told(b"rank,start_ns\n").starts_with("it does not begin with the head"));
        let later = String::from_utf8_lossy(&example()[..50]).replace(":1,", ":2,");
        let later = format!("{}\",\"pid\":7,\"program\":\"\",\"library\":\"\"}}", &later[..later.len() - 2]);
        assert_eq!(told(later.as_bytes()), "it has version 2 of the format; this program reads version 1");
        let whole = example();
        let at = whole.len() - EXAMPLE_EVENTS.len();
        assert_eq!(told(&whole[..whole.len() - 1]), format!("it is cut off in the block at byte {at}"));
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(told(&other), format!("the block at byte {at} is damaged: its checksum is another"));
        other[at] = b'X';
        assert_eq!(told(&other), format!("the block at byte {at} is damaged: its kind is neither N nor E"));
    }

    proptest! {
        #[test]
        fn a_cut_file_is_read_up_to_the_cut(cut in 0..200_usize) {
            let whole = example();
            let (all, _) = parts(&whole);
            let cut = cut.min(whole.len());
            let (some, error) = parts(&whole[..cut]);
            prop_assert_eq!(&some[..], &all[..some.len()]);
            prop_assert!(error.is_some() || some.len() == all.len() || cut < whole.len() && some.len() < all.len());
        }

        #[test]
        fn a_changed_byte_is_noticed(place in 130..200_usize, change in 1..=255_u8) {
            let mut changed = example();
            let place = place.min(changed.len() - 1);
            changed[place] ^= change;
            prop_assert!(parts(&changed).1.is_some());
        }
    }
}
