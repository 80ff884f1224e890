//! Post-work-wait (section 3.2): post receive and send, work, wait for both; does MPI use the time of the work?
//!
//! The worker does this while its partner posts and waits at once, or works as well. All receives are posted before any send, as
//! in the polling method. After each cycle, or before it in every other one, the same work is done without messages.

use std::time::Duration;

use super::availability::{Availability, Repetition};
use super::bench::Bench;
use super::lane::Lane;
use super::record::{PostWorkWait, Spread, Transfer};
use super::together::{gather_quietly, start_together};

const TAG: i32 = 1;
/// Cycles without work, which say what a transfer takes.
const N_TRANSFERS: usize = 31;
/// Cycles before those: buffers get known to the network, connections are made.
const N_WARMING: usize = 5;
/// Work that is long beside the transfer of an empty message.
const LONG_FOR_EMPTY: Duration = Duration::from_micros(50);
/// Copies are repeated until so much was copied, since a single one is shorter than the clock tells.
const COPIED_BYTES: u64 = 64 << 10;

/// Both messages of a size, ready to be posted again and again.
pub struct Cycler<'a> {
    bench: &'a Bench<'a>,
    incoming: Lane<'a, u8>,
    outgoing: Lane<'a, u8>,
    is_mutual: bool,
}

/// What one cycle took, in nanoseconds.
struct Cycle {
    post_ns: f64,
    work_ns: f64,
    wait_ns: f64,
    dry_ns: f64,
}

impl<'a> Cycler<'a> {
    /// For messages of `size_bytes`. The support works as well if this `is_mutual`.
    pub fn new(bench: &'a Bench<'a>, size_bytes: u64, is_mutual: bool) -> Self {
        let length = size_bytes as usize;
        let partner = bench.partner();
        Self {
            bench,
            incoming: Lane::receiving(bench.ranks, partner, TAG, 1, length, 0),
            outgoing: Lane::sending(bench.ranks, partner, TAG, 1, length, 1),
            is_mutual,
        }
    }

    /// Measures `n_cycles` with `interval` of work. Collective; a record on workers only.
    pub fn measure(&mut self, interval: Duration, n_cycles: u32) -> Option<PostWorkWait> {
        let n_turns = self.turns(interval);
        let cycles: Vec<Cycle> = (0..n_cycles).map(|idx| self.cycle(n_turns, idx % 2 == 0)).collect();
        self.bench.is_worker().then(|| self.record(interval, n_turns, &cycles))
    }

    /// Measures what is not hidden behind work. Collective; a record on workers only.
    pub fn transfer(&mut self) -> Option<Transfer> {
        (0..N_WARMING).for_each(|_| drop(self.wet(0)));
        let whole = self.wet_cycles(Duration::ZERO);
        let mut empty = Cycler::new(self.bench, 0, self.is_mutual);
        (0..N_WARMING).for_each(|_| drop(empty.wet(0)));
        let empty = empty.wet_cycles(LONG_FOR_EMPTY);
        self.bench.is_worker().then(|| Transfer {
            pair: self.bench.pair,
            size_bytes: self.incoming.buffer(0).len() as u64,
            whole: self.spread(&whole, |cycle| cycle.post_ns + cycle.work_ns + cycle.wait_ns),
            empty_post: self.spread(&empty, |cycle| cycle.post_ns),
            empty_wait: self.spread(&empty, |cycle| cycle.wait_ns),
            copy: self.copy(),
        })
    }

    fn wet_cycles(&mut self, interval: Duration) -> Vec<Cycle> {
        let n_turns = self.turns(interval);
        (0..N_TRANSFERS).map(|_| self.wet(n_turns)).collect()
    }

    fn turns(&self, interval: Duration) -> u64 {
        if self.bench.is_worker() || self.is_mutual { self.bench.turns(interval) } else { 0 }
    }

    fn cycle(&mut self, n_turns: u64, is_wet_first: bool) -> Cycle {
        if is_wet_first {
            let cycle = self.wet(n_turns);
            Cycle { dry_ns: self.dry(n_turns), ..cycle }
        } else {
            let dry_ns = self.dry(n_turns);
            Cycle { dry_ns, ..self.wet(n_turns) }
        }
    }

    /// With messages.
    fn wet(&mut self, n_turns: u64) -> Cycle {
        let bench = self.bench;
        start_together(bench.ranks);
        let receive_ns = bench.time(|| self.incoming.post(0));
        start_together(bench.ranks);
        let start = bench.clock.now_ns();
        self.outgoing.post(0);
        let posted = bench.clock.now_ns();
        crate::work::turn(n_turns);
        let worked = bench.clock.now_ns();
        self.incoming.wait(0);
        self.outgoing.wait(0);
        let end = bench.clock.now_ns();
        Cycle {
            post_ns: receive_ns + (posted - start) as f64,
            work_ns: (worked - posted) as f64,
            wait_ns: (end - worked) as f64,
            dry_ns: 0.0,
        }
    }

    /// Without messages: none is under way anywhere, and who does not work sleeps.
    fn dry(&self, n_turns: u64) -> f64 {
        gather_quietly(self.bench.ranks);
        start_together(self.bench.ranks);
        let dry_ns = self.bench.time_turns(n_turns, 1);
        gather_quietly(self.bench.ranks);
        dry_ns
    }

    fn record(&self, interval: Duration, n_turns: u64, cycles: &[Cycle]) -> PostWorkWait {
        let repetitions: Vec<Repetition> = cycles
            .iter()
            .map(|cycle| Repetition { dry_ns: cycle.dry_ns, wet_ns: cycle.post_ns + cycle.work_ns + cycle.wait_ns })
            .collect();
        let availability =
            if n_turns == 0 { Availability::without_work() } else { self.bench.estimator().availability(&repetitions) };
        let size_bytes = self.incoming.buffer(0).len() as u64;
        let whole = self.spread(cycles, |cycle| cycle.post_ns + cycle.work_ns + cycle.wait_ns);
        PostWorkWait {
            pair: self.bench.pair,
            size_bytes,
            work_interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
            n_turns,
            n_cycles: cycles.len() as u64,
            post: self.spread(cycles, |cycle| cycle.post_ns),
            work: self.spread(cycles, |cycle| cycle.work_ns),
            wait: self.spread(cycles, |cycle| cycle.wait_ns),
            dry: self.spread(cycles, |cycle| cycle.dry_ns),
            inflation: self.spread(cycles, |cycle| cycle.work_ns - cycle.dry_ns),
            availability,
            received_bytes_per_sec: 1e9 * size_bytes as f64 / whole.median_ns.max(1.0),
        }
    }

    fn spread(&self, cycles: &[Cycle], phase: impl Fn(&Cycle) -> f64) -> Spread {
        self.bench.spread(&cycles.iter().map(phase).collect::<Vec<_>>())
    }

    /// Copying from the one buffer to the other and back.
    fn copy(&mut self) -> Spread {
        let n_copies = (COPIED_BYTES / (self.incoming.buffer(0).len() as u64).max(64)).max(1);
        let copies: Vec<f64> = (0..N_TRANSFERS)
            .map(|_| {
                let span_ns = self.bench.time(|| {
                    for _ in 0..n_copies {
                        self.incoming.buffer_mut(0).copy_from_slice(std::hint::black_box(self.outgoing.buffer(0)));
                        std::hint::black_box(self.incoming.buffer(0));
                    }
                });
                span_ns / n_copies as f64
            })
            .collect();
        self.bench.spread(&copies)
    }
}
