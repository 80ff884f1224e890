//! Phase one: what messages and exchanges cost at this moment, measured on an application's own ranks.
//!
//! Exchanges are run as they will be in phase two: one after the other, with a barrier before each where cycles have
//! one, between the same buffers. The compute phases alone are missing.

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi_run::{broadcast, n_ranks_of, rank_of};
use mpi_trace::Mode;
use netmodel::Cost;
use program::Failure;
use serde::{Deserialize, Serialize};
use statistics::digest::{Digest, Summary};
use statistics::median;
use units::Confidence;

use crate::anomaly::robust_deviation_ns;
use crate::application::Application;
use crate::exchange::Exchange;
use crate::plan::Effort;
use crate::prediction::{Benchmark, ExchangeCost};
use crate::record::{Model, PING_PONG, Point};
use crate::sizes::SIZE_BYTES_LIMIT;

/// Time budget of a size of ping-pong, in nanoseconds, unless the least number of messages takes longer.
const PING_PONG_BUDGET_NS: f64 = 8e6;
/// Time budget of a size of the exchange, in nanoseconds, unless the least number of exchanges takes longer.
const EXCHANGE_BUDGET_NS: f64 = 2e8;
/// Exchanges that nobody times: the first ones meet queues and caches that are not as they will be.
const N_WARM_UP: u64 = 3;
/// Sizes at which the exchange is measured when an application's sizes differ.
const N_EXCHANGE_SIZES: usize = 10;

/// A cost model is made of so many sizes at least, and buffers are of so many bytes at least for there to be as many.
const N_MODEL_SIZES: usize = 4;
/// See [`N_MODEL_SIZES`].
pub(crate) const SIZE_MAX_LEAST: u64 = 8;

/// Results of phase one, the same on all ranks of the application.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PhaseOne {
    /// The costs from which predictions are made.
    pub benchmark: Benchmark,
    /// All that was measured.
    pub points: Vec<Point>,
    /// The models of it.
    pub models: Vec<Model>,
}

/// This rank's own measurements of the exchange in phase one.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnExchange {
    /// Its exchanges, where the application's size is always the same.
    pub spans: Option<Summary>,
    /// Median and deviation of each step, likewise.
    pub steps: Vec<(f64, f64)>,
}

/// The application to be measured, its exchange, and the effort.
pub(crate) struct Subject<'a, 'b> {
    /// The application.
    pub application: &'b Application,
    /// The sizes that it cycles through.
    pub sizes: &'b [u64],
    /// Seed of permutations and intervals.
    pub seed: u64,
    /// Its exchange, with buffers for the largest of these sizes.
    pub exchange: &'b mut Exchange<'a>,
    /// Effort of the measurement.
    pub effort: Effort,
}

/// Measures an application's exchange, and ping-pong between its first two ranks. Collective over its ranks.
///
/// # Errors
/// When times are none that a cost model can be made of. To be agreed upon, since ranks that see no times see no error.
pub(crate) fn measure(subject: Subject<'_, '_>, clock: &Stopwatch) -> Result<(PhaseOne, OwnExchange), Failure> {
    let Subject { application, sizes, seed, exchange, effort } = subject;
    let ranks = exchange.ranks();
    let max = sizes.iter().copied().max().unwrap_or(0);
    let ping_pong = ping_pong_points(application, ranks, max, effort, clock);
    let (exchanges, own) = exchange_points(application, sizes, exchange, effort, clock);
    // Only the first two ranks know of ping-pong, so the first speaks for all.
    let found = || PhaseOne::of(application, n_ranks_of(ranks), seed, ping_pong, exchanges);
    let found: Result<PhaseOne, Failure> = broadcast(ranks, (rank_of(ranks) == 0).then(found).as_ref());
    found.map(|found| (found, own))
}

/// An application's exchange at some sizes.
struct Exchanges {
    points: Vec<Point>,
    /// Time that barriers add to the exchange at each size, in nanoseconds.
    barriers_ns: Vec<f64>,
}

fn ping_pong_points(
    application: &Application,
    ranks: &SimpleCommunicator,
    max: u64,
    effort: Effort,
    clock: &Stopwatch,
) -> Vec<Point> {
    let mut buffer = vec![0x5A_u8; max.max(SMALLEST_SWEEP) as usize];
    let mut point = |size_bytes: u64| {
        let Timed { span, span_ns, .. } = ping_pong(ranks, &mut buffer[..size_bytes as usize], effort, clock);
        let (application, what) = (application.name.clone(), PING_PONG.to_owned());
        Point { cell: None, application, what, mode: Some(Mode::Blocking), n_ranks: 2, size_bytes, span, span_ns }
    };
    ping_pong_sizes(max, effort).into_iter().map(&mut point).collect()
}

