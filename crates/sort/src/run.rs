//! The sort under MPI.

mod file;

use std::path::{Path, PathBuf};

use clock::{monotonic_ns, thread_cpu};
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi_run::{Ending, Session, broadcast, gather, host_name};
use program::Failure;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::plan::NUMBER_BYTES;
use crate::{Phase, Plan, Sorted, Stamp, heap, trade};
use file::{File, Use};

/// Messages of ranks to rank 0 at the end of a round, and its answers.
const TRADED: i32 = 1;
const GO_ON: i32 = 2;
const EXIT: i32 = 3;

/// Sorts, and gives what each rank did, on the lowest rank of each host what those of its host did. Collective.
///
/// # Errors
/// On all ranks, where files cannot be made, read or written, or the result is not in order.
pub fn run(session: &Session, plan: &Plan) -> Result<Option<Vec<Sorted>>, Ending> {
    let section = session.agree(plan.section(session.n_ranks()).map_err(Failure::usage))?;
    let files = Files::new(session, plan);
    let mut rank = Rank::new(session, plan, section);
    let made = rank.make_input(&files.input);
    let result = made.and_then(|bits| rank.sort(&files).and_then(|()| rank.check(&files.output, bits)));
    session.wait_for_all();
    if session.is_first() && !plan.keeps_files {
        files.remove();
    }
    result?;
    Ok(gather(&session.host(), &rank.done))
}

/// The files of the numbers to be sorted, and of the result.
struct Files {
    input: PathBuf,
    output: PathBuf,
}

impl Files {
    /// Named after rank 0's process, so that two sorts in a folder have files of their own. Collective.
    fn new(session: &Session, plan: &Plan) -> Self {
        let pid = broadcast(session.world(), session.is_first().then(std::process::id).as_ref());
        let named = |ending: &str| plan.folder.join(format!("foretop-sort.{pid}.{ending}"));
        Self { input: named("in"), output: named("out") }
    }

    fn remove(&self) {
        for path in [&self.input, &self.output] {
            // A file that was never made cannot be removed, and one that stays harms nobody.
            let _ = std::fs::remove_file(path);
        }
    }
}

struct Rank<'a> {
    session: &'a Session,
    plan: &'a Plan,
    world: &'a SimpleCommunicator,
    section: Vec<f64>,
    n_section: usize,
    round: u32,
    done: Sorted,
}

/// Figures of a section in the end.
#[derive(Serialize, Deserialize)]
struct Seen {
    bits: u64,
    lowest: f64,
    highest: f64,
    is_sorted: bool,
}

impl<'a> Rank<'a> {
    fn new(session: &'a Session, plan: &'a Plan, n_section: usize) -> Self {
        let done = Sorted {
            rank: session.rank(),
            host: host_name(),
            n_ranks: session.n_ranks(),
            n_numbers: n_section as u64,
            n_rounds: 0,
            n_taken: 0,
            user_ns: 0,
            system_ns: 0,
            stamps: Vec::new(),
        };
        let section = Vec::new();
        Self { session, plan, world: session.world(), section, n_section, round: 0, done }
    }

    /// Numbers of lower ranks.
    fn before(&self) -> u64 {
        u64::from(self.session.rank()) * self.n_section as u64
    }

    fn stamp(&mut self, phase: Phase, n_numbers: usize) {
        let n_bytes = n_numbers as u64 * NUMBER_BYTES;
        let processor_ns = thread_cpu().as_nanos() as u64;
        self.done.stamps.push(Stamp { at_ns: monotonic_ns(), phase, round: self.round, n_bytes, processor_ns });
    }

    /// Writes this rank's section of the input, and gives what tells its numbers from others in any order. Collective.
    fn make_input(&self, path: &Path) -> Result<u64, Ending> {
        let mut chance = ChaCha8Rng::seed_from_u64(self.plan.seed);
        chance.set_stream(u64::from(self.session.rank()));
        let numbers: Vec<f64> = (0..self.n_section).map(|_| chance.random()).collect();
        let file = self.session.agree(File::open(self.world, path, Use::Write))?;
        let written = file.write(self.before(), &numbers, self.plan.access);
        self.session.agree(written.and(file.close()))?;
        Ok(sum_of_bits(&numbers))
    }

    fn sort(&mut self, files: &Files) -> Result<(), Ending> {
        self.session.wait_for_all();
        let before = processor_time();
        self.stamp(Phase::Start, 0);
        self.stamp(Phase::Array, 0);
        self.section = vec![0.0; self.n_section];
        self.stamp(Phase::InOpen, 0);
        let opened = File::open(self.world, &files.input, Use::Read);
        self.stamp(Phase::InSync, 0);
        let input = self.session.agree(opened)?;
        self.stamp(Phase::Read, self.n_section);
        let read = input.read(self.before(), &mut self.section, self.plan.access);
        self.stamp(Phase::InClose, 0);
        self.session.agree(read.and(input.close()))?;
        self.sort_section();
        while self.trade_round() {
            self.round += 1;
        }
        self.done.n_rounds = self.round + 1;
        self.stamp(Phase::OutOpen, 0);
        let opened = File::open(self.world, &files.output, Use::Write);
        self.stamp(Phase::OutSync, 0);
        let output = self.session.agree(opened)?;
        self.stamp(Phase::Write, self.n_section);
        let written = output.write(self.before(), &self.section, self.plan.access);
        self.stamp(Phase::OutClose, 0);
        self.session.agree(written.and(output.close()))?;
        self.stamp(Phase::End, 0);
        let after = processor_time();
        self.done.user_ns = after.0 - before.0;
        self.done.system_ns = after.1 - before.1;
        Ok(())
    }

