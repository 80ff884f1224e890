//! Messages between a coordinator and a worker, as JSON: `docs/formats/job-worker.md`.

use serde::{Deserialize, Serialize};

/// Bytes of output that one answer carries.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a failed unit's standard error that are sent.
pub const COMPLAINT_BYTES: usize = 2_000;

/// A request to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkRequest {
    /// Asks for a description of the worker.
    Hello {},
    /// Asks whether an input is there.
    Has {
        /// Hash of its contents.
        input: String,
    },
    /// Sends the next bytes of an input's file.
    Put {
        /// The input.
        input: String,
        /// The file.
        file: String,
        /// Bytes that came before.
        offset: u64,
        /// The bytes in base64.
        bytes: String,
    },
    /// Has the worker keep an input of which everything has come.
    Keep {
        /// Hash of its contents.
        input: String,
    },
    /// Has these units run, one after the other, after those that are there.
    Run {
        /// The run that they belong to.
        run: String,
        /// The worker's slot that runs the units.
        slot: usize,
        /// Command to run, by the name that the worker has allowed.
        command: String,
        /// The units, in order.
        units: Vec<Unit>,
    },
    /// Has a unit forgotten: another worker has done it.
    Drop {
        /// The run that it belongs to.
        run: String,
        /// Number of the unit.
        unit: usize,
    },
    /// Asks for the progress of a run.
    Progress {
        /// The run.
        run: String,
        /// Number of ended units that are known.
        seen: usize,
    },
    /// Asks for the output of a unit.
    Output {
        /// The run.
        run: String,
        /// Number of the unit.
        unit: usize,
        /// Number of bytes that are known.
        offset: u64,
    },
    /// Ends a run, and has it forgotten.
    Stop {
        /// The run.
        run: String,
    },
}

/// A unit and the arguments of its process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Its number.
    pub unit: usize,
    /// Arguments after the command's path.
    pub args: Vec<String>,
    /// Text that its process reads from its standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdin: String,
}

/// An answer of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum WorkResponse {
    /// Description of the worker.
    Hello {
        /// Its host's name.
        host: String,
        /// Number of units that it does at a time.
        n_slots: usize,
        /// Commands that it runs.
        commands: Vec<String>,
    },
    /// Consent: the request is done, or will be.
    Done {},
    /// Whether an input is there.
    Has {
        /// Whether the input is there, so that it need not come again.
        is_there: bool,
    },
    /// Progress of a run.
    Progress {
        /// Whether the worker has the run: one that was started anew has not.
        is_known: bool,
        /// Unit of each slot, and the seconds for which the slot has worked on it.
        slots: Vec<Option<Working>>,
        /// Units that have ended, after those that are known.
        ended: Vec<Ended>,
        /// Forecast for a slot: seconds of processor time, and quantiles of the time that they take, in seconds.
        curve: Vec<(f64, Vec<f64>)>,
        /// Share of a core that a slot got in the last second.
        availability: f64,
    },
    /// Output of a unit, in base64.
    Output {
        /// The next bytes.
        bytes: String,
        /// Whether that is all.
        is_all: bool,
    },
}

/// A slot at work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Working {
    /// The unit.
    pub unit: usize,
    /// Time for which the slot has worked on it, in seconds.
    pub seconds: f64,
}

/// A unit that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Number of the unit.
    pub unit: usize,
    /// The slot that ran the unit.
    pub slot: usize,
    /// Time for which its process was there.
    pub seconds: f64,
    /// Processor time of the process and those that it waited for.
    pub cpu_seconds: f64,
    /// Bytes that it wrote.
    pub n_bytes: u64,
    /// The reason why it failed, with the end of its standard error; `None` if it did not.
    pub failure: Option<String>,
}
