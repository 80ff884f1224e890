//! A whole run: all that a plan asks for, recorded as soon as it is measured.

use std::time::Duration;

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi_run::{Ending, Header, Session, Writer, available_bytes, gather};
use program::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::{ByteCount, Rank};

use super::bench::Bench;
use super::buffering;
use super::grid;
use super::pairing::Pair;
use super::ping_pong;
use super::plan::{Method, Plan};
use super::polling;
use super::post_work_wait::Cycler;
use super::record::{BUFFERING, DRIFT, Drift, PING_PONG, POLLING, PWW, TRANSFER};
use super::together::gather_quietly;
use super::verdict::{VERDICT, verdicts};

/// Points of a sweep whose lengths of work are chosen here.
const N_POINTS: usize = 9;
/// Poll intervals are timed so many at a time, at least.
const N_POLLS_TOLD: u32 = 20;

/// Looks whether `plan` can be measured, before anything is, and says whom this rank is with. Collective.
///
/// # Errors
/// On all ranks, when the ranks make no pairs, the plan makes no sense, or does not fit into the memory of a host.
pub fn prepare(session: &Session, header: &Header, plan: &Plan) -> Result<Pair, Ending> {
    let pair = session.agree(own_pair(session, plan))?;
    session.agree(check_memory(header, plan, session.rank()))?;
    Ok(pair)
}

/// Measures all that `plan` asks for, as one of `pair`. Collective. `tell` hears what comes next, and how many of how
/// many steps are done.
///
/// # Errors
/// On all ranks, when rank 0 cannot record what was measured, or messages did not carry what was sent.
pub fn run(
    session: &Session,
    clock: &Stopwatch,
    plan: &Plan,
    pair: Pair,
    writer: &mut Writer,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<(), Ending> {
    let header = writer.outcome().header.clone();
    let place = &header.ranks[session.rank() as usize];
    let bench = Bench {
        ranks: session.world(),
        clock,
        quality: place.clock,
        calibration: place.calibration,
        pair,
        rank: session.rank(),
        confidence: plan.confidence,
        seed: header.seed,
    };
    Run { session, bench: &bench, header: &header, plan, writer, tell, n_done: 0 }.all()
}

/// Whether `plan` makes sense on so many ranks, and who is with whom.
fn own_pair(session: &Session, plan: &Plan) -> Result<Pair, Failure> {
    plan.check().map_err(Failure::usage)?;
    let pairs = plan.pairing.pairs(session.n_ranks()).map_err(Failure::usage)?;
    let own = pairs.into_iter().find(|pair| pair.has(session.rank()));
    Ok(own.expect("each rank is in a pair"))
}

/// Buffers beyond the host's memory would not be refused but end in a killed process.
fn check_memory(header: &Header, plan: &Plan, rank: Rank) -> Result<(), Failure> {
    let host = &header.ranks[rank as usize].host;
    let n_ranks = header.ranks.iter().filter(|place| place.host == *host).count() as u64;
    let needed = plan.buffer_bytes().saturating_mul(n_ranks);
    match available_bytes() {
        Some(available) if needed > available => Err(Failure::usage(format!(
            "the buffers of {n_ranks} ranks on {host} take {needed} bytes, and {available} are available: use smaller messages or a shorter queue"
        ))),
        _ => Ok(()),
    }
}

struct Run<'a> {
    session: &'a Session,
    bench: &'a Bench<'a>,
    header: &'a Header,
    plan: &'a Plan,
    writer: &'a mut Writer,
    tell: &'a mut dyn FnMut(&str, u64, u64),
    n_done: u64,
}

impl<'a> Run<'a> {
    fn all(&mut self) -> Result<(), Ending> {
        for size_bytes in self.trip_sizes() {
            self.step(&format!("ping-pong, {}", ByteCount::new(size_bytes)));
            let mine = ping_pong::measure(self.bench, size_bytes, self.plan.n_trip_batches);
            self.record(PING_PONG, mine)?;
        }
        for &size in self.work_sizes() {
            self.size(size)?;
        }
        if self.has(Method::Buffering) {
            self.step("double buffering");
            let mine = self.session.agree(buffering::measure(self.bench, &self.plan.buffering))?;
            self.record(BUFFERING, mine)?;
            self.drift(None)?;
        }
        self.verdicts()
    }

