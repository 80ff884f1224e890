//! Double buffering (section 2.1): a stream of random numbers from a producer to a consumer that sums them.
//!
//! As in figure 1: the consumer has receives posted and says that a buffer is clear to send; the producer fills one
//! buffer while another is on its way. With a single buffer on each side the same program can neither produce nor sum
//! while that buffer flies. Both are compared with producing and with summing alone.

use mpi::point_to_point::{Destination, Source};
use mpi::topology::Communicator;
use mpi_run::Presence;
use program::Failure;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statistics::{Interval, bootstrap, median};

use super::bench::Bench;
use super::lane::Lane;
use super::plan::BufferingPlan;
use super::record::Buffering;
use super::together::{gather_quietly, start_together, worst_of_pair};

const NUMBERS_TAG: i32 = 4;
const CLEAR_TAG: i32 = 5;
const SPANS_TAG: i32 = 6;

/// Times of one side, repetition by repetition, in nanoseconds.
#[derive(Default)]
struct Spans {
    /// Producing or summing, without messages.
    alone: Vec<f64>,
    single: Vec<f64>,
    double: Vec<f64>,
    /// Sum of the numbers of each stream; two streams to a repetition.
    totals: Vec<f64>,
}

/// Measures all repetitions, in all pairs at once. Collective; a record on workers, which produce.
///
/// # Errors
/// When the consumer's sum is not the producer's: messages did not carry what was sent. On the worker of that pair.
pub(crate) fn measure(bench: &Bench, plan: &BufferingPlan) -> Result<Option<Buffering>, Failure> {
    let mut spans = Spans::default();
    let mut presence = bench.presence();
    for idx in 0..plan.n_repetitions {
        spans.alone.push(alone(bench, plan));
        let order = if idx % 2 == 0 { [1, 2] } else { [2, 1] };
        for n_buffers in order {
            let (span_ns, total) = stream(bench, plan, n_buffers, &mut presence);
            if n_buffers == 1 { &mut spans.single } else { &mut spans.double }.push(span_ns);
            spans.totals.push(total);
        }
    }
    let away_ratio = worst_of_pair(bench, presence.take_away_ratio());
    let partner = bench.ranks.process_at_rank(bench.partner() as i32);
    if !bench.is_worker() {
        for list in [&spans.alone, &spans.single, &spans.double, &spans.totals] {
            partner.send_with_tag(&list[..], SPANS_TAG);
        }
        return Ok(None);
    }
    let [alone, single, double, totals] = [(); 4].map(|()| partner.receive_vec_with_tag::<f64>(SPANS_TAG).0);
    let expected = total(bench, plan);
    if let Some(wrong) = totals.iter().find(|total| total.to_bits() != expected.to_bits()) {
        return Err(Failure::work(format!(
            "double buffering from rank {} to rank {}: the consumer's sum is {wrong}, the producer's is {expected}",
            bench.pair.worker, bench.pair.support
        )));
    }
    let consumer = Spans { alone, single, double, totals };
    Ok(Some(record(bench, plan, &spans.alone, &consumer, expected, away_ratio)))
}

/// Producing on the producer and summing on the consumer, each by itself.
fn alone(bench: &Bench, plan: &BufferingPlan) -> f64 {
    let mut buffer = vec![0.5; n_values(plan)];
    let mut chance = chance(bench);
    let mut work = |n_batches: u32| {
        for _ in 0..n_batches {
            if bench.is_worker() {
                fill(&mut buffer, &mut chance);
            } else {
                std::hint::black_box(sum(std::hint::black_box(&buffer)));
            }
        }
    };
    // One that is not counted, as the buffers of a stream are not touched for the first time either.
    work(1);
    gather_quietly(bench.ranks);
    start_together(bench.ranks);
    let span_ns = bench.time(|| work(plan.n_batches));
    gather_quietly(bench.ranks);
    span_ns
}

