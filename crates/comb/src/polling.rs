//! The polling method (section 3.1): how much work gets done between polls that keep messages flying?
//!
//! Worker and support send each other as many messages as the queue is long; whoever finds one that arrived makes its
//! buffer ready for the next and sends a reply, so that as many are under way all the time. The worker looks after each
//! poll interval of work, the support all the time. Receives are posted before the sends that they are for: since each
//! message is replied to, all those that began on either side can be on their way to the same one, and there are
//! buffers for so many.

use std::time::Duration;

use mpi::point_to_point::{Destination, Source};
use mpi::topology::Communicator;
use mpi_run::{Presence, turn};
use statistics::median;

use super::availability::{Availability, Hindrance, Repetition};
use super::bench::Bench;
use super::lane::Lane;
use super::record::Polling;
use super::together::{gather_quietly, start_together, worst_of_pair};

const TAG: i32 = 2;
const END_TAG: i32 = 3;
/// Polls of a repetition, however long the interval between them: a few messages have to meet a poll.
const N_POLLS_MIN: u64 = 10;
/// A repetition lasts so many transfers, however long those take.
const N_TRANSFERS: u32 = 10;
/// Work is to be so many times as long as what the clock can tell.
const CLEARLY_MEASURABLE: u64 = 2;

/// Point of a sweep to be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Size of each message.
    pub size_bytes: u64,
    /// Messages under way in each direction.
    pub queue: u32,
    /// Approximate time that a message takes.
    pub transfer: Duration,
    /// Work between polls.
    pub interval: Duration,
    /// Number of repetitions.
    pub n_repetitions: u32,
    /// Aim for the length of a repetition.
    pub span: Duration,
}

/// Results of one repetition with messages.
struct Wet {
    span_ns: f64,
    n_polls: u64,
    n_received: u64,
}

/// Condition on which the worker stops.
#[derive(Clone, Copy)]
enum Until {
    Polls(u64),
    Span(Duration),
}

/// Measures one point. Collective; a record on workers only.
pub(crate) fn measure(bench: &Bench, point: &Point) -> Option<Polling> {
    let n_turns = bench.turns(point.interval);
    let mut exchange = Exchange::new(bench, point);
    let mut presence = bench.presence();
    let pilot = exchange.run(n_turns, Until::Span(point.span / 2), &mut presence);
    presence.take_away_ratio();
    let n_polls = polls(bench, point, &pilot);
    let mut repetitions = Vec::new();
    let mut received = Vec::new();
    for idx in 0..point.n_repetitions {
        let (dry_ns, wet) = if idx % 2 == 0 {
            let dry_ns = dry(bench, n_turns, n_polls, &mut presence);
            (dry_ns, exchange.run(n_turns, Until::Polls(n_polls), &mut presence))
        } else {
            let wet = exchange.run(n_turns, Until::Polls(n_polls), &mut presence);
            (dry(bench, n_turns, n_polls, &mut presence), wet)
        };
        repetitions.push(Repetition { dry_ns, wet_ns: wet.span_ns });
        received.push(wet.n_received as f64);
    }
    let away_ratio = worst_of_pair(bench, presence.take_away_ratio());
    bench.is_worker().then(|| record(bench, point, n_turns, n_polls, &repetitions, &received, away_ratio))
}

/// Returns the number of polls that fill the span, going by `pilot`, and make enough work for the clock.
fn polls(bench: &Bench, point: &Point, pilot: &Wet) -> u64 {
    let per_poll_ns = (pilot.span_ns / pilot.n_polls.max(1) as f64).max(1.0);
    let of_span = (point.span.max(N_TRANSFERS * point.transfer).as_nanos() as f64 / per_poll_ns) as u64;
    let shortest_ns = bench.quality.shortest_measurable().as_nanos() as u64;
    let interval_ns = (point.interval.as_nanos() as u64).max(1);
    of_span.max((CLEARLY_MEASURABLE * shortest_ns).div_ceil(interval_ns)).max(N_POLLS_MIN)
}

/// The work alone, on workers; the others sleep.
fn dry(bench: &Bench, n_turns: u64, n_polls: u64, presence: &mut Presence) -> f64 {
    gather_quietly(bench.ranks);
    start_together(bench.ranks);
    let dry_ns = if bench.is_worker() { presence.watch(|| bench.time_turns(n_turns, n_polls)) } else { 0.0 };
    gather_quietly(bench.ranks);
    dry_ns
}

fn record(
    bench: &Bench,
    point: &Point,
    n_turns: u64,
    n_polls: u64,
    repetitions: &[Repetition],
    received: &[f64],
    away_ratio: f64,
) -> Polling {
    let of = |span: fn(&Repetition) -> f64| bench.spread(&repetitions.iter().map(span).collect::<Vec<_>>());
    let n_received = median(received).unwrap_or(0.0);
    let rates: Vec<f64> = repetitions
        .iter()
        .zip(received)
        .map(|(repetition, n_received)| 1e9 * n_received * point.size_bytes as f64 / repetition.wet_ns.max(1.0))
        .collect();
    Polling {
        pair: bench.pair,
        size_bytes: point.size_bytes,
        queue: point.queue,
        poll_interval_ns: u64::try_from(point.interval.as_nanos()).unwrap_or(u64::MAX),
        n_turns,
        n_polls,
        n_repetitions: repetitions.len() as u64,
        away_ratio,
        dry: of(|repetition| repetition.dry_ns),
        wet: of(|repetition| repetition.wet_ns),
        n_received,
        availability: availability(bench, point, repetitions, n_received, away_ratio),
        received_bytes_per_sec: median(&rates).unwrap_or(0.0),
    }
}

