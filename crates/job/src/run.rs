//! A run of split work, from the view of whoever starts it: what is to be done, what happens meanwhile, how it ended.

use std::path::PathBuf;
use std::time::Duration;

use sched::{Job, Plan, Spec, Work, Worker};
use serde::Serialize;
use stream::{EndpointError, Security};
use units::Confidence;

use crate::coordinator::coordinate;
use crate::input::Input;
use crate::kept::{Kept, KeptError};

/// Number of failures of a unit that ends the run.
pub(crate) const N_TRIES_MAX: u32 = 3;

/// A run that is to be.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The job.
    pub job: Job,
    /// Text of the job file, which distinguishes the job from others.
    pub text: String,
    /// Cost of its units.
    pub work: Work,
    /// Standard input of each unit; empty if no unit reads any.
    pub stdin: Vec<String>,
    /// Files that units read beside that: arguments have an [`Input::mark`] where its path is to stand.
    pub inputs: Vec<Input>,
    /// The policy that decides.
    pub policy: Spec,
    /// The folder where results are kept.
    pub folder: PathBuf,
    /// Protection of the connections to workers.
    pub security: Security,
    /// Confidence of intervals.
    pub confidence: Confidence,
    /// Time without an answer after which a worker is lost, and its units go to others.
    pub lost_after: Duration,
}

/// Something that a user wants to see.
#[derive(Debug)]
#[non_exhaustive]
pub enum News<'a> {
    /// A worker that is there.
    Joined {
        /// Its name.
        worker: &'a str,
        /// Its host's name.
        host: &'a str,
        /// Number of units at a time.
        n_slots: usize,
    },
    /// A worker that is not there, or no longer.
    Lost {
        /// Its name.
        worker: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// The split of the work, and the forecast.
    Planned {
        /// The split.
        plan: &'a Plan,
        /// Its workers.
        workers: &'a [Worker],
    },
    /// Work that goes to another worker.
    Decided {
        /// `give up` or `run twice`.
        what: &'static str,
        /// The worker.
        worker: &'a str,
        /// Number of units.
        n_units: usize,
        /// The reason.
        why: &'a str,
    },
    /// Failure of a unit, which is tried again.
    Failed {
        /// Number of the unit.
        unit: usize,
        /// The worker that tried.
        worker: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// Progress of the run; once a second.
    Progress {
        /// Units that are done.
        n_done: usize,
        /// Number of all units.
        n_units: usize,
        /// Seconds since the run began.
        seconds: f64,
        /// Forecast of each worker that can be had.
        expected: &'a [Expected],
    },
}

/// Forecast of a worker while a run is going on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Its name.
    pub worker: String,
    /// Units that it has.
    pub n_left: usize,
    /// Time until these are done, in seconds from now; the lower end of the interval.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper end.
    pub upper: f64,
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Time at which the last unit was done, in seconds.
    pub seconds: f64,
    /// Forecast in the beginning; `None` if nothing was left to do.
    pub plan: Option<Plan>,
    /// Each worker's part.
    pub parts: Vec<Part>,
    /// Least time in which it could have been done at the pace that each worker had, in seconds.
    pub hindsight: f64,
    /// Units that went to another worker later.
    pub n_moved: usize,
    /// Units that ran twice.
    pub n_twins: usize,
    /// Share of units whose time lay in the interval that was forecast when they were sent; `None` if too few were done
    /// to know costs.
    pub units_held: Option<f64>,
}

/// Part of a worker.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Its name.
    pub worker: String,
    /// Number of units.
    pub n_units: usize,
    /// Time for which it worked, in seconds.
    pub seconds: f64,
    /// Processor time that it took, in seconds.
    pub cpu_seconds: f64,
}

/// The reason why a run ended before its time. What is done is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Failure of the folder.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// A job without a command.
    #[error("the job has no [command]: a real run needs to know what workers run")]
    NoCommand,
    /// A worker without an endpoint.
    #[error("worker {0} has no `endpoint`: a real run needs to know where it listens, as in `source:tcp:HOST:PORT`")]
    NoEndpoint(String),
    /// A worker with a faulty endpoint.
    #[error("worker {worker}")]
    Endpoint {
        /// Name of the worker.
        worker: String,
        /// Fault of the endpoint.
        source: EndpointError,
    },
    /// Lack of any worker.
    #[error("no worker is left; what is done is kept, and the same command goes on from there")]
    NoWorker,
    /// A unit that cannot be done.
    #[error("unit {unit} failed {N_TRIES_MAX} times, on {worker} at last: {why}")]
    Unit {
        /// Number of the unit.
        unit: usize,
        /// The worker that tried last.
        worker: String,
        /// Description of the failure there.
        why: String,
    },
    /// An interrupt on request.
    #[error("interrupted; what is done is kept, and the same command goes on from there")]
    Interrupted,
}

/// Runs a job.
///
/// # Errors
/// [`RunError`]; what is done is kept in the folder, and is not done again.
pub fn run(
    runner: &Runner,
    is_interrupted: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(News<'_>),
) -> Result<(Finished, Outputs), RunError> {
    let n_units = runner.work.n_units();
    let kept = Kept::open(&runner.folder, &runner.text, n_units)?;
    if kept.n_done() == n_units {
        let finished = Finished {
            seconds: 0.0,
            plan: None,
            parts: Vec::new(),
            hindsight: 0.0,
            n_moved: 0,
            n_twins: 0,
            units_held: None,
        };
        return Ok((finished, Outputs(kept)));
    }
    coordinate(runner, kept, is_interrupted, tell).map(|(finished, kept)| (finished, Outputs(kept)))
}

/// Outputs of the units of a run.
pub struct Outputs(Kept);

impl Outputs {
    /// Writes all outputs, in the order of the units.
    ///
    /// # Errors
    /// If an output cannot be read or written.
    pub fn copy(&self, out: &mut dyn std::io::Write) -> Result<(), KeptError> {
        self.0.copy_outputs(out)
    }

    /// Reads the output of one unit.
    ///
    /// # Errors
    /// If it cannot be read, or is no text.
    pub fn text(&self, unit: usize) -> Result<String, KeptError> {
        self.0.output_text(unit)
    }
}