fn exchange_points(
    application: &Application,
    sizes: &[u64],
    exchange: &mut Exchange<'_>,
    effort: Effort,
    clock: &Stopwatch,
) -> (Exchanges, OwnExchange) {
    let n_ranks = n_ranks_of(exchange.ranks());
    let mode = (!application.pattern.is_collective()).then_some(application.mode);
    let mut found = Exchanges { points: Vec::new(), barriers_ns: Vec::new() };
    let mut own = OwnExchange::default();
    let sizes = exchange_sizes(sizes);
    for &size_bytes in &sizes {
        let synchronized = application.synchronize_every > 0;
        let (timed, mine) = time_exchange(exchange, size_bytes as usize, synchronized, effort, clock);
        let (application, what) = (application.name.clone(), application.pattern.name().to_owned());
        let Timed { span, span_ns, barrier_ns } = timed;
        found.barriers_ns.push(barrier_ns);
        found.points.push(Point { cell: None, application, what, mode, n_ranks, size_bytes, span, span_ns });
        own = mine;
    }
    // Of several sizes, what one took says nothing of another.
    if sizes.len() > 1 {
        own = OwnExchange::default();
    }
    (found, own)
}

impl PhaseOne {
    fn of(
        application: &Application,
        n_ranks: u32,
        seed: u64,
        ping_pong: Vec<Point>,
        exchanges: Exchanges,
    ) -> Result<Self, Failure> {
        let model = |what: &str, n_ranks, points: &[Point]| {
            let points: Vec<netmodel::Point> = points
                .iter()
                .map(|point| netmodel::Point { size_bytes: point.size_bytes, span_ns: point.span_ns })
                .collect();
            let model = Cost::fit(&points, Confidence::P95, seed).map_err(Failure::work)?;
            Ok(Model { cell: None, application: application.name.clone(), what: what.to_owned(), n_ranks, model })
        };
        let mut models = vec![model(PING_PONG, 2, &ping_pong)?];
        let exchange = match &exchanges.points[..] {
            [point] => ExchangeCost::Measured { span_ns: point.span_ns },
            several => {
                models.push(model(application.pattern.name(), n_ranks, several)?);
                ExchangeCost::Fitted(models[1].model.clone())
            }
        };
        let benchmark = Benchmark {
            ping_pong: models[0].model.clone(),
            exchange,
            synchronization_ns: median(&exchanges.barriers_ns).unwrap_or(0.0),
            n_messages: application.pattern.n_messages(application.mode, n_ranks, seed),
        };
        Ok(Self { benchmark, points: [ping_pong, exchanges.points].concat(), models })
    }
}

/// The largest size of ping-pong at least, so that there are enough sizes for a model.
const SMALLEST_SWEEP: u64 = 256;

/// Powers of two up to the largest size of the application, that one, and none at all.
fn ping_pong_sizes(max: u64, effort: Effort) -> Vec<u64> {
    let max = max.max(SMALLEST_SWEEP);
    let powers = (0..)
        .step_by(effort.power_step)
        .map(|power| 1_u64 << power)
        .take_while(|&size| size < max && size < SIZE_BYTES_LIMIT);
    std::iter::once(0).chain(powers).chain([max]).collect()
}

/// The one size that there is, or some between the least and the largest, evenly apart by their ratio.
fn exchange_sizes(sizes: &[u64]) -> Vec<u64> {
    let (min, max) = (sizes.iter().copied().min().unwrap_or(0), sizes.iter().copied().max().unwrap_or(0));
    if min == max {
        return vec![max];
    }
    let (low, high) = ((min.max(1) as f64).ln(), (max as f64).ln());
    let at = |idx: usize| (low + (high - low) * idx as f64 / (N_EXCHANGE_SIZES - 1) as f64).exp().round() as u64;
    let mut spread: Vec<u64> =
        (0..N_EXCHANGE_SIZES).map(at).map(|size| size.clamp(min, max)).chain([min, max]).collect();
    spread.sort_unstable();
    spread.dedup();
    if spread.len() < N_MODEL_SIZES {
        spread.extend([0, max / 4, max / 2, SIZE_MAX_LEAST / 2, SIZE_MAX_LEAST]);
        spread.sort_unstable();
        spread.dedup();
    }
    spread
}

/// A span as benchmarked.
struct Timed {
    /// Spans of the single messages or exchanges.
    span: Summary,
    /// Median over batches.
    span_ns: f64,
    /// Time that a barrier before each message or exchange adds, in nanoseconds.
    barrier_ns: f64,
}

/// Half round trips between the first two ranks; others wait, and see nothing.
fn ping_pong(ranks: &SimpleCommunicator, buffer: &mut [u8], effort: Effort, clock: &Stopwatch) -> Timed {
    ranks.barrier();
    let mut spans_ns = Vec::new();
    if ranks.rank() < 2 {
        let other = ranks.process_at_rank(1 - ranks.rank());
        let mut trip = || {
            let start_ns = clock.elapsed_ns();
            if ranks.rank() == 0 {
                other.send(&buffer[..]);
                other.receive_into(&mut buffer[..]);
            } else {
                other.receive_into(&mut buffer[..]);
                other.send(&buffer[..]);
            }
            (clock.elapsed_ns() - start_ns) as f64 / 2.0
        };
        // Their mean, since on a machine with others on it the fastest says nothing of how long all will take.
        let warm_ns = (0..N_WARM_UP).map(|_| trip()).sum::<f64>() / N_WARM_UP as f64;
        let mut n_batch = effort.n_batch(warm_ns * 2.0, PING_PONG_BUDGET_NS);
        if ranks.rank() == 0 {
            other.send(&n_batch);
        } else {
            n_batch = other.receive().0;
        }
        spans_ns = (0..effort.n_batches * n_batch).map(|_| trip()).collect();
    }
    ranks.barrier();
    let n_batch = spans_ns.len() / effort.n_batches as usize;
    Timed { span: summary(&spans_ns), span_ns: median_of_batches(&spans_ns, n_batch), barrier_ns: 0.0 }
}