/// One stream: how long it took on this side, and on the consumer what it added up to.
fn stream(bench: &Bench, plan: &BufferingPlan, n_buffers: u32, presence: &mut Presence) -> (f64, f64) {
    let (ranks, partner, length) = (bench.ranks, bench.partner(), n_values(plan));
    let mut total = 0.0;
    let span_ns = if bench.is_worker() {
        let numbers = Lane::sending(ranks, partner, NUMBERS_TAG, n_buffers, length, 0.0);
        let mut clear = Lane::receiving(ranks, partner, CLEAR_TAG, n_buffers, 0, 0);
        clear.post_all();
        start_together(ranks);
        bench.time(|| presence.watch(|| produce(plan.n_batches, numbers, clear, chance(bench))))
    } else {
        let mut numbers = Lane::receiving(ranks, partner, NUMBERS_TAG, n_buffers, length, 0.0);
        let clear = Lane::sending(ranks, partner, CLEAR_TAG, n_buffers, 0, 0);
        numbers.post_all();
        start_together(ranks);
        bench.time(|| total = presence.watch(|| consume(plan.n_batches, numbers, clear)))
    };
    (span_ns, total)
}

fn produce(n_batches: u32, mut numbers: Lane<f64>, mut clear: Lane<u8>, mut chance: ChaCha8Rng) {
    let n_batches = n_batches as usize;
    let n_buffers = numbers.n_buffers();
    for batch in 0..n_batches {
        let idx = batch % n_buffers;
        numbers.wait(idx);
        fill(numbers.buffer_mut(idx), &mut chance);
        clear.wait(idx);
        if batch + n_buffers < n_batches {
            clear.post(idx);
        }
        numbers.post(idx);
    }
    numbers.wait_all();
}

fn consume(n_batches: u32, mut numbers: Lane<f64>, mut clear: Lane<u8>) -> f64 {
    let n_batches = n_batches as usize;
    let n_buffers = numbers.n_buffers();
    let mut total = 0.0;
    clear.post_all();
    for batch in 0..n_batches {
        let idx = batch % n_buffers;
        numbers.wait(idx);
        total += sum(numbers.buffer(idx));
        if batch + n_buffers < n_batches {
            numbers.post(idx);
            clear.wait(idx);
            clear.post(idx);
        }
    }
    clear.wait_all();
    total
}

/// Computes the sum of the numbers of a stream that no message carries.
fn total(bench: &Bench, plan: &BufferingPlan) -> f64 {
    let (mut buffer, mut chance) = (vec![0.0; n_values(plan)], chance(bench));
    let batch = |_| {
        fill(&mut buffer, &mut chance);
        sum(&buffer)
    };
    (0..plan.n_batches).map(batch).fold(0.0, |total, sum| total + sum)
}

fn n_values(plan: &BufferingPlan) -> usize {
    (plan.size.bytes() / 8) as usize
}

/// The same numbers in each stream.
fn chance(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed)
}

fn fill(buffer: &mut [f64], chance: &mut ChaCha8Rng) {
    buffer.fill_with(|| chance.random());
}

fn sum(buffer: &[f64]) -> f64 {
    buffer.iter().sum()
}

fn record(
    bench: &Bench,
    plan: &BufferingPlan,
    produce: &[f64],
    consumer: &Spans,
    total: f64,
    away_ratio: f64,
) -> Buffering {
    let speedups: Vec<f64> =
        consumer.single.iter().zip(&consumer.double).map(|(single, double)| single / double).collect();
    let longer = produce.iter().zip(&consumer.alone).map(|(produce, sum)| produce.max(*sum));
    let bounds: Vec<f64> = longer.zip(&consumer.double).map(|(longer, double)| longer / double).collect();
    let (speedup, speedup_interval) = middle(bench, &speedups);
    let (bound_ratio, bound_interval) = middle(bench, &bounds);
    Buffering {
        pair: bench.pair,
        buffer_bytes: plan.size.bytes(),
        n_values: u64::from(plan.n_batches) * n_values(plan) as u64,
        n_repetitions: produce.len() as u64,
        away_ratio,
        produce: bench.spread(produce),
        sum: bench.spread(&consumer.alone),
        single: bench.spread(&consumer.single),
        double: bench.spread(&consumer.double),
        speedup,
        speedup_interval,
        bound_ratio,
        bound_interval,
        total,
    }
}

fn middle(bench: &Bench, ratios: &[f64]) -> (f64, Interval) {
    let interval = bootstrap(ratios, median, bench.confidence, bench.seed);
    median(ratios).zip(interval).expect("a plan repeats everything at least five times")
}
