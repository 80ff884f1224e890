//! Phase two: cycles of computation and communication, metered.
//!
//! Cycles come in blocks. Within a block each look at the clock ends one part and begins the next, so that parts add up
//! to the run; what ACE itself does in a cycle falls into the compute phase, which is that much shorter in turns of
//! work. Between blocks, outside of the run, times are learned and forecast, and all ranks meet before they go on.

use std::ops::Range;

use clock::Stopwatch;
use mpi::collective::CommunicatorCollectives;
use mpi_run::{Presence, turn};
use statistics::median;
use units::Rank;

use crate::cycle_forecast::CycleForecast;
use crate::exchange::Exchange;
use crate::meter::{Looks, Meter};
use crate::record::Prediction;

/// Cycles in a block at most: a forecast further ahead is hardly better than the mean.
const N_BLOCK_CYCLES_MAX: u64 = 64;
/// Blocks that a run has at least, if it has as many cycles, so that there is something to learn from.
const N_BLOCKS_MIN: u64 = 16;
/// Cycles of one dry loop, and how many loops.
const N_DRY_CYCLES: u64 = 1_000;
const N_DRY_LOOPS: usize = 9;

/// Work that one rank is to do.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// Turns of work in each compute phase.
    pub n_turns: u64,
    /// Sizes of messages, gone through in turn; not empty.
    pub sizes: Vec<usize>,
    /// Cycles.
    pub n_cycles: u64,
    /// Waits for all ranks before the exchange of every so many cycles; 0 for never.
    pub synchronize_every: u32,
    /// Expected length of a cycle, its barrier included, as benchmarked.
    pub cycle_ns: f64,
    /// Expected length of its compute phase.
    pub compute_ns: f64,
}

/// Result of one rank's run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its cycles.
    pub meter: Meter,
    /// Total time of the blocks, in nanoseconds.
    pub run_ns: f64,
    /// Total time between the blocks, in nanoseconds.
    pub between_blocks_ns: f64,
    /// The share of the blocks in which this rank was off its core.
    pub away_ratio: f64,
    /// Predicted before the run.
    pub benchmarked_once: Prediction,
    /// Predicted block by block.
    pub forecast_as_we_go: Prediction,
}

/// Overhead of ACE in a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overhead {
    /// All of it.
    pub cycle_ns: f64,
    /// The part that falls into the compute phase.
    pub compute_ns: f64,
}

/// Runs the cycles. Collective over the ranks of the exchange. `tell` hears how many are done, between blocks.
pub(crate) fn emulate(
    exchange: &mut Exchange<'_>,
    clock: &Stopwatch,
    orders: &Orders,
    forecaster: &mut CycleForecast,
    tell: &mut dyn FnMut(u64),
) -> Run {
    let n_block = n_block_cycles(orders.n_cycles);
    let peers = exchange.peers();
    let mut meter = Meter::new(&peers, n_block as usize);
    let mut ends_ns = vec![0; peers.len()];
    let ranks = exchange.ranks();
    let (mut once, mut as_we_go) = (Score::default(), Score::default());
    let mut presence = Presence::new(clock);
    let mut run_ns = 0;
    let begun_ns = clock.elapsed_ns();
    let mut next = 0;
    while next < orders.n_cycles {
        let block = next..(next + n_block).min(orders.n_cycles);
        let n_cycles = block.end - block.start;
        let predicted_ns = n_cycles as f64 * orders.compute_ns + forecaster.total_ns(n_cycles as usize);
        ranks.barrier();
        let act = |cycle, step: Part<'_>| match step {
            Part::Synchronize => {
                is_synchronized(cycle, orders.synchronize_every) && {
                    ranks.barrier();
                    true
                }
            }
            Part::Exchange(ends_ns) => {
                exchange.run(orders.sizes[(cycle % orders.sizes.len() as u64) as usize], clock, ends_ns);
                true
            }
        };
        let block_ns =
            presence.watch(|| run_block(clock, &mut meter, block.clone(), run_ns, orders.n_turns, &mut ends_ns, act));
        run_ns += block_ns;
        once.add(n_cycles as f64 * orders.cycle_ns, block_ns as f64);
        as_we_go.add(predicted_ns, block_ns as f64);
        forecaster.learn(&meter.messaging_ns);
        meter.messaging_ns.clear();
        next = block.end;
        tell(next);
    }
    Run {
        meter,
        run_ns: run_ns as f64,
        between_blocks_ns: (clock.elapsed_ns() - begun_ns - run_ns) as f64,
        away_ratio: presence.take_away_ratio(),
        benchmarked_once: once.prediction(),
        forecast_as_we_go: as_we_go.prediction(),
    }
}

