//! The study's view of its own work: subsystems of this process and its descendants, pulled and drained while something
//! runs.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clock::thread_cpu;
use kernel::{BpfOpener, Engine, Error, Node, Pulled, Sink, Subsystem, SubsystemCost, Summary, Traced};
use program::Failure;
use record::Format;

use crate::capture::{Capture, Origin};
use crate::command::failed;
use crate::command::record::turned_on;

/// Watches this process and those that it starts.
pub struct Eye(Engine);

/// The measurements made while something ran.
pub struct Seen<T> {
    /// The result of the work.
    pub done: T,
    /// Summaries of all pulls, with what the probes took by their prices.
    pub pulled: Vec<(Summary, SubsystemCost)>,
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
        let opener = Box::new(BpfOpener::with_ring(kernel::RING_BYTES));
        // What is measured ends by itself, and events without the rest of them would answer nothing.
        Ok(Self(Engine::new(opener, nodes, interval_ms, None).with_rate_cap(u64::MAX)))
    }

    /// These subsystems alone are on from now on, with these points traced.
    pub fn turn(&mut self, on: &[&'static Subsystem], traced: &[(&'static Subsystem, &str)]) -> Result<(), Failure> {
        self.0.change(&turned_on(on, traced)).map_err(failed)?;
        // What happened until now belongs to nobody.
        self.0.pull().map_err(failed)?;
        self.0.drain(|_, _| {}).map_err(failed)?;
        Ok(())
    }

    pub fn off(&mut self) {
        self.0.off();
    }

    /// Runs the work on a thread of its own, and pulls meanwhile and at its end.
    pub fn watch<T: Send>(&mut self, interval: Duration, work: impl FnOnce() -> T + Send) -> Result<Seen<T>, Failure> {
        let mut kept = Kept::default();
        let watch = clock::Stopwatch::start();
        let cpu = thread_cpu();
        let done = self.during(interval, &mut kept, work)?;
        let pulled = self.0.pull().map_err(failed)?;
        kept.pulled(&mut self.0, &pulled).map_err(failed)?;
        let agent = thread_cpu().saturating_sub(cpu);
        Ok(Seen { done, pulled: kept.pulled, traced: kept.traced, elapsed_ns: watch.elapsed_ns(), agent })
    }

    /// The same into a file of records in this folder.
    pub fn record<T: Send>(
        &mut self,
        folder: &Path,
        interval: Duration,
        work: impl FnOnce() -> T + Send,
    ) -> Result<(T, PathBuf), Failure> {
        let origin = Origin { nodes: vec!["0=study".to_owned()], title: None };
        let mut capture = Capture::begin(folder, Format::Own, &self.0, &origin)?;
        let done = self.during(interval, &mut capture, work)?;
        Ok((done, capture.end(&mut self.0)?.0))
    }

    fn during<T: Send>(
        &mut self,
        interval: Duration,
        sink: &mut dyn Sink,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, Failure> {
        let engine = &mut self.0;
        let watch = clock::Stopwatch::start();
        thread::scope(|scope| {
            let worker = scope.spawn(work);
            let mut due = interval;
            while !worker.is_finished() {
                sink.traced(engine).map_err(failed)?;
                if watch.elapsed() >= due {
                    let pulled = engine.pull().map_err(failed)?;
                    sink.pulled(engine, &pulled).map_err(failed)?;
                    due += interval;
                }
                let nap = if engine.is_tracing() { TRACING_NAP } else { NAP };
                clock::sleep(nap.min(due.saturating_sub(watch.elapsed())));
            }
            worker.join().map_err(|_| Failure::work("the measured work broke off"))
        })
    }
}

/// Keeps everything.
#[derive(Default)]
struct Kept {
    pulled: Vec<(Summary, SubsystemCost)>,
    traced: Vec<Traced>,
}

impl Sink for Kept {
    fn pulled(&mut self, engine: &mut Engine, pulled: &[Pulled]) -> Result<(), Error> {
        self.traced(engine)?;
        self.pulled.extend(pulled.iter().map(|one| (one.summary.clone(), one.cost)));
        Ok(())
    }

    fn traced(&mut self, engine: &mut Engine) -> Result<(), Error> {
        engine.drain(|_, event| self.traced.push(event)).map(|_| ())
    }
}

impl<T> Seen<T> {
    /// Events of all points and pulls.
    pub fn n_events(&self) -> u64 {
        self.pulled.iter().map(|(summary, _)| summary.n_sampled).sum()
    }

    /// Events of the point of this name, where a single subsystem is on.
    pub fn count(&self, point: &str) -> u64 {
        let of = |(summary, _): &(Summary, SubsystemCost)| {
            let place = summary.subsystem.points.iter().position(|known| known.name == point)?;
            summary.points.iter().find(|found| found.point == place)?.all.count
        };
        self.pulled.iter().filter_map(of).sum()
    }
}
