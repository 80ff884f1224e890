//! `foretop mpi analyze` on runs that were made up: one rank is late in each call.

use std::fs::File;
use std::path::Path;

use mpi_trace::file::{Clock, Head, RingNote, TreeNote, VERSION, Writer};
use mpi_trace::{Event, Operation, Peer, Recorded, Recording, RingKind, Subject};
use mpi_tree::Forest;

use crate::command::{end_of, foretop};

const TREE: &str = r#"
format = 1
[[host]]
name = "one"
ranks = "0-2"

[[tree]]
name = "flat"

[[tree.node]]
name = "root"
host = "one"
contributors = ["0-2"]

[[rule]]
operation = "*"
tree = "flat"
"#;

/// Writes what `n_ranks` recorded of calls that all begin at 0 and end at 900, but for rank 1, which begins at `late`.
fn write(folder: &Path, late: u64) {
    let forest = Forest::parse(TREE).unwrap();
    for rank in 0..3_u32 {
        let program = "made".to_owned();
        let head = Head {
            version: VERSION,
            rank,
            n_ranks: 3,
            host: "one".into(),
            pid: 1 + rank,
            program,
            library: "none".into(),
        };
        let begin = if rank == 1 { late } else { 100 };
        let event = |start: u64, end, subject| Event {
            start,
            end,
            bytes: 8,
            operation: Operation::ALLREDUCE,
            is_failed: false,
            subject,
        };
        let (mut stages, mut calls) = (Vec::new(), Vec::new());
        for sequence in 0..50_u32 {
            let at = u64::from(sequence) * 1_000;
            let mut stage = |collector, start, end| {
                stages.push(event(at + start, at + end, Subject::Stage { collector, sequence }));
            };
            if rank == 1 {
                stage(3, late + 10, late + 200);
            }
            stage(rank as u16, begin, late + 210 + 10 * u64::from(rank));
            calls.push(event(at + begin, at + 900, Subject::Call { communicator: 0, peer: Peer::None, tag: None }));
        }
        let note = |ring, kind, tree| RingNote {
            ring,
            kind,
            thread: ring,
            clock: Clock::Monotonic,
            ticks: 0,
            monotonic_ns: 0,
            tree,
        };
        let mut recording = Recording::new(head);
        recording.trees.push(TreeNote { tree: forest.id_of(0), text: TREE.into() });
        recording.rings.push(Recorded { note: note(0, RingKind::Calls, None), n_lost: 0, events: calls });
        recording.rings.push(Recorded {
            note: note(1, RingKind::Stages, Some(forest.id_of(0))),
            n_lost: 0,
            events: stages,
        });
        let mut writer =
            Writer::new(File::create(folder.join(format!("one.{rank}.ftrace"))).unwrap(), &recording.head).unwrap();
        recording.write(&mut writer).unwrap();
        writer.finish().unwrap();
    }
}

#[test]
fn the_late_rank_is_named_and_two_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
    for (path, late) in [(&before, 600), (&after, 150)] {
        std::fs::create_dir(path).unwrap();
        write(path, late);
    }
    let analyze =
        |arguments: &[&str]| end_of(foretop().current_dir(folder.path()).args(["mpi", "analyze"]).args(arguments));

    let told = analyze(&["before", "--draw", "pictures"]).output();
    for said in [
        "tree flat: 50 calls analyzed",
        "rank 1             50  100 %             500 ns",
        "try: give the late rank less work",
        "MPI_Allreduce     1     50      100 %",
    ] {
        assert!(told.contains(said), "{said} in\n{told}");
    }
    for picture in ["tree-0-pathmap", "tree-0-pathmap-waits", "tree-0-last-arrival", "tree-0-serialization", "timeline"]
    {
        assert!(folder.path().join(format!("pictures/{picture}.svg")).exists(), "{picture}");
    }
    let told = analyze(&["before", "--compare", "after"]).output();
    assert!(told.contains("flat compared with flat") && told.contains("no difference beyond chance"), "{told}");

    let json: serde_json::Value = serde_json::from_str(&analyze(&["before", "--json"]).output()).unwrap();
    assert_eq!(json["trees"][0]["n_calls"], 50);
    assert_eq!(json["arrivals"]["MPI_Allreduce"]["1"]["arrived"], serde_json::json!([0, 0, 50]));
    assert_eq!(analyze(&["before", "--csv"]).output().lines().count(), 1 + 3 + 3 * 3);

    let ended = analyze(&["nowhere"]);
    ended.check_failed(2, "cannot read the trace `nowhere`");
}
