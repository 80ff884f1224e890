//! Any bytes are a trace file up to where they are damaged, and what was read is written and read as the same.

use mpi_analysis::{KernelLog, arrivals, arrivals_table, draw};
use mpi_trace::file::{Clock, Head, Note, RingNote, TreeNote, VERSION, Writer};
use mpi_trace::{Matching, Recorded, Recording, RingKind, Timeline, merge};
use mpi_tree::Forest;

const KIND_EVENTS: u8 = b'E';
const KIND_NOTE: u8 = b'N';

/// Number 0 is that of calls.
const RING_OF_STAGES: u32 = 9;
const TREE: &str = r#"
format = 1
[[host]]
name = "a"
ranks = "0-2"
[[tree]]
name = "flat"
[[tree.node]]
name = "root"
host = "a"
contributors = ["0-2"]
"#;

/// The first byte says how the rest is to be taken: as a file as it is (0), or as payloads of blocks behind a head, a
/// ring of calls and one of stages. Those are framed with the right checksums, which would keep what is interesting
/// out; each begins with its kind and its length.
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
    let matching = Matching::of(&timeline);
    let _ = (matching.waits(&timeline), timeline.usage());
    let _ = arrivals_table(&arrivals(&timeline, &matching), timeline.error_ns());
    let kernel = KernelLog::of(&recordings);
    for analysis in mpi_analysis::analyzers(&recordings).iter().flatten().flat_map(mpi_analysis::Analyzer::analyses) {
        let _ = (analysis.table(&kernel), mpi_analysis::to_csv(std::slice::from_ref(&analysis)));
        let _ = (draw::pathmap(&analysis, draw::Waits::Drawn), draw::last_arrival_tree(&analysis));
    }
    mpi_trace::write_json(&timeline, std::io::sink()).expect("a sink takes everything");
    recordings.iter().flat_map(|recording| &recording.rings).any(|Recorded { events, .. }| !events.is_empty())
}

fn framed(mut payloads: &[u8]) -> Vec<u8> {
    let (host, program, library) = (String::new(), String::new(), String::new());
    let head = Head { version: VERSION, rank: 0, n_ranks: 2, host, pid: 1, program, library };
    let tree = Forest::parse(TREE).expect("it is one").id_of(0);
    let ring = |ring, kind, tree| {
        Note::from(RingNote { ring, kind, thread: 0, clock: Clock::Counter, ticks: 5, monotonic_ns: 9, tree })
    };
    let notes = [
        TreeNote { tree, text: TREE.to_owned() }.into(),
        ring(0, RingKind::Calls, None),
        ring(RING_OF_STAGES, RingKind::Stages, Some(tree)),
    ];
    let mut writer = Writer::new(Vec::new(), &head).expect("memory takes everything");
    notes.iter().try_for_each(|note| writer.note(note)).expect("memory takes everything");
    let mut file = writer.finish().expect("memory takes everything");
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
