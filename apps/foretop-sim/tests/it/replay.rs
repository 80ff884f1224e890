//! `foretop sim replay`, `sweep`, `show`, `plot` and `compare`.

use std::path::{Path, PathBuf};

use mpi_trace::file::{Clock, Head, RingNote, VERSION, Writer};
use mpi_trace::{Event, Operation, Peer, RingKind, Subject};
use tempfile::TempDir;

use crate::{done, refused};

const MACHINE: &str = "format = 1\nname = \"a pair\"\n[[site]]\nname = \"a\"\nnodes = 2\ncores = 1\nspeed-deviation = 0.2\n\
                       [level.cluster]\nlatency = \"1ms\"\n";

/// A folder with a machine, and a trace of two ranks of which each computes for 2 ms and then sends, or receives.
fn folder() -> (TempDir, [String; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    std::fs::create_dir(&trace).unwrap();
    for (rank, operation) in [(0, Operation::SEND), (1, Operation::RECV)] {
        write_rank(&trace.join(format!("here.{rank}.ftrace")), rank, operation);
    }
    let machine = folder.path().join("machine.toml");
    std::fs::write(&machine, MACHINE).unwrap();
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let names = [text(trace), text(machine), text(folder.path().join("out.jsonl"))];
    (folder, names)
}

/// What one rank recorded: work, and a call with the other.
fn write_rank(path: &Path, rank: u32, operation: Operation) {
    let (host, program, library) = ("here".to_owned(), "ping".to_owned(), "none".to_owned());
    let head = Head { version: VERSION, rank, n_ranks: 2, host, pid: 1, program, library };
    let mut writer = Writer::new(std::fs::File::create(path).unwrap(), &head).unwrap();
    let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
    let note = RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None };
    writer.note(&note.into()).unwrap();
    let event = |start, operation, peer| {
        let subject = Subject::Call { communicator: 0, peer, tag: Some(3) };
        Event { start, end: start + 10, bytes: 100, operation, is_failed: false, subject }
    };
    let calls = [event(0, Operation::INIT, Peer::None), event(2_000_010, operation, Peer::Rank(1 - rank))];
    writer.events(0, 0, &calls).unwrap();
    writer.finish().unwrap();
}

fn records(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_replay_says_what_it_assumes_and_is_the_same_each_time() {
    let (folder, [trace, machine, out]) = folder();
    let shown = done(&["replay", &trace, "--machine", &machine, "--out", &out]);
    assert!(shown.starts_with("- machine: a pair, 2 cores"), "{shown}");
    assert!(shown.contains("2 ranks take 3.00 ms; 1 messages, 100 bytes"), "{shown}");
    assert_eq!(done(&["show", &out]), shown);
    assert!(done(&["show", &out, "--csv", "sim.rank"]).starts_with("computing_ns,"));
    let again = folder.path().join("again.jsonl");
    let again = again.to_str().unwrap();
    done(&["replay", &trace, "--machine", &machine, "--out", again, "--protocol", "nmp+cep", "--workers", "2"]);
    assert!(done(&["compare", &out, again]).ends_with("all ranks' times are identical\n"));
    let measured = done(&["compare", &out, "--measured", "2ms", "--measured", "4ms"]);
    assert!(measured.contains("error +0.00 %") && measured.contains("within the real runs"), "{measured}");
    assert!(refused(1, &["replay", &trace, "--machine", &machine, "--out", &out]).contains("cannot write"));
}

#[test]
fn draws_repeat_with_their_seed() {
    let (_folder, [trace, machine, out]) = folder();
    let drawn = |seed: &str| done(&["replay", &trace, "--machine", &machine, "--draws", "20", "--seed", seed]);
    assert_eq!(drawn("7"), drawn("7"));
    assert_ne!(drawn("7"), drawn("8"));
    done(&["replay", &trace, "--machine", &machine, "--draws", "20", "--out", &out]);
    assert_eq!(records(&out).iter().filter(|line| line.contains("\"sim.draw\"")).count(), 20);
}

#[test]
fn the_simulated_calls_are_a_trace_that_can_be_replayed() {
    let (folder, [trace, machine, _]) = folder();
    let simulated = folder.path().join("simulated.ftrace");
    let simulated = simulated.to_str().unwrap();
    let first = done(&["replay", &trace, "--machine", &machine, "--trace-out", simulated]);
    let second = done(&["replay", simulated, "--machine", &machine]);
    let time = |shown: &str| shown.lines().find(|line| line.contains("ranks take")).unwrap().to_owned();
    assert_eq!(time(&first), time(&second));
}

#[test]
fn a_sweep_goes_on_where_it_was_ended() {
    let (folder, [trace, machine, out]) = folder();
    let words = |more: &'static str| {
        let swept = ["sweep", &trace, "--machine", &machine, "--latency", "1,10", "--mapping", "block,cyclic"];
        let rules = ["--collectives", "mpich,open-mpi"];
        let words = swept.into_iter().chain(rules).chain(["--out", &out]).chain(more.split_whitespace());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let sweep = |more| done(&words(more).iter().map(String::as_str).collect::<Vec<_>>());
    let shown = sweep("");
    assert!(shown.contains("12.0 ms") && shown.contains("cyclic") && shown.contains("open-mpi"), "{shown}");
    let whole = std::fs::read_to_string(&out).unwrap();
    let kept: Vec<&str> = whole.split_inclusive('\n').take(3).collect();
    std::fs::write(&out, kept.concat() + "{\"kind\":\"sim.po").unwrap();
    assert_eq!(sweep("--resume").lines().last(), shown.lines().last());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), whole);
    let told = refused(2, &["sweep", &trace, "--machine", &machine, "--out", &out, "--resume"]);
    assert!(told.contains("give the same arguments"), "{told}");
    let drawn = done(&["plot", &out, "--into", folder.path().to_str().unwrap()]);
    assert!(drawn.ends_with("out-sweep.svg\n") && Path::new(drawn.trim_end()).exists(), "{drawn}");
}