    fn size(&mut self, size: ByteCount) -> Result<(), Ending> {
        let (bench, plan) = (self.bench, self.plan);
        self.step(&format!("transfer, {size}"));
        let mut cycler = Cycler::new(bench, size.bytes(), plan.pww.is_mutual);
        let transfer = cycler.transfer(plan.pww.n_cycles);
        let longest = self.longest(transfer.as_ref().map_or(0.0, |transfer| transfer.whole.p05_ns));
        self.record(TRANSFER, transfer)?;
        if self.has(Method::Pww) {
            for interval in self.work_intervals(longest) {
                self.step(&format!("post-work-wait, {size}"));
                let mine = cycler.measure(interval, plan.pww.n_cycles);
                self.record(PWW, mine)?;
            }
        }
        drop(cycler);
        if self.has(Method::Polling) {
            for interval in self.poll_intervals(longest) {
                self.step(&format!("polling, {size}"));
                let mine = polling::measure(bench, &self.point(size, longest, interval));
                self.record(POLLING, mine)?;
            }
        }
        self.drift(Some(size))
    }

    fn point(&self, size: ByteCount, transfer: Duration, interval: Duration) -> polling::Point {
        let plan = &self.plan.polling;
        let (queue, n_repetitions, span) = (plan.queue, plan.n_repetitions, plan.span);
        polling::Point { size_bytes: size.bytes(), queue, transfer, interval, n_repetitions, span }
    }

    /// Returns the intervals given, or zero and others around the transfer.
    fn work_intervals(&self, transfer: Duration) -> Vec<Duration> {
        match &self.plan.pww.intervals[..] {
            [] => [Duration::ZERO].into_iter().chain(grid::around(transfer, 2 * self.shortest(), N_POINTS)).collect(),
            given => given.to_vec(),
        }
    }

    /// Returns the intervals given, or others around the transfer. Many of them are timed at once, so that one may be
    /// short.
    fn poll_intervals(&self, transfer: Duration) -> Vec<Duration> {
        match &self.plan.polling.intervals[..] {
            [] => grid::around(transfer, self.shortest() / N_POLLS_TOLD, N_POINTS),
            given => given.to_vec(),
        }
    }

    /// Returns the shortest time that every rank's clock can measure.
    fn shortest(&self) -> Duration {
        self.header.ranks.iter().map(|place| place.clock.shortest_measurable()).max().unwrap_or_default()
    }

    /// The longest of all ranks' times; of each the short end is given, which others at work on the machine move least.
    fn longest(&self, mine_ns: f64) -> Duration {
        let mut longest_ns = mine_ns;
        self.bench.ranks.all_reduce_into(&mine_ns, &mut longest_ns, SystemOperation::max());
        Duration::from_nanos(longest_ns as u64)
    }

    /// Each worker looks at its calibration again, while the others sleep.
    fn drift(&mut self, after: Option<ByteCount>) -> Result<(), Ending> {
        gather_quietly(self.bench.ranks);
        let bench = self.bench;
        let mine =
            bench.is_worker().then(|| Drift { rank: bench.rank, after, drift_ratio: bench.calibration.drift_ratio() });
        gather_quietly(bench.ranks);
        self.record(DRIFT, mine)
    }

    fn verdicts(&mut self) -> Result<(), Ending> {
        let written = self.session.is_first().then(|| {
            let found = verdicts(self.writer.outcome()).expect("what was just recorded can be read");
            found.iter().try_for_each(|verdict| self.writer.record(VERDICT, verdict))
        });
        self.session.agree(written.unwrap_or(Ok(())).map_err(Failure::of))
    }

    /// Adds what the ranks measured to the result, those of lower ranks first. Collective.
    fn record<T: Serialize + DeserializeOwned>(&mut self, kind: &str, mine: Option<T>) -> Result<(), Ending> {
        let all = gather(self.bench.ranks, &mine).unwrap_or_default();
        let written = all.iter().flatten().try_for_each(|record| self.writer.record(kind, record));
        self.session.agree(written.map_err(Failure::of))
    }

    /// Says what comes next, and how much was done before it.
    fn step(&mut self, what: &str) {
        let n_steps = self.n_steps();
        (self.tell)(what, self.n_done, n_steps);
        self.n_done += 1;
    }

    fn n_steps(&self) -> u64 {
        let points = |intervals: &[Duration], chosen| if intervals.is_empty() { chosen } else { intervals.len() };
        let mut of_size = 1;
        if self.has(Method::Pww) {
            of_size += points(&self.plan.pww.intervals, N_POINTS + 1);
        }
        if self.has(Method::Polling) {
            of_size += points(&self.plan.polling.intervals, N_POINTS);
        }
        let n_steps = self.trip_sizes().len() + self.work_sizes().len() * of_size;
        n_steps as u64 + u64::from(self.has(Method::Buffering))
    }

    fn trip_sizes(&self) -> Vec<u64> {
        let largest = self.plan.sizes.iter().max().filter(|_| self.has(Method::PingPong));
        largest.map_or(Vec::new(), |largest| grid::doublings(largest.bytes()))
    }

    fn work_sizes(&self) -> &'a [ByteCount] {
        if self.has(Method::Pww) || self.has(Method::Polling) { &self.plan.sizes } else { &[] }
    }

    fn has(&self, method: Method) -> bool {
        self.plan.methods.contains(&method)
    }
}
