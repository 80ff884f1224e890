//! Recorded calls on other machines.

use mpi_sim::machine::{Description, Machine};
use mpi_sim::replay::{Replayed, Script, ScriptError, replay};
use mpi_sim::{Reason, Settings};
use mpi_trace::file::{Clock, Head, RingNote, VERSION};
use mpi_trace::{Event, Operation, Peer, Recording, RingKind, Subject};
use units::{Rank, SimTime};

/// Start, end, operation, peer, bytes; a part where it has the times of the call before.
type Line = (u64, u64, Operation, Peer, u64);

fn recording(rank: Rank, n_ranks: u32, n_lost: u64, calls: &[Line]) -> Recording {
    let (host, program, library) = (String::new(), String::new(), String::new());
    let mut recording = Recording::new(Head { version: VERSION, rank, n_ranks, host, pid: 1, program, library });
    let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
    recording.note(RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None }.into());
    let event = |(idx, &(start, end, operation, peer, bytes)): (usize, &Line)| {
        let is_part = idx > 0 && (calls[idx - 1].0, calls[idx - 1].1) == (start, end);
        let (communicator, tag) = (0, Some(0));
        let subject =
            if is_part { Subject::Part { communicator, peer, tag } } else { Subject::Call { communicator, peer, tag } };
        Event { start, end, bytes, operation, is_failed: false, subject }
    };
    recording.events(0, n_lost, calls.iter().enumerate().map(event).collect()).unwrap();
    recording
}

fn to(rank: Rank) -> Peer {
    Peer::Rank(rank)
}

/// Ranks 1 ms apart, a byte each microsecond.
fn machine(n_ranks: u32) -> Machine {
    let text = format!(
        "format = 1\n[[site]]\nname = 'a'\nnodes = {n_ranks}\ncores = 1\nspeed = 2.0\n\
         [level.cluster]\nlatency = '1ms'\nbandwidth = '8Mbit/s'\n"
    );
    Machine::new(&Description::read(&text).unwrap(), n_ranks).unwrap()
}

fn played(recordings: &[Recording], protocol: &str) -> Replayed {
    let script = Script::of(recordings).unwrap();
    let settings = Settings {
        protocol: protocol.parse().unwrap(),
        n_workers: std::num::NonZero::new(2).unwrap(),
        has_unique_tags: false,
    };
    replay(&script, machine(script.n_ranks()), settings).unwrap()
}

fn clocks_us(replayed: &Replayed) -> Vec<u64> {
    let world = replayed.world.hold();
    (0..world.machine().n_ranks()).map(|rank| world.clock(rank).as_nanos() / 1_000).collect()
}

const MS: u64 = 1_000_000;

#[test]
fn computation_scales_and_messages_cost_what_the_machine_says() {
    // 4 ms of work are 2 ms there; whatever the calls took is left out.
    let first = [(0, 0, Operation::INIT, Peer::None, 0), (4 * MS, 90 * MS, Operation::SEND, to(1), 500)];
    let second = [(0, 7 * MS, Operation::INIT, Peer::None, 0), (8 * MS, 99 * MS, Operation::RECV, to(0), 500)];
    let replayed = played(&[recording(0, 2, 0, &first), recording(1, 2, 0, &second)], "sequential");
    assert_eq!((replayed.stopped.clone(), clocks_us(&replayed)), (None, vec![2_000, 3_500]));
    let receive = replayed.calls[1][1];
    assert_eq!((receive.start, receive.end), (SimTime::from_nanos(MS / 2), SimTime::from_nanos(3_500_000)));
    assert_eq!(receive.placed().start, MS / 2);
}

#[test]
fn requests_parts_and_collectives_are_played_the_same_by_every_protocol() {
    let calls = |me: Rank| {
        let (left, right) = (to((me + 2) % 3), to((me + 1) % 3));
        vec![
            (0, 1, Operation::IRECV, left, 100),
            (2, 3, Operation::ISEND, right, 100),
            (4 + u64::from(me) * MS, 5 * MS, Operation::WAIT, Peer::None, 0),
            (6 * MS, 6 * MS + 1, Operation::TEST, Peer::None, 0),
            (7 * MS, 7 * MS + 1, Operation::TEST, Peer::None, 0),
            (8 * MS, 9 * MS, Operation::SENDRECV, right, 10),
            (8 * MS, 9 * MS, Operation::RECV, left, 10),
            (10 * MS, 11 * MS, Operation::ALLREDUCE, Peer::None, 8),
            (12 * MS, 13 * MS, Operation::SEND, Peer::Null, 8),
            (14 * MS, 15 * MS, Operation::BCAST, to(2), 8),
        ]
    };
    let recordings: Vec<Recording> = (0..3).map(|rank| recording(rank, 3, 0, &calls(rank))).collect();
    let plain = played(&recordings, "sequential");
    assert_eq!(plain.stopped, None);
    assert!(clocks_us(&plain).iter().all(|us| *us > 5_000), "{:?}", clocks_us(&plain));
    for protocol in ["nmp", "cep", "nmp+cep+det"] {
        let other = played(&recordings, protocol);
        assert_eq!(other.calls, plain.calls, "{protocol}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_told_of() {
    let waits = |other: Rank| [(0, 1, Operation::RECV, to(other), 1)];
    let replayed = played(&[recording(0, 2, 0, &waits(1)), recording(1, 2, 0, &waits(0))], "sequential");
    assert_eq!(replayed.stopped.map(|stopped| stopped.reason), Some(Reason::Deadlock));
}

#[test]
fn a_receive_that_was_called_off_keeps_nobody_waiting() {
    // The third line has the times of the second, so that it is a part. The program computes for 10 ms before.
    let receiver = [
        (0, 100, Operation::WAIT, Peer::None, 0),
        (10_000_100, 10_000_101, Operation::IRECV, to(1), 8),
        (10_000_100, 10_000_101, Operation::CANCEL, to(1), 8),
        (10_000_102, 10_000_103, Operation::CANCEL, Peer::None, 0),
        (10_000_104, 10_000_105, Operation::WAIT, Peer::None, 0),
        (10_000_106, 10_000_107, Operation::RECV, to(1), 8),
    ];
    let sender = [(0, 1, Operation::SEND, to(0), 8)];
    let replayed = played(&[recording(0, 2, 0, &receiver), recording(1, 2, 0, &sender)], "sequential");
    assert!(replayed.stopped.is_none(), "{:?}", replayed.stopped);
    assert!((5_000..5_100).contains(&clocks_us(&replayed)[0]), "{:?}", clocks_us(&replayed));
}

#[test]
fn a_trace_with_gaps_is_refused() {
    let calls = [(0, 1, Operation::BARRIER, Peer::None, 0)];
    let missing = Script::of(&[recording(1, 2, 0, &calls)]).unwrap_err();
    assert_eq!(missing, ScriptError::Missing { rank: 0, n_ranks: 2 });
    let lost = Script::of(&[recording(0, 1, 7, &calls)]).unwrap_err();
    assert_eq!(lost, ScriptError::Lost { rank: 0, n_lost: 7 });
    assert_eq!(Script::of(&[recording(0, 1, 0, &[])]).unwrap_err(), ScriptError::Empty);
}
