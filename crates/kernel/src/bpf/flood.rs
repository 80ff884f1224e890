//! Known events of this process's own, traced as fast as they come: whether each is received or counted as dropped.

use std::thread;
use std::time::Duration;

use clock::Stopwatch;

use super::{Bpf, Tracer, drive};
use crate::control::PointState;
use crate::{Error, GroupLimits, Node, find};

/// Counts of the events of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Events, by the counters that a traced point keeps as well.
    pub counted: u64,
    /// Records made of them.
    pub made: u64,
    /// Records that were received.
    pub received: u64,
    /// Records that found no room.
    pub dropped: u64,
    /// Time from the first event to the last.
    pub elapsed: Duration,
}

/// Time in which a ring of this size does not fill.
const NAP: Duration = Duration::from_millis(1);
const RING_BYTES: u32 = 16 << 20;

/// Reads a short file so often, each read traced, and counts the records that come out of the ring.
///
/// # Errors
/// If the kernel does not take the programs.
///
/// # Panics
/// If the thread that reads does.
pub fn flood(n_reads: u64) -> Result<Flood, Error> {
    let shared = Bpf::open_with_ring(Node::Tree(std::process::id()), GroupLimits::default(), RING_BYTES)?;
    let mut tracer = Tracer::new(&shared)?;
    let subsystem = find("filesystem")?;
    let mut arm = shared.arm(subsystem)?;
    let states = |of_read| -> Vec<PointState> {
        let state = |name| if name == "Read" { of_read } else { PointState::Inactive };
        subsystem.points.iter().map(|point| state(point.name)).collect()
    };
    arm.set_states(&states(PointState::Trace))?;
    let watch = Stopwatch::start();
    let mut received = 0;
    thread::scope(|scope| {
        let reader = scope.spawn(move || drive::reads(n_reads));
        while !reader.is_finished() {
            if tracer.drain(|_| received += 1) == 0 {
                clock::sleep(NAP);
            }
        }
        reader.join().expect("a thread that reads does not panic");
    });
    let elapsed = watch.elapsed();
    arm.set_states(&states(PointState::Inactive))?;
    while tracer.drain(|_| received += 1) > 0 {}
    let reading = arm.read()?;
    let counted = reading.cells.values().filter_map(|cell| cell.count).sum();
    Ok(Flood { counted, made: reading.records_made, received, dropped: reading.records_dropped, elapsed })
}
