//! A thread that steps a monitor whenever its gate lets it, and says what that costs.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clock::thread_cpu;
use watch::{OnPanic, Thread, Watch};

use crate::{Gate, Pull, Strategy, Tally};

/// The time that a monitor rests after each step. One that woke for each call of a tight loop made calls of 48 us take
/// 120 us on two cores; in this time a rank that makes a call each 10 us writes some 600 records, and the smallest ring
/// holds 1,024.
const REST: Duration = Duration::from_millis(2);
/// A gate that does not open lets a monitor through after this time, as a program that only computes opens none.
const GATE_MAX: Duration = Duration::from_millis(100);

/// The work of a monitor so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of events read, and of events that were overwritten before.
    pub tally: Tally,
    /// Steps.
    pub n_steps: u64,
    /// Processor time of its thread, and of those that worked for it.
    pub cpu: Duration,
}

/// A running monitor; dropping it ends it.
#[derive(Debug)]
pub struct Worker {
    report: Arc<Mutex<Report>>,
    _thread: Thread,
}

impl Report {
    /// The share of records that were read of all that were written; 1 where there were none.
    #[must_use]
    pub fn gathered(&self) -> f64 {
        let n_written = self.tally.n_read + self.tally.n_lost;
        if n_written == 0 { 1.0 } else { self.tally.n_read as f64 / n_written as f64 }
    }
}

impl Worker {
    /// Starts a thread that rests, waits at the gate, steps and so on. Without a gate or a strategy it does not wait.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(
        watch: &Watch,
        name: &str,
        gate: Option<Box<dyn Gate>>,
        strategy: Strategy,
        mut step: impl FnMut() -> Tally + Send + 'static,
    ) -> io::Result<Self> {
        let report = Arc::new(Mutex::new(Report::default()));
        let shared = Arc::clone(&report);
        let thread = Thread::start(watch, name, OnPanic::BeginAgain, move |stop| {
            while !stop.wait(REST) {
                if let Some(gate) = gate.as_ref().filter(|_| strategy != Strategy::Off) {
                    gate.wait(strategy, GATE_MAX);
                }
                let tally = step();
                let mut report = shared.lock().unwrap_or_else(PoisonError::into_inner);
                report.tally += tally;
                report.n_steps += 1;
                report.cpu = thread_cpu() + report.tally.cpu;
            }
        })?;
        Ok(Self { report, _thread: thread })
    }

    /// Returns the monitor's work so far.
    #[must_use]
    pub fn report(&self) -> Report {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives what a worker makes, and tells what the worker did.
pub struct Worked<P> {
    results: P,
    worker: Worker,
    told: Report,
}

impl<P> Worked<P> {
    /// `results` are those of `worker`.
    pub fn new(results: P, worker: Worker) -> Self {
        Self { results, worker, told: Report::default() }
    }
}

impl<T, P: Pull<T>> Pull<T> for Worked<P> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        let Tally { n_missed, .. } = self.results.pull(into);
        let (report, told) = (self.worker.report(), &mut self.told);
        let tally = Tally {
            n_read: report.tally.n_read - told.tally.n_read,
            n_lost: report.tally.n_lost - told.tally.n_lost,
            n_missed,
            // After a panic its thread is the same, but its work began again.
            cpu: report.cpu.saturating_sub(told.cpu),
        };
        *told = report;
        tally
    }
}

/// Waits at a gate before each pull, if there is one.
pub struct Gated<P> {
    gate: Option<Box<dyn Gate>>,
    strategy: Strategy,
    of: P,
}

impl<P> Gated<P> {
    /// Puts a gate in front of a stage.
    pub fn new(of: P, gate: Option<Box<dyn Gate>>, strategy: Strategy) -> Self {
        Self { gate, strategy, of }
    }
}

impl<T, P: Pull<T>> Pull<T> for Gated<P> {
    fn pull(&mut self, into: &mut Vec<T>) -> Tally {
        if let Some(gate) = self.gate.as_ref().filter(|_| self.strategy != Strategy::Off) {
            gate.wait(self.strategy, GATE_MAX);
        }
        self.of.pull(into)
    }
}