#[test]
fn laws_of_a_trace_stand_for_its_compute_times() {
    let (folder, [trace, machine, _]) = folder();
    let laws = done(&["fit", &trace]);
    assert!(laws.contains("site = \"MPI_Recv, tag 3\"\ncoefficient_ns = "), "{laws}");
    let file = folder.path().join("laws.toml");
    // Three times what was recorded.
    let tripled = |line: &str| match line.strip_prefix("coefficient_ns = ") {
        Some(number) => format!("coefficient_ns = {:?}\n", 3.0 * number.parse::<f64>().unwrap()),
        None => format!("{line}\n"),
    };
    std::fs::write(&file, laws.lines().map(tripled).collect::<String>()).unwrap();
    let shown = done(&["replay", &trace, "--machine", &machine, "--laws", file.to_str().unwrap()]);
    assert!(shown.contains("by the laws in") && shown.contains("2 ranks take 7.00 ms"), "{shown}");
    let told = refused(2, &["replay", &trace, "--machine", &machine, "--laws", &machine]);
    assert!(told.contains("line 1, column 1"), "{told}");
}

#[test]
fn a_deadlock_is_told_with_who_waits_for_whom() {
    let (_folder, [trace, machine, out]) = folder();
    // Both receive.
    write_rank(&Path::new(&trace).join("here.0.ftrace"), 0, Operation::RECV);
    let told = refused(1, &["replay", &trace, "--machine", &machine, "--out", &out]);
    assert!(told.contains("every rank waits for another"), "{told}");
    let shown = done(&["show", &out]);
    assert!(
        shown.contains("rank 0 waits since 2.00 ms for") && shown.contains("rank 1: requests never completed"),
        "{shown}"
    );
}

#[test]
fn a_trace_that_does_not_fit_is_refused() {
    let (folder, [trace, machine, _]) = folder();
    let small = folder.path().join("small.toml");
    std::fs::write(&small, MACHINE.replace("nodes = 2", "nodes = 1")).unwrap();
    let told = refused(2, &["replay", &trace, "--machine", small.to_str().unwrap()]);
    assert!(told.contains("2 ranks are more than the machine's 1 cores"), "{told}");
    std::fs::remove_file(Path::new(&trace).join("here.0.ftrace")).unwrap();
    let told = refused(2, &["replay", &trace, "--machine", &machine]);
    assert!(told.contains("no trace of rank 0 of 2"), "{told}");
}
