//! Threads that run their processes as far as bounds allow, and then announce to each other how far that is.
//!
//! A round has three parts: run; take in what others sent, and announce; work out the bounds that follow. Between them
//! all threads wait for each other, so no message is on its way while bounds are announced.

use std::iter;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

use units::SimTime;

use crate::bounds::{Board, Least};
use crate::cell::Cell;
use crate::process::{Process, ProcessIdx, Sent, Sources, Wants};
use crate::protocol::{Protocol, Rounds};
use crate::run::{Counts, Settings};

pub(crate) fn run<P: Process>(mut cells: Vec<Cell<P>>, settings: &Settings) -> (Vec<Cell<P>>, Counts) {
    let n_workers = settings.n_workers.get().min(cells.len().max(1));
    let shared = Shared {
        settings: *settings,
        blocks: blocks(cells.len(), n_workers),
        board: Board::new(cells.len()),
        boxes: iter::repeat_with(Mutex::default).take(n_workers).collect(),
        summaries: iter::repeat_with(Mutex::default).take(n_workers).collect(),
        barrier: Barrier::new(n_workers),
        is_over: AtomicBool::new(false),
    };
    let mut counts = Counts::default();
    thread::scope(|scope| {
        let (mut rest, mut workers) = (cells.as_mut_slice(), Vec::new());
        for (worker, block) in shared.blocks.iter().enumerate() {
            let (own, others) = rest.split_at_mut(block.len());
            rest = others;
            let shared = &shared;
            workers.push(scope.spawn(move || Worker::new(shared, worker, own).work()));
        }
        for worker in workers {
            counts.add(&worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    (cells, counts)
}

/// Returns the processes of each thread: as many each as can be, in order.
fn blocks(n: usize, n_workers: usize) -> Vec<Range<usize>> {
    (0..n_workers).map(|worker| n * worker / n_workers..n * (worker + 1) / n_workers).collect()
}

struct Shared<M> {
    settings: Settings,
    blocks: Vec<Range<usize>>,
    board: Board,
    /// Messages that were sent to the processes of each thread.
    boxes: Vec<Mutex<Vec<Sent<M>>>>,
    summaries: Vec<Mutex<Summary>>,
    barrier: Barrier,
    /// Whether a process has panicked: all threads end then, and none waits for one that is gone.
    is_over: AtomicBool,
}

/// Summary of a thread about all its processes.
#[derive(Clone, Copy, Debug)]
struct Summary {
    /// The process that can go on first, and the time from which on it can.
    first: (SimTime, ProcessIdx),
    /// Time before which nothing of them arrives if they get nothing more (the least ECOT).
    conditional: SimTime,
    /// Time before which nothing of them arrives, whatever they get.
    outputs: Least,
    /// Whether anything was taken in the round before.
    took: bool,
    /// Whether anything was taken in the round before, or a bound became later.
    moved: bool,
}

impl Default for Summary {
    fn default() -> Self {
        let never = SimTime::NEVER;
        Self {
            first: (never, ProcessIdx::MAX),
            conditional: never,
            outputs: Least::default(),
            took: false,
            moved: false,
        }
    }
}

impl Summary {
    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.conditional = self.conditional.min(other.conditional);
        self.outputs.merge(&other.outputs);
        self.took |= other.took;
        self.moved |= other.moved;
    }
}

struct Worker<'a, P: Process> {
    shared: &'a Shared<P::Message>,
    worker: usize,
    own: &'a mut [Cell<P>],
    /// Position of the first of its processes.
    first: usize,
    /// Processes that may be able to go on.
    agenda: Vec<usize>,
    boundary: SimTime,
    took: bool,
    /// Whether a bound became later.
    moved: bool,
    counts: Counts,
}

impl<'a, P: Process> Worker<'a, P> {
    fn new(shared: &'a Shared<P::Message>, worker: usize, own: &'a mut [Cell<P>]) -> Self {
        let first = shared.blocks[worker].start;
        let (agenda, boundary, counts) = (Vec::new(), SimTime::ZERO, Counts::default());
        Self { shared, worker, own, first, agenda, boundary, took: false, moved: false, counts }
    }

    fn work(mut self) -> Counts {
        loop {
            if self.shared.is_over.load(Ordering::Relaxed) {
                return self.counts;
            }
            self.take_in();
            self.publish();
            self.shared.barrier.wait();
            let all = self.all();
            self.counts.n_idle_rounds += u64::from(self.counts.n_rounds > 0 && !all.took);
            if all.first.0 >= self.shared.settings.until {
                return self.counts;
            }
            self.counts.n_rounds += 1;
            let ran = catch_unwind(AssertUnwindSafe(|| {
                self.bound(&all);
                self.run();
            }));
            if ran.is_err() {
                self.shared.is_over.store(true, Ordering::Relaxed);
            }
            self.shared.barrier.wait();
            ran.unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    fn take_in(&mut self) {
        let arrived = std::mem::take(&mut *locked(&self.shared.boxes[self.worker]));
        for sent in arrived {
            self.own[sent.to as usize - self.first].put(sent);
        }
    }

    fn publish(&mut self) {
        let is_deterministic = self.is_deterministic();
        let (took, later) = (std::mem::take(&mut self.took), std::mem::take(&mut self.moved));
        let mut summary = Summary { took, moved: took || later, ..Summary::default() };
        for cell in self.own.iter_mut() {
            if let Some(at) = cell.goes_on() {
                summary.first = summary.first.min((at, cell.idx));
                summary.conditional = summary.conditional.min(at + cell.process.lookahead());
            }
            summary.outputs.add(self.shared.board.publish(cell, is_deterministic), cell.idx);
        }
        *locked(&self.shared.summaries[self.worker]) = summary;
    }

    fn all(&self) -> Summary {
        let mut all = Summary::default();
        for summary in &self.shared.summaries {
            all.merge(&locked(summary));
        }
        all
    }

    /// Works out the bounds of this round.
    fn bound(&mut self, all: &Summary) {
        match self.shared.settings.protocol {
            Protocol::Quantum(length) => {
                self.boundary += length;
                self.own.iter_mut().for_each(|cell| cell.bound = self.boundary);
                self.moved = true;
            }
            Protocol::Rounds(rounds) => self.bound_by(rounds, all),
            Protocol::Sequential => {}
        }
        // Where nothing has moved, some process has no lookahead. What can go on first of all is safe nevertheless.
        if self.counts.n_rounds > 1 && !all.moved {
            let first = all.first.1 as usize;
            if self.shared.blocks[self.worker].contains(&first) {
                self.take(first - self.first);
            }
        }
    }

    fn bound_by(&mut self, rounds: Rounds, all: &Summary) {
        let block = &self.shared.blocks[self.worker];
        let n_others = self.shared.blocks.len() as u64 - 1;
        let n_asked =
            |sources: &[ProcessIdx]| sources.iter().filter(|&&source| !block.contains(&(source as usize))).count();
        let (board, mut asks_all) = (&self.shared.board, false);
        for cell in self.own.iter_mut().filter(|cell| cell.wants != Wants::Nothing) {
            let before = (cell.bound, cell.bound_of_next);
            match (rounds.sync_info.has_null_messages(), cell.wants, cell.process.sources()) {
                (false, ..) => {}
                (_, Wants::Next(source), _) if rounds.deterministic => {
                    self.counts.n_null_messages += n_asked(&[source]) as u64;
                    cell.bound_of_next = cell.bound_of_next.max(board.of(source, cell));
                }
                (_, _, sources) => {
                    match sources {
                        Sources::These(sources) => self.counts.n_null_messages += n_asked(sources) as u64,
                        Sources::All => asks_all = true,
                    }
                    cell.bound = cell.bound.max(board.input(cell, &all.outputs));
                }
            }
            if rounds.sync_info.has_conditional_events() {
                cell.bound = cell.bound.max(all.conditional);
            }
            self.moved |= (cell.bound, cell.bound_of_next) != before;
        }
        // Of each other thread it is one answer that all its processes share.
        self.counts.n_null_messages += if asks_all { n_others } else { 0 };
    }

    /// Lets processes go on until none of them can.
    fn run(&mut self) {
        self.agenda.extend((0..self.own.len()).rev());
        while let Some(idx) = self.agenda.pop() {
            let began = self.own[idx].clock;
            let n_taken = self.counts.n_taken;
            while self.is_safe(idx) {
                self.take(idx);
            }
            if self.counts.n_taken > n_taken {
                self.counts.stretch(began, self.own[idx].clock);
            }
        }
    }

    fn is_safe(&mut self, idx: usize) -> bool {
        let is_deterministic = self.is_deterministic();
        let cell = &mut self.own[idx];
        let Some(at) = cell.arrives() else { return false };
        let is_next = is_deterministic && matches!(cell.wants, Wants::Next(_));
        (is_next || at < cell.bound) && at.max(cell.clock) < self.shared.settings.until
    }

    fn take(&mut self, idx: usize) {
        let mut out = Vec::new();
        self.own[idx].take(&mut out);
        self.counts.n_taken += 1;
        self.took = true;
        let block = self.shared.blocks[self.worker].clone();
        for sent in out {
            let to = sent.to as usize;
            if block.contains(&to) {
                self.own[to - self.first].put(sent);
                self.agenda.push(to - self.first);
            } else {
                let owner = self.shared.blocks.partition_point(|block| block.end <= to);
                locked(&self.shared.boxes[owner]).push(sent);
            }
        }
    }

    fn is_deterministic(&self) -> bool {
        matches!(self.shared.settings.protocol, Protocol::Rounds(Rounds { deterministic: true, .. }))
    }
}

/// Locks `mutex`. A thread that panicked while it held the lock ends the run anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
