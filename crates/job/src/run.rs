//! A run of split work, as whoever starts it sees it: what is to be done, what happens meanwhile, how it ended.

use std::path::PathBuf;
use std::time::Duration;

use sched::{Job, Plan, Spec, Work, Worker};
use serde::Serialize;
use stream::{EndpointError, Security};
use units::Confidence;

use crate::coordinator::coordinate;
use crate::input::Input;
use crate::kept::{Kept, KeptError};

/// A unit that fails so often ends the run.
pub(crate) const N_TRIES_MAX: u32 = 3;

/// A run that is to be.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The job.
    pub job: Job,
    /// What tells it from other jobs: the text of its file.
    pub text: String,
    /// What its units cost.
    pub work: Work,
    /// What each unit reads from its standard input; nothing where no unit reads any.
    pub stdin: Vec<String>,
    /// What units read beside that: arguments have an [`Input::mark`] where its path is to stand.
    pub inputs: Vec<Input>,
    /// Who decides.
    pub policy: Spec,
    /// Where what is done is kept.
    pub folder: PathBuf,
    /// What protects the connections to workers.
    pub security: Security,
    /// How certain intervals are.
    pub confidence: Confidence,
    /// After so long without an answer a worker is lost, and its units go to others.
    pub lost_after: Duration,
}

/// Something that a user wants to see.
#[derive(Debug)]
#[non_exhaustive]
pub enum News<'a> {
    /// A worker is there.
    Joined {
        /// Its name.
        worker: &'a str,
        /// Its host's.
        host: &'a str,
        /// Units at a time.
        n_slots: usize,
    },
    /// A worker is not there, or no longer.
    Lost {
        /// Its name.
        worker: &'a str,
        /// Why.
        why: &'a str,
    },
    /// What was split, and what is forecast.
    Planned {
        /// The split.
        plan: &'a Plan,
        /// Its workers.
        workers: &'a [Worker],
    },
    /// Work goes to somebody else.
    Decided {
        /// `give up` or `run twice`.
        what: &'static str,
        /// Who.
        worker: &'a str,
        /// How many units.
        n_units: usize,
        /// Why.
        why: &'a str,
    },
    /// A unit failed, and is tried again.
    Failed {
        /// Which one.
        unit: usize,
        /// Who tried.
        worker: &'a str,
        /// Why.
        why: &'a str,
    },
    /// How far it is; once a second.
    Progress {
        /// Units that are done.
        n_done: usize,
        /// Of so many.
        n_units: usize,
        /// Seconds since the run began.
        seconds: f64,
        /// What is forecast of each worker that can be had.
        expected: &'a [Expected],
    },
}

/// What is forecast of a worker while a run is going on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Its name.
    pub worker: String,
    /// Units that it has.
    pub n_left: usize,
    /// When these are done, in seconds from now; the lower end of the interval.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper end.
    pub upper: f64,
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Finished {
    /// When the last unit was done, in seconds.
    pub seconds: f64,
    /// What was forecast in the beginning; nothing where nothing was left to do.
    pub plan: Option<Plan>,
    /// Each worker's part.
    pub parts: Vec<Part>,
    /// The least time in which it could have been done at the pace that each worker had, in seconds.
    pub hindsight: f64,
    /// Units that went to another worker later.
    pub n_moved: usize,
    /// Units that ran twice.
    pub n_twins: usize,
    /// The share of units whose time lay in the interval that was forecast when they were sent; nothing where too few were done to know costs.
    pub units_held: Option<f64>,
}

/// What a worker did.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Its name.
    pub worker: String,
    /// How many units.
    pub n_units: usize,
    /// For how long it worked, in seconds.
    pub seconds: f64,
    /// The processor time that it took, in seconds.
    pub cpu_seconds: f64,
}

/// Why a run ended before its time. What is done is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// A job that says not how.
    #[error("the job has no [command]: a real run needs to know what workers run")]
    NoCommand,
    /// A worker that says not where.
    #[error("worker {0} has no `endpoint`: a real run needs to know where it listens, as in `source:tcp:HOST:PORT`")]
    NoEndpoint(String),
    /// A worker that says wrongly where.
    #[error("worker {worker}")]
    Endpoint {
        /// Who.
        worker: String,
        /// What is wrong.
        source: EndpointError,
    },
    /// Nobody is there.
    #[error("no worker is left; what is done is kept, and the same command goes on from there")]
    NoWorker,
    /// A unit cannot be done.
    #[error("unit {unit} failed {N_TRIES_MAX} times, on {worker} at last: {why}")]
    Unit {
        /// Which one.
        unit: usize,
        /// Who tried last.
        worker: String,
        /// What happened there.
        why: String,
    },
    /// Somebody wanted it to end.
    #[error("interrupted; what is done is kept, and the same command goes on from there")]
    Interrupted,
}

/// Has a job done.
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

/// What the units of a run wrote.
pub struct Outputs(Kept);

impl Outputs {
    /// Writes it all, in the order of the units.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn copy(&self, out: &mut dyn std::io::Write) -> Result<(), KeptError> {
        self.0.copy_outputs(out)
    }

    /// What one unit wrote.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub fn text(&self, unit: usize) -> Result<String, KeptError> {
        self.0.output_text(unit)
    }
}