/// Exchanges of one size. All ranks get the same times, and what is their own beside them.
fn time_exchange(
    exchange: &mut Exchange<'_>,
    size: usize,
    synchronized: bool,
    effort: Effort,
    clock: &Stopwatch,
) -> (Timed, OwnExchange) {
    let ranks = exchange.ranks();
    let peers = exchange.peers();
    let mut ends_ns = vec![0; peers.len()];
    let mut steps: Vec<Digest> = peers.iter().map(|_| Digest::default()).collect();
    let mut run = |spans_ns: &mut Vec<f64>| {
        if synchronized {
            ranks.barrier();
        }
        let start_ns = clock.elapsed_ns();
        exchange.run(size, clock, &mut ends_ns);
        let mut before = start_ns;
        for (digest, &end) in steps.iter_mut().zip(&ends_ns) {
            digest.record(end - before);
            before = end;
        }
        spans_ns.push((before - start_ns) as f64);
    };
    let mut warm_up = Vec::new();
    (0..N_WARM_UP).for_each(|_| run(&mut warm_up));
    let warm_ns = warm_up.iter().sum::<f64>() / N_WARM_UP as f64;
    let n_batch: u64 = broadcast(ranks, (ranks.rank() == 0).then_some(&effort.n_batch(warm_ns, EXCHANGE_BUDGET_NS)));
    let mut spans_ns = Vec::with_capacity((effort.n_batches * n_batch) as usize);
    let mut loops_ns = Vec::with_capacity(effort.n_batches as usize);
    for _ in 0..effort.n_batches {
        ranks.barrier();
        let start_ns = clock.elapsed_ns();
        (0..n_batch).for_each(|_| run(&mut spans_ns));
        loops_ns.push((clock.elapsed_ns() - start_ns) as f64 / n_batch as f64);
    }
    let own = OwnExchange {
        spans: Some(summary(&spans_ns)),
        steps: steps
            .iter()
            .map(Digest::summary)
            .map(|summary| (summary.median_ns, robust_deviation_ns(&summary)))
            .collect(),
    };
    let (longest_ns, loops_ns) = (longest_of_ranks(ranks, &spans_ns), longest_of_ranks(ranks, &loops_ns));
    let loop_ns = median(&loops_ns).unwrap_or(0.0);
    // Without barriers ranks run ahead of each other, and only what a loop takes in the end tells what an exchange
    // does.
    let span_ns = if synchronized { median_of_batches(&longest_ns, n_batch as usize) } else { loop_ns };
    (Timed { span: summary(&longest_ns), span_ns, barrier_ns: (loop_ns - span_ns).max(0.0) }, own)
}

/// Element by element, the largest of all ranks' values.
fn longest_of_ranks(ranks: &SimpleCommunicator, mine: &[f64]) -> Vec<f64> {
    let mut longest = vec![0.0; mine.len()];
    ranks.all_reduce_into(mine, &mut longest[..], SystemOperation::max());
    longest
}

fn summary(spans_ns: &[f64]) -> Summary {
    let mut digest = Digest::default();
    spans_ns.iter().for_each(|&span| digest.record(span.round() as u64));
    digest.summary()
}

fn median_of_batches(spans_ns: &[f64], n_batch: usize) -> f64 {
    let means: Vec<f64> =
        spans_ns.chunks(n_batch.max(1)).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
    median(&means).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_always_enough_sizes_for_a_model() {
        let maxima = [0, 1, 7, 1_000, 1 << 20, SIZE_BYTES_LIMIT - 1];
        for (max, effort) in maxima.into_iter().flat_map(|max| [(max, Effort::FULL), (max, Effort::QUICK)]) {
            let sizes = ping_pong_sizes(max, effort);
            assert!(sizes.len() >= N_MODEL_SIZES && sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
            assert_eq!(sizes.last(), Some(&max.max(SMALLEST_SWEEP)));
        }
        for sizes in [[1, 2], [0, 5], [1_024, 65_536], [100, 101], [3, 9]] {
            let found = exchange_sizes(&sizes);
            assert!(found.is_sorted_by(|a, b| a < b) && found.len() >= N_MODEL_SIZES, "{found:?}");
            assert!(found.contains(&sizes[0]) && found.contains(&sizes[1]), "{found:?}");
        }
        assert_eq!(exchange_sizes(&[9, 9]), [9]);
    }

    #[test]
    fn one_disturbed_batch_does_not_move_the_span() {
        let mut spans = vec![10.0; 60];
        spans[7] = 1e6;
        assert_eq!(median_of_batches(&spans, 4), 10.0);
    }
}
