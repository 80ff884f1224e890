//! Calls a second of a replay: a ring of ranks that send to one neighbour and receive from the other.

use std::hint::black_box;
use std::num::NonZero;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use des::Protocol;
use mpi_sim::Settings;
use mpi_sim::machine::{Description, Machine};
use mpi_sim::replay::{Script, replay};
use mpi_trace::file::{Clock, Head, RingNote, VERSION};
use mpi_trace::{Event, Operation, Peer, Recording, RingKind, Subject};

/// Exchanges of each rank.
const N_STEPS: u64 = 400;

/// Returns the recording of a rank of such a ring: an `MPI_Isend`, an `MPI_Recv` and an `MPI_Wait` in each step.
fn recording(rank: u32, n_ranks: u32) -> Recording {
    let (host, program, library) = (String::new(), String::new(), String::new());
    let mut recording = Recording::new(Head { version: VERSION, rank, n_ranks, host, pid: 1, program, library });
    let (kind, clock) = (RingKind::Calls, Clock::Monotonic);
    recording.note(RingNote { ring: 0, kind, thread: 0, clock, ticks: 0, monotonic_ns: 0, tree: None }.into());
    let event = |start, operation, peer| {
        let subject = Subject::Call { communicator: 0, peer, tag: Some(0) };
        Event { start, end: start + 100, bytes: 1_024, operation, is_failed: false, subject }
    };
    let step = |at: u64| {
        let (next, before) = (Peer::Rank((rank + 1) % n_ranks), Peer::Rank((rank + n_ranks - 1) % n_ranks));
        [
            event(at * 1_000, Operation::ISEND, next),
            event(at * 1_000 + 200, Operation::RECV, before),
            event(at * 1_000 + 400, Operation::WAIT, Peer::None),
        ]
    };
    recording.events(0, 0, (0..N_STEPS).flat_map(step).collect()).expect("the ring is noted");
    recording
}

fn rings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    let text = include_str!("../../../examples/sim/dragonfly.toml");
    let mut described = Description::read(text).expect("an example is a machine");
    // Links are for accuracy; what a call costs without them is what other simulators are measured by.
    described.site[0].network = None;
    let settings = Settings { protocol: Protocol::Sequential, n_workers: NonZero::<u32>::MIN, has_unique_tags: false };
    for n_ranks in [16, 256] {
        let recordings: Vec<Recording> = (0..n_ranks).map(|rank| recording(rank, n_ranks)).collect();
        let script = Script::of(&recordings).expect("all ranks recorded");
        group.throughput(Throughput::Elements(script.n_calls() as u64));
        group.bench_function(format!("ring of {n_ranks}"), |bencher| {
            bencher.iter_batched(
                || Machine::new(&described, n_ranks).expect("it has room for them"),
                |machine| black_box(replay(&script, machine, settings)).expect("there is room for stacks").stopped,
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, rings);
criterion_main!(benches);