/// Runs cycles that neither compute nor send, to see what looks and records cost.
#[must_use]
pub(crate) fn overhead(clock: &Stopwatch, peers: &[Option<Rank>], is_synchronized: bool) -> Overhead {
    let mut ends_ns = vec![0; peers.len()];
    let mut meter = Meter::new(peers, N_DRY_CYCLES as usize);
    let loops: Vec<f64> = (0..N_DRY_LOOPS)
        .map(|_| {
            meter.messaging_ns.clear();
            let span_ns = run_block(clock, &mut meter, 0..N_DRY_CYCLES, 0, 0, &mut ends_ns, |_, step| match step {
                Part::Synchronize => is_synchronized,
                Part::Exchange(ends_ns) => {
                    ends_ns.iter_mut().for_each(|end| *end = clock.elapsed_ns());
                    true
                }
            });
            span_ns as f64 / N_DRY_CYCLES as f64
        })
        .collect();
    Overhead { cycle_ns: median(&loops).unwrap_or(0.0), compute_ns: meter.compute.digest.summary().median_ns }
}

/// Action that a cycle requests of its surroundings.
enum Part<'a> {
    /// Wait for all ranks, if it is time to; whether it was.
    Synchronize,
    /// Exchange messages, and note when each step was through.
    Exchange(&'a mut [u64]),
}

/// One block of cycles. The dry loop runs the very same code.
fn run_block(
    clock: &Stopwatch,
    meter: &mut Meter,
    cycles: Range<u64>,
    at_ns: u64,
    n_turns: u64,
    ends_ns: &mut [u64],
    mut act: impl FnMut(u64, Part<'_>) -> bool,
) -> u64 {
    let block_ns = clock.elapsed_ns();
    let mut start_ns = block_ns;
    for cycle in cycles {
        turn(n_turns);
        let computed_ns = clock.elapsed_ns();
        let ready_ns = if act(cycle, Part::Synchronize) { clock.elapsed_ns() } else { computed_ns };
        act(cycle, Part::Exchange(ends_ns));
        let end_ns = ends_ns[ends_ns.len() - 1];
        meter.record(Looks { cycle, at_ns: at_ns + start_ns - block_ns, start_ns, computed_ns, ready_ns, ends_ns });
        start_ns = end_ns;
    }
    start_ns - block_ns
}

fn is_synchronized(cycle: u64, every: u32) -> bool {
    every == 1 || (every > 1 && (cycle + 1).is_multiple_of(u64::from(every)))
}

fn n_block_cycles(n_cycles: u64) -> u64 {
    (n_cycles / N_BLOCKS_MIN).clamp(1, N_BLOCK_CYCLES_MAX)
}

/// Accuracy of a way to predict, over blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    predicted_ns: f64,
    actual_ns: f64,
    error_percents: f64,
    n_blocks: f64,
}

impl Score {
    fn add(&mut self, predicted_ns: f64, actual_ns: f64) {
        self.predicted_ns += predicted_ns;
        self.actual_ns += actual_ns;
        self.error_percents += error_percent(predicted_ns, actual_ns).abs();
        self.n_blocks += 1.0;
    }

    fn prediction(self) -> Prediction {
        Prediction {
            run_ns: self.predicted_ns,
            error_percent: error_percent(self.predicted_ns, self.actual_ns),
            block_error_percent: self.error_percents / self.n_blocks.max(1.0),
        }
    }
}

/// Actual less predicted, in percent of predicted.
#[must_use]
pub(crate) fn error_percent(predicted_ns: f64, actual_ns: f64) -> f64 {
    // Neither is ever 0, as cycles have exchanges, but a percentage of nothing would be none.
    100.0 * (actual_ns - predicted_ns) / predicted_ns.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_blocks_to_learn_from() {
        assert_eq!([1, 15, 16, 100, 1_000, 100_000].map(n_block_cycles), [1, 1, 1, 6, 62, 64]);
    }

    #[test]
    fn barriers_come_as_often_as_asked_for() {
        let synchronized = |every| (0..6).filter(|&cycle| is_synchronized(cycle, every)).count();
        assert_eq!([0, 1, 2, 3].map(synchronized), [0, 6, 3, 2]);
    }

    #[test]
    fn parts_of_a_dry_cycle_are_all_metered() {
        let clock = Stopwatch::start();
        let overhead = overhead(&clock, &[Some(1), Some(1)], true);
        assert!(overhead.compute_ns > 0.0 && overhead.compute_ns <= overhead.cycle_ns * 2.0, "{overhead:?}");
    }

    #[test]
    fn errors_are_signed_shares_of_the_predicted() {
        let mut score = Score::default();
        score.add(100.0, 150.0);
        score.add(100.0, 90.0);
        let prediction = score.prediction();
        assert_eq!((prediction.run_ns, prediction.error_percent, prediction.block_error_percent), (200.0, 20.0, 30.0));
    }
}