/// Estimates the availability of work with messages, if there were any to speak of.
fn availability(
    bench: &Bench,
    point: &Point,
    repetitions: &[Repetition],
    n_received: f64,
    away_ratio: f64,
) -> Availability {
    // As many are under way when a repetition begins as can come without any reply of the worker's.
    let needed = f64::from(2 * point.queue);
    if n_received < needed {
        return Availability::hindered(&Hindrance::Silent { n_received, needed });
    }
    bench.estimator().availability(repetitions, away_ratio)
}

/// Messages to and fro.
struct Exchange<'a> {
    bench: &'a Bench<'a>,
    incoming: Lane<'a, u8>,
    outgoing: Lane<'a, u8>,
    /// Message to the support that the worker is done, with the number of messages that the worker sent.
    end: Lane<'a, u64>,
    /// Buffers to send from that are not under way.
    free: Vec<usize>,
    /// Replies that could not be sent yet since all buffers were under way.
    n_due: usize,
    n_sent: u64,
    n_received: u64,
    arrived: Vec<usize>,
}

impl<'a> Exchange<'a> {
    fn new(bench: &'a Bench<'a>, point: &Point) -> Self {
        let (partner, length) = (bench.partner(), point.size_bytes as usize);
        let room = || Vec::with_capacity(2 * point.queue as usize);
        Self {
            bench,
            incoming: Lane::receiving(bench.ranks, partner, TAG, 2 * point.queue, length, 0),
            outgoing: Lane::sending(bench.ranks, partner, TAG, point.queue, length, 1),
            end: Lane::receiving(bench.ranks, partner, END_TAG, 1, 1, 0),
            free: room(),
            n_due: 0,
            n_sent: 0,
            n_received: 0,
            arrived: room(),
        }
    }

    /// One repetition, from no message under way to no message under way.
    fn run(&mut self, n_turns: u64, until: Until, presence: &mut Presence) -> Wet {
        (self.n_due, self.n_sent, self.n_received) = (0, 0, 0);
        self.incoming.post_all();
        if !self.bench.is_worker() {
            self.end.post(0);
        }
        start_together(self.bench.ranks);
        self.outgoing.post_all();
        self.n_sent = self.outgoing.n_buffers() as u64;
        self.free.clear();
        if self.bench.is_worker() { self.work(n_turns, until, presence) } else { self.support(presence) }
    }

    fn work(&mut self, n_turns: u64, until: Until, presence: &mut Presence) -> Wet {
        let (span_ns, n_polls) = presence.watch(|| self.work_and_poll(n_turns, until));
        let n_received = self.n_received;
        let partner = self.bench.ranks.process_at_rank(self.bench.partner() as i32);
        partner.send_with_tag(&self.n_sent, END_TAG);
        let (n_theirs, _) = partner.receive_with_tag::<u64>(END_TAG);
        self.finish(n_theirs);
        Wet { span_ns, n_polls, n_received }
    }

    /// Works and polls: nanoseconds and polls.
    fn work_and_poll(&mut self, n_turns: u64, until: Until) -> (f64, u64) {
        let start = self.bench.clock.elapsed_ns();
        let n_polls = match until {
            Until::Polls(n_polls) => {
                for _ in 0..n_polls {
                    turn(n_turns);
                    self.serve();
                }
                n_polls
            }
            Until::Span(span) => {
                let end = start + span.as_nanos() as u64;
                let mut n_polls = 0;
                while n_polls < N_POLLS_MIN || self.bench.clock.elapsed_ns() < end {
                    turn(n_turns);
                    self.serve();
                    n_polls += 1;
                }
                n_polls
            }
        };
        ((self.bench.clock.elapsed_ns() - start) as f64, n_polls)
    }

    fn support(&mut self, presence: &mut Presence) -> Wet {
        presence.watch(|| {
            let mut ended = Vec::new();
            while ended.is_empty() {
                self.serve();
                self.end.collect(&mut ended);
            }
        });
        let n_theirs = self.end.buffer(0)[0];
        let partner = self.bench.ranks.process_at_rank(self.bench.partner() as i32);
        partner.send_with_tag(&self.n_sent, END_TAG);
        self.finish(n_theirs);
        Wet { span_ns: 0.0, n_polls: 0, n_received: 0 }
    }

    /// A poll: each message that arrived makes room for another, and is replied to. Never waits.
    #[inline]
    fn serve(&mut self) {
        self.arrived.clear();
        self.incoming.collect(&mut self.arrived);
        self.n_received += self.arrived.len() as u64;
        self.n_due += self.arrived.len();
        for &idx in &self.arrived {
            self.incoming.post(idx);
        }
        while self.n_due > 0 {
            if self.free.is_empty() {
                self.outgoing.collect(&mut self.free);
            }
            let Some(idx) = self.free.pop() else { break };
            self.outgoing.post(idx);
            self.n_sent += 1;
            self.n_due -= 1;
        }
    }

    /// Takes in all that the partner sent, without replies, and takes the buffers back for which there is nothing.
    fn finish(&mut self, n_theirs: u64) {
        while self.n_received < n_theirs {
            self.arrived.clear();
            self.incoming.collect(&mut self.arrived);
            self.n_received += self.arrived.len() as u64;
        }
        self.outgoing.wait_all();
        self.incoming.cancel_rest();
    }
}
