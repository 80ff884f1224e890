//! What the study sees of its own work: subsystems of this process and its descendants, pulled and drained while something runs.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use clock::thread_cpu;
use kernel::{BpfOpener, Engine, Node, Pulled, Subsystem, Traced};
use program::Failure;

use crate::command::failed;
use crate::command::record::turned_on;

/// Watches this process and those that it starts.
pub struct Eye(Engine);

/// What was seen while something ran.
pub struct Seen<T> {
    /// What the work gave.
    pub done: T,
    pub pulled: Vec<Rc<[Pulled]>>,
    pub traced: Vec<Traced>,
    /// Nanoseconds from begin to end.
    pub elapsed_ns: u64,
    /// Processor time of pulling and draining.
    pub agent: Duration,
}

const NAP: Duration = Duration::from_millis(100);
/// Time in which rings of traced points do not fill.
const TRACING_NAP: Duration = Duration::from_millis(10);

impl Eye {
    /// Refuses where programs cannot be put into the kernel.
    pub fn open() -> Result<Self, Failure> {
        let nodes = [(0, Node::Tree(std::process::id()))].into();
        let interval_ms = 1000;
        Ok(Self(Engine::new(Box::new(BpfOpener::with_ring(kernel::RING_BYTES)), nodes, interval_ms, None)))
    }

    /// These subsystems alone are on from now on, with these points traced.
    pub fn turn(&mut self, on: &[&'static Subsystem], traced: &[(&'static Subsystem, &str)]) -> Result<(), Failure> {
        self.0.change(&turned_on(on, traced)).map_err(failed)?;
        // What happened until now belongs to nobody.
        self.0.pull().map_err(failed)?;
        self.0.drain(|_, _| {});
        Ok(())
    }

    pub fn off(&mut self) {
        self.0.off();
    }

    /// Runs the work on a thread of its own, and pulls meanwhile and at its end.
    pub fn watch<T: Send>(&mut self, interval: Duration, work: impl FnOnce() -> T + Send) -> Result<Seen<T>, Failure> {
        let engine = &mut self.0;
        let (mut pulled, mut traced) = (Vec::new(), Vec::new());
        let watch = clock::Stopwatch::start();
        let cpu = thread_cpu();
        let done = thread::scope(|scope| {
            let worker = scope.spawn(work);
            let mut due = interval;
            while !worker.is_finished() {
                if engine.is_tracing() {
                    engine.drain(|_, event| traced.push(event));
                }
                if watch.elapsed() >= due {
                    pulled.push(engine.pull().map_err(failed)?);
                    due += interval;
                }
                let nap = if engine.is_tracing() { TRACING_NAP } else { NAP };
                clock::sleep(nap.min(due.saturating_sub(watch.elapsed())));
            }
            worker.join().map_err(|_| Failure::work("the measured work broke off"))
        })?;
        engine.drain(|_, event| traced.push(event));
        pulled.push(engine.pull().map_err(failed)?);
        Ok(Seen { done, pulled, traced, elapsed_ns: watch.elapsed_ns(), agent: thread_cpu().saturating_sub(cpu) })
    }
}

impl<T> Seen<T> {
    /// Events of all points and pulls.
    pub fn n_events(&self) -> u64 {
        self.pulled.iter().flat_map(|pulled| pulled.iter()).map(|one| one.summary.n_sampled).sum()
    }

    /// What the probes took of a core over the whole time, by their prices.
    pub fn account_cores(&self) -> f64 {
        let of = |one: &Pulled| one.cost.cores() * one.summary.span_ns() as f64;
        self.pulled.iter().flat_map(|pulled| pulled.iter()).map(of).sum::<f64>() / self.elapsed_ns.max(1) as f64
    }
}