    fn sort_section(&mut self) {
        self.stamp(Phase::Sort, 0);
        heap::sort(&mut self.section);
    }

    /// Trades with both neighbours; gives whether another round is needed.
    fn trade_round(&mut self) -> bool {
        let mut n_taken = 0;
        // Even ranks first answer the rank above, which asks meanwhile; then the other way round.
        for is_answering in [self.session.rank().is_multiple_of(2), !self.session.rank().is_multiple_of(2)] {
            if is_answering {
                self.answer();
            } else {
                n_taken += self.ask();
            }
        }
        self.done.n_taken += n_taken;
        self.stamp(Phase::DoneWait, 0);
        if self.session.is_first() { self.decide(n_taken) } else { self.wait_for_decision(n_taken) }
    }

    /// Trades with the rank below; gives how many numbers were taken.
    fn ask(&mut self) -> u64 {
        let Some(below) = self.world.rank().checked_sub(1).filter(|rank| *rank >= 0) else { return 0 };
        let below = self.world.process_at_rank(below);
        self.stamp(Phase::Ask, 1);
        below.send(&self.section[0]);
        let (offered, _) = below.receive_vec::<f64>();
        if offered.is_empty() {
            return 0;
        }
        let n = trade::n_given(&self.section, &offered);
        self.stamp(Phase::AskSwap, n);
        below.send(&self.section[..n]);
        self.section[..n].copy_from_slice(&offered[offered.len() - n..]);
        self.sort_section();
        n as u64
    }

    /// Trades with the rank above, when that asks.
    fn answer(&mut self) {
        let above = self.world.rank() + 1;
        if above == self.world.size() {
            return;
        }
        let above = self.world.process_at_rank(above);
        self.stamp(Phase::Answer, 0);
        let (lowest_above, _) = above.receive::<f64>();
        let n_offered = trade::n_offered(&self.section, lowest_above);
        self.stamp(Phase::AnswerReceive, n_offered);
        above.send(&self.section[self.n_section - n_offered..]);
        if n_offered > 0 {
            let (given, _) = above.receive_vec::<f64>();
            let from = self.n_section - given.len();
            self.section[from..].copy_from_slice(&given);
            self.sort_section();
        }
    }

    /// Rank 0 hears from all whether they traded, and tells them whether to go on.
    fn decide(&self, mut n_taken: u64) -> bool {
        for rank in 1..self.world.size() {
            n_taken += self.world.process_at_rank(rank).receive_with_tag::<u64>(TRADED).0;
        }
        let signal = if n_taken > 0 { GO_ON } else { EXIT };
        for rank in 1..self.world.size() {
            self.world.process_at_rank(rank).send_with_tag(&n_taken, signal);
        }
        n_taken > 0
    }

    fn wait_for_decision(&self, n_taken: u64) -> bool {
        let first = self.world.process_at_rank(0);
        first.send_with_tag(&n_taken, TRADED);
        let signal = first.probe().tag();
        first.receive_with_tag::<u64>(signal);
        signal == GO_ON
    }

    /// Whether the output has the numbers of the input, in order. Collective.
    fn check(&self, path: &Path, bits_of_input: u64) -> Result<(), Ending> {
        let file = self.session.agree(File::open(self.world, path, Use::Read))?;
        let mut numbers = vec![0.0; self.n_section];
        let read = file.read(self.before(), &mut numbers, self.plan.access);
        self.session.agree(read.and(file.close()))?;
        let seen = Seen {
            bits: sum_of_bits(&numbers).wrapping_sub(bits_of_input),
            lowest: numbers[0],
            highest: numbers[self.n_section - 1],
            is_sorted: numbers.is_sorted(),
        };
        let result = gather(self.world, &seen).map_or(Ok(()), |all| {
            let is_in_order =
                all.iter().all(|seen| seen.is_sorted) && all.windows(2).all(|pair| pair[0].highest <= pair[1].lowest);
            let is_complete = all.iter().fold(0, |sum: u64, seen| sum.wrapping_add(seen.bits)) == 0;
            match (is_in_order, is_complete) {
                (true, true) => Ok(()),
                (false, _) => Err(Failure::work(format!("`{}` is not in order", path.display()))),
                (true, false) => Err(Failure::work(format!("`{}` has other numbers than the input", path.display()))),
            }
        });
        self.session.agree(result)
    }
}

/// The same for the same numbers in any order, and hardly ever for others.
fn sum_of_bits(numbers: &[f64]) -> u64 {
    numbers.iter().fold(0, |sum: u64, number| sum.wrapping_add(number.to_bits()))
}

/// Processor time of this process so far, in its own code and in the kernel.
fn processor_time() -> (u64, u64) {
    let ns_per_tick = 1_000_000_000 / procfs::ticks_per_second();
    let stat = procfs::process::Process::myself().and_then(|process| process.stat());
    stat.map_or((0, 0), |stat| (stat.utime * ns_per_tick, stat.stime * ns_per_tick))
}
