//! A job of an MPI program as it looks from outside: its rings and its tree, without MPI.

use mpi_job::{Folder, Process, RingFile};
use mpi_trace::{Event, Operation, Peer, Reading, RingHeader, RingKind, Subject};
use mpi_tree::Forest;

/// A node for three ranks of one host.
pub const TREE: &str = r#"
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
/// Records in a ring.
pub const CAPACITY: u64 = 1 << 10;

/// A ring of this process, as a rank of three.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn ring(folder: &Folder, kind: RingKind, rank: u32) -> RingFile {
    let this = Process::this();
    let header = RingHeader {
        kind,
        rank,
        n_ranks: 3,
        pid: this.pid,
        pid_started: this.started,
        thread: 0,
        is_counter: false,
        reading: Reading { ticks: clock::monotonic_ns(), monotonic_ns: clock::monotonic_ns() },
        tree: if kind == RingKind::Stages { Forest::parse(TREE).unwrap().id_of(0) } else { 0 },
        host: "a".into(),
    };
    folder.create_ring(CAPACITY, &header).unwrap()
}

fn event(start: u64, end: u64, operation: Operation, subject: Subject) -> Event {
    Event { start, end, bytes: 8, operation, is_failed: false, subject }
}

/// Three ranks, whose last is late to each allreduce.
#[derive(Debug)]
pub struct Program {
    calls: Vec<RingFile>,
    stages: Vec<RingFile>,
}

impl Program {
    /// # Panics
    /// If its rings cannot be made.
    #[must_use]
    pub fn start(folder: &Folder) -> Self {
        folder.set_tree(TREE).unwrap();
        let rings = |kind| (0..3).map(|rank| ring(folder, kind, rank)).collect();
        Self { calls: rings(RingKind::Calls), stages: rings(RingKind::Stages) }
    }

    /// Makes calls with these numbers. The last rank is late by a millisecond.
    pub fn run(&self, calls: std::ops::Range<u32>) {
        self.run_late(calls, 1_000_000);
    }

    /// Makes calls with these numbers, late by some other time.
    pub fn run_late(&self, calls: std::ops::Range<u32>, late_ns: u64) {
        self.call(Operation::ALLREDUCE, calls, late_ns);
    }

    /// Makes calls of another operation likewise.
    pub fn call(&self, operation: Operation, calls: std::ops::Range<u32>, late_ns: u64) {
        let mut writers: Vec<_> = self.calls.iter().chain(&self.stages).map(|ring| ring.ring().writer()).collect();
        for sequence in calls {
            let start = 4_000_000 * u64::from(sequence);
            let stage = |collector| Subject::Stage { collector, sequence };
            for rank in 0..3_usize {
                let begin = start + if rank == 2 { late_ns } else { 0 };
                let end = start + late_ns + 1_000_000 + 1_000 * rank as u64;
                let world = Subject::Call { communicator: 0, peer: Peer::None, tag: None };
                writers[rank].write(event(begin, end, operation, world).to_records());
                writers[3 + rank].write(event(begin, end, operation, stage(rank as u16)).to_records());
            }
            let stored = start + late_ns + 500_000;
            writers[3].write(event(stored, stored + 100, operation, stage(3)).to_records());
        }
    }
}
