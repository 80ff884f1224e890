//! `foretop mpi trace` on traces and jobs that are there: no MPI is needed.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use mpi_job::{Folder, Process, RingFile};
use mpi_trace::file::{Clock, Head, Note, RingNote, VERSION, Writer};
use mpi_trace::{Event, Level, Operation, Peer, Reading, RingHeader, RingKind, Subject};
use record::Item;

use crate::command::{Ended, run};

/// Two ranks: the second sends 8 bytes at 2 us, for which the first waits from 1 us on; then both meet at a barrier.
fn write_trace(folder: &Path) {
    let call = |start, end, operation, peer, tag, bytes| {
        let subject = Subject::Call { communicator: 0, peer, tag };
        Event { start, end, bytes, operation, is_failed: false, subject }
    };
    let meet = |start| call(start, 9_000, Operation::BARRIER, Peer::None, None, 0);
    let receives = [call(1_000, 2_500, Operation::RECV, Peer::Any, Some(-1), 8), meet(3_000)];
    let sends = [call(2_000, 2_100, Operation::SEND, Peer::Rank(0), Some(4), 8), meet(8_000)];
    for (rank, events) in [(0, receives), (1, sends)] {
        let (host, program, library) = ("here".to_owned(), "./heat".to_owned(), "MPICH".to_owned());
        let head = Head { version: VERSION, rank, n_ranks: 2, host, pid: 5, program, library };
        let file = File::create(folder.join(format!("here.{rank}.ftrace"))).unwrap();
        let mut writer = Writer::new(file, &head).unwrap();
        let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
        let ring = RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None };
        writer.note(&Note::from(ring)).unwrap();
        writer.events(0, 3 * u64::from(rank), &events).unwrap();
    }
}

fn trace(arguments: &[&str]) -> Ended {
    run(&[&["mpi", "trace"], arguments].concat())
}

#[test]
fn a_trace_is_shown_merged_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path());
    let given = folder.path().to_str().unwrap();
    let shown = trace(&["show", given, "--by-rank"]).output();
    for told in [
        "   1  here      2  7.00 us  1.10 us  15.7 %     3",
        "MPI_Barrier   all      2  7.00 us",
        "matched: 1 message, 1 collective call; unmatched: 0 sends, 0 receives",
        "   0                1  6.00 us",
    ] {
        assert!(shown.contains(told), "`{told}` is not in:\n{shown}");
    }

    let merged = folder.path().join("all");
    let merged = merged.to_str().unwrap();
    assert_eq!(trace(&["merge", given, "-o", merged]).output(), "");
    assert_eq!(trace(&["show", merged, "--by-rank"]).output(), shown);

    let csv = "rank,start_ns,end_ns,call,peer,size_bytes\n\
               0,1000,2500,MPI_Recv,,8\n0,3000,9000,MPI_Barrier,,0\n1,2000,2100,MPI_Send,0,8\n1,8000,9000,MPI_Barrier,,0\n";
    assert_eq!(trace(&["export", given]).output(), csv);
    let json = trace(&["export", given, "--format", "json"]).json();
    assert_eq!((&json["calls"][0]["peer"], &json["messages"]), (&"any".into(), &serde_json::json!([[2, 0]])));
    assert_eq!(trace(&["export", given, "--format", "perfetto"]).json()["traceEvents"].as_array().unwrap().len(), 8);
    let parquet = folder.path().join("calls.parquet");
    trace(&["export", given, "--format", "parquet", "-o", parquet.to_str().unwrap()]).output();
    let bytes = fs::read(parquet).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));

    let records = folder.path().join("calls.records");
    trace(&["export", given, "--format", "records", "-o", records.to_str().unwrap()]).output();
    let items = record::read(BufReader::new(File::open(records).unwrap())).unwrap().map(Result::unwrap);
    let shown = items.filter_map(|item| match item {
        Item::Record { of: 0, values } => Some(format!("{:?} {:?} {:?}", values[0], values[3], values[5])),
        Item::Record { values, .. } => Some(format!("{values:?}")),
        _ => None,
    });
    // In the order of time: a message of 8 bytes from rank 1 is on its way while rank 0 waits for it.
    let message = "[Integer(1), Integer(0), Integer(2000), Integer(2500), Integer(100), Integer(1500), Integer(8)]";
    let expected = [
        r#"Integer(0) Integer(1000) Text("MPI_Recv")"#,
        r#"Integer(1) Integer(2000) Text("MPI_Send")"#,
        message,
        r#"Integer(0) Integer(3000) Text("MPI_Barrier")"#,
        r#"Integer(1) Integer(8000) Text("MPI_Barrier")"#,
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_missing_of_a_trace_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let given = folder.path().to_str().unwrap();
    trace(&["show", given]).check_failed(1, "there are neither trace files (*.ftrace) nor rings (*.ring) in");
    write_trace(folder.path());
    fs::remove_file(folder.path().join("here.0.ftrace")).unwrap();
    let rest = folder.path().join("here.1.ftrace");
    let bytes = fs::read(&rest).unwrap();
    fs::write(&rest, &bytes[..bytes.len() - 1]).unwrap();
    let ended = trace(&["show", given]);
    assert_eq!(ended.status, 0);
    for told in ["the trace of rank 1 is read in part: it is cut off in the block at byte", "no traces of 1 of 2 ranks"]
    {
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

fn ring(folder: &Folder) -> RingFile {
    let this = Process::this();
    let header = RingHeader {
        kind: RingKind::Stages,
        rank: 0,
        n_ranks: 4,
        pid: this.pid,
        pid_started: this.started,
        thread: 0,
        is_counter: false,
        reading: Reading::default(),
        tree: 1,
        host: "here".into(),
    };
    folder.create_ring(8, &header).unwrap()
}

#[test]
fn the_level_of_a_job_changes_as_a_whole_and_by_subtree() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::create(&root.path().join("job")).unwrap();
    let given = folder.path().to_str().unwrap();
    trace(&["level", given, "off"]).check_failed(1, "records nothing on this host");
    let ring = ring(&folder);
    assert_eq!(trace(&["level", given, "calls"]).output(), "changed 1 ring to calls\n");
    assert_eq!(ring.ring().level(), Level::Calls);

    trace(&["level", given, "off", "--node", "a"]).check_failed(2, "the job has no tree");
    let page = include_str!("../../../../docs/formats/mpi-tree.md");
    let tree = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(folder.path().join("tree.toml"), tree).unwrap();
    trace(&["level", given, "off", "--node", "right"]).check_failed(2, "no tree of the job has a node `right`");
    assert_eq!(trace(&["level", given, "off", "--node", "a"]).output(), "changed 1 ring to off\n");
    // Before node `a` come two collectors of its own contribution to the root, four of ranks, and the root's store.
    let off: Vec<u16> = (0..20).filter(|collector| !ring.ring().is_on(*collector)).collect();
    assert_eq!(off, [7, 8, 9, 10]);
    trace(&["level", given, "trees", "--node", "small/a"]).output();
    assert!(ring.ring().is_on(7) && ring.ring().level() == Level::Calls);
}
