//! What a coordinator and a worker say to each other, as JSON: `docs/formats/job-worker.md`.

use serde::{Deserialize, Serialize};

/// Bytes of output that one answer carries.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a failed unit's standard error that are told.
pub const COMPLAINT_BYTES: usize = 2_000;

/// What a worker is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tell {
    /// Say what you are.
    Hello {},
    /// Say whether an input is there.
    Has {
        /// What is in it.
        input: String,
    },
    /// Take the next bytes of an input's file.
    Put {
        /// The input.
        input: String,
        /// The file.
        file: String,
        /// Bytes that came before.
        offset: u64,
        /// In base64.
        bytes: String,
    },
    /// Keep an input of which everything came.
    Keep {
        /// What is in it.
        input: String,
    },
    /// Do these units, one after the other, after those that are there.
    Run {
        /// The run that they belong to.
        run: String,
        /// Which of the worker's slots does them.
        slot: usize,
        /// What it runs, by the name that it has allowed.
        command: String,
        /// In order.
        units: Vec<Unit>,
    },
    /// Forget a unit: somebody else has done it.
    Drop {
        /// The run that it belongs to.
        run: String,
        /// Which one.
        unit: usize,
    },
    /// Say how far a run is.
    Progress {
        /// The run.
        run: String,
        /// How many ended units are known.
        seen: usize,
    },
    /// Say what a unit wrote.
    Output {
        /// The run.
        run: String,
        /// Which one.
        unit: usize,
        /// Bytes that are known.
        offset: u64,
    },
    /// End a run, and forget it.
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
    /// After the command's path.
    pub args: Vec<String>,
    /// What its process reads from its standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdin: String,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Told {
    /// What it is.
    Hello {
        /// Its host's name.
        host: String,
        /// How many units it does at a time.
        n_slots: usize,
        /// What it runs.
        commands: Vec<String>,
    },
    /// It will be done, or is.
    Done {},
    /// Whether an input is there.
    Has {
        /// So that it need not come again.
        is_there: bool,
    },
    /// How far it is.
    Progress {
        /// Whether it has the run: one that was started anew has not.
        is_known: bool,
        /// For each slot, for how many seconds it has worked on its unit.
        slots: Vec<Option<Working>>,
        /// Units that have ended, after those that are known.
        ended: Vec<Ended>,
        /// What a slot is forecast to give: seconds of processor time, and quantiles of the time that they take, in seconds.
        curve: Vec<(f64, Vec<f64>)>,
        /// What a slot got in the last second, as a share of a core.
        availability: f64,
    },
    /// What a unit wrote, in base64.
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
    /// For so long.
    pub seconds: f64,
}

/// A unit that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Which one.
    pub unit: usize,
    /// Where.
    pub slot: usize,
    /// For how long its process was there.
    pub seconds: f64,
    /// Processor time of the process and those that it waited for.
    pub cpu_seconds: f64,
    /// Bytes that it wrote.
    pub n_bytes: u64,
    /// Why it failed, with the end of its standard error; nothing where it did not.
    pub failure: Option<String>,
}
