//! Post-work-wait (section 3.2): post receive and send, work, wait for both; does MPI use the time of the work?
//!
//! The worker does this while its partner posts and waits at once, or works as well. All receives are posted before any
//! send, as in the polling method. After each cycle, or before it in every other one, the same work is done without
//! messages.

use std::time::Duration;

use mpi_run::{Presence, turn};

use super::availability::{Availability, Repetition};
use super::bench::Bench;
use super::lane::Lane;
use super::record::{PostWorkWait, Spread, Transfer};
use super::together::{gather_quietly, start_together, worst_of_pair};

const TAG: i32 = 1;
/// Cycles before those: buffers get known to the network, connections are made.
const N_WARMING: usize = 5;
/// Work that is long beside the transfer of an empty message.
const LONG_FOR_EMPTY: Duration = Duration::from_micros(50);
/// Turns that bring code and clock back into the caches before a dry run; a run with messages has just made calls.
const N_WARMING_TURNS: u64 = 200;

/// Both messages of a size, ready to be posted again and again.
pub(crate) struct Cycler<'a> {
    bench: &'a Bench<'a>,
    incoming: Lane<'a, u8>,
    outgoing: Lane<'a, u8>,
    is_mutual: bool,
    presence: Presence<'a>,
}

/// Times of one cycle, in nanoseconds.
struct Cycle {
    post_ns: f64,
    work_ns: f64,
    wait_ns: f64,
    dry_ns: f64,
}

impl<'a> Cycler<'a> {
    /// Builds a cycler for messages of `size_bytes`. The support works as well if this `is_mutual`.
    pub(crate) fn new(bench: &'a Bench<'a>, size_bytes: u64, is_mutual: bool) -> Self {
        let length = size_bytes as usize;
        let partner = bench.partner();
        Self {
            bench,
            incoming: Lane::receiving(bench.ranks, partner, TAG, 1, length, 0),
            outgoing: Lane::sending(bench.ranks, partner, TAG, 1, length, 1),
            is_mutual,
            presence: bench.presence(),
        }
    }

    /// Measures `n_cycles` with `interval` of work. Collective; a record on workers only.
    pub(crate) fn measure(&mut self, interval: Duration, n_cycles: u32) -> Option<PostWorkWait> {
        let n_turns = self.turns(interval);
        self.presence.take_away_ratio();
        let cycles: Vec<Cycle> = (0..n_cycles).map(|idx| self.cycle(n_turns, idx % 2 == 0)).collect();
        let away_ratio = worst_of_pair(self.bench, self.presence.take_away_ratio());
        self.bench.is_worker().then(|| self.record(interval, n_turns, &cycles, away_ratio))
    }

    /// Measures what is not hidden behind work, in as many cycles. Collective; a record on workers only.
    pub(crate) fn transfer(&mut self, n_cycles: u32) -> Option<Transfer> {
        self.make_known();
        let whole = self.cycles(Duration::ZERO, n_cycles);
        let mut empty = Cycler::new(self.bench, 0, self.is_mutual);
        empty.make_known();
        let empty = empty.cycles(LONG_FOR_EMPTY, n_cycles);
        let copy = self.copy(n_cycles);
        self.bench.is_worker().then(|| Transfer {
            pair: self.bench.pair,
            size_bytes: self.incoming.buffer(0).len() as u64,
            whole: self.spread(&whole, |cycle| cycle.post_ns + cycle.work_ns + cycle.wait_ns),
            empty_post: self.spread(&empty, |cycle| cycle.post_ns),
            empty_wait: self.spread(&empty, |cycle| cycle.wait_ns),
            copy,
        })
    }

    /// Lets the library and the network see both buffers.
    fn make_known(&mut self) {
        for _ in 0..N_WARMING {
            self.wet(0);
        }
    }

    /// Runs cycles under the same conditions as those that are measured: caches and cores are as cold as after a pause.
    fn cycles(&mut self, interval: Duration, n_cycles: u32) -> Vec<Cycle> {
        let n_turns = self.turns(interval);
        (0..n_cycles).map(|idx| self.cycle(n_turns, idx % 2 == 0)).collect()
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

    /// Runs a cycle with messages.
    fn wet(&mut self, n_turns: u64) -> Cycle {
        let bench = self.bench;
        start_together(bench.ranks);
        let receive_ns = bench.time(|| self.incoming.post(0));
        start_together(bench.ranks);
        let (incoming, outgoing) = (&mut self.incoming, &mut self.outgoing);
        self.presence.watch(|| {
            let start = bench.clock.elapsed_ns();
            outgoing.post(0);
            let posted = bench.clock.elapsed_ns();
            turn(n_turns);
            let worked = bench.clock.elapsed_ns();
            incoming.wait(0);
            outgoing.wait(0);
            let end = bench.clock.elapsed_ns();
            Cycle {
                post_ns: receive_ns + (posted - start) as f64,
                work_ns: (worked - posted) as f64,
                wait_ns: (end - worked) as f64,
                dry_ns: 0.0,
            }
        })
    }

    /// Times the work without messages: none is under way anywhere, and ranks that do not work sleep.
    fn dry(&mut self, n_turns: u64) -> f64 {
        gather_quietly(self.bench.ranks);
        start_together(self.bench.ranks);
        warm_up(self.bench);
        let bench = self.bench;
        let dry_ns = self.presence.watch(|| {
            bench.time(|| {
                turn(n_turns);
            })
        });
        gather_quietly(self.bench.ranks);
        dry_ns
    }

    fn record(&self, interval: Duration, n_turns: u64, cycles: &[Cycle], away_ratio: f64) -> PostWorkWait {
        let repetitions: Vec<Repetition> = cycles
            .iter()
            .map(|cycle| Repetition { dry_ns: cycle.dry_ns, wet_ns: cycle.post_ns + cycle.work_ns + cycle.wait_ns })
            .collect();
        let availability = if n_turns == 0 {
            Availability::without_work()
        } else {
            self.bench.estimator().availability(&repetitions, away_ratio)
        };
        let size_bytes = self.incoming.buffer(0).len() as u64;
        let whole = self.spread(cycles, |cycle| cycle.post_ns + cycle.work_ns + cycle.wait_ns);
        PostWorkWait {
            pair: self.bench.pair,
            size_bytes,
            work_interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
            n_turns,
            n_cycles: cycles.len() as u64,
            away_ratio,
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

    /// Copying from the one buffer to the other, on all ranks.
    fn copy(&mut self, n_copies: u32) -> Spread {
        let copies: Vec<f64> = (0..n_copies)
            .map(|_| {
                gather_quietly(self.bench.ranks);
                start_together(self.bench.ranks);
                warm_up(self.bench);
                let (from, to) = (self.outgoing.buffer(0), self.incoming.buffer_mut(0));
                self.bench.time(|| std::hint::black_box(&mut *to).copy_from_slice(std::hint::black_box(from)))
            })
            .collect();
        self.bench.spread(&copies)
    }
}

fn warm_up(bench: &Bench) {
    turn(N_WARMING_TURNS);
    std::hint::black_box(bench.clock.elapsed_ns());
}
