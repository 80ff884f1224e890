//! Any bytes are a trace file up to where they are damaged, and what was read is written and read as the same.

use mpi_trace::file::{Head, VERSION, Writer};
use mpi_trace::{Matching, Recorded, Recording, Timeline, merge};

const KIND_EVENTS: u8 = b'E';
const KIND_NOTE: u8 = b'N';

/// The first byte says how the rest is to be taken: as a file as it is (0), or as payloads of blocks behind a head and a ring. Those are framed
/// with the right checksums, which would keep what is interesting out; each begins with its kind and its length.
///
/// Returns whether there was an event in it.
///
/// # Panics
/// When a recording reads back as another one.
pub fn mpi_trace_file(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    let file = if *choice == 0 { rest.to_vec() } else { framed(rest) };
    let Ok(recordings) = Recording::read(&file[..]) else {
        return false;
    };
    let mut merged = Vec::new();
    merge(&recordings, &mut merged).expect("memory takes everything, and what was read is short enough to be written");
    let again = Recording::read(&merged[..]).expect("what was written can be read");
    assert_eq!(again.len(), recordings.len(), "a rank was lost on the way");
    for (again, aligned) in again.iter().zip(recordings.iter().map(Recording::aligned)) {
        assert!(again.fault.is_none(), "what was written is damaged: {:?}", again.fault);
        assert_eq!(
            (&again.head, &again.rings),
            (&aligned.head, &aligned.rings),
            "a recording reads back as another one"
        );
    }
    let timeline = Timeline::of(&recordings);
    let _ = Matching::of(&timeline).waits(&timeline);
    mpi_trace::write_json(&timeline, std::io::sink()).expect("a sink takes everything");
    recordings.iter().flat_map(|recording| &recording.rings).any(|Recorded { events, .. }| !events.is_empty())
}

fn framed(mut payloads: &[u8]) -> Vec<u8> {
    let (host, program, library) = (String::new(), String::new(), String::new());
    let head = Head { version: VERSION, rank: 0, n_ranks: 2, host, pid: 1, program, library };
    let ring = r#"{"ring":0,"kind":"calls","thread":0,"clock":"counter","ticks":5,"monotonic_ns":9}"#;
    let mut file = Writer::new(Vec::new(), &head).and_then(Writer::finish).expect("memory takes everything");
    push_block(KIND_NOTE, ring.as_bytes(), &mut file);
    while let Some((&[kind, length], rest)) = payloads.split_first_chunk() {
        let (payload, rest) = rest.split_at(usize::from(length).min(rest.len()));
        push_block(if kind % 2 == 0 { KIND_EVENTS } else { KIND_NOTE }, payload, &mut file);
        payloads = rest;
    }
    file
}

fn push_block(kind: u8, payload: &[u8], file: &mut Vec<u8>) {
    let [a, b, c, d] = (payload.len() as u32).to_le_bytes();
    let start = [kind, a, b, c, d];
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&start);
    hasher.update(payload);
    file.extend(start);
    file.extend(hasher.finalize().to_le_bytes());
    file.extend(payload);
}
