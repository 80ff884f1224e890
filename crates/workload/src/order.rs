//! Order of a worker, and its reports: one line of JSON each.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{LoadError, chance::Stream, error::Fault};

/// The last argument of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub task: Task,
    pub terms: Terms,
    pub stream: Stream,
    /// The directory of the control group to enter.
    pub group: Option<PathBuf>,
}

/// Task of a worker, until the worker is killed unless the task says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Counts, in so many threads.
    Spin { n_threads: usize },
    /// Works and sleeps in turns, 30 ms of CPU time and 30 ms of rest on average.
    Burst,
    /// Runs one short process after the other, of so much CPU time on average.
    Fork { mean_cpu: Duration },
    /// Is such a short process: ends when it had so much CPU time, its own start included.
    Brief { cpu: Duration },
    /// Writes a scratch file to the disk and reads it back.
    Disk,
    /// Sleeps, and removes this control group when its parent is gone.
    Keep { group: PathBuf },
}

/// Rules of the scheduler by which a worker runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Terms {
    /// The rules that it was started with.
    #[default]
    Ordinary,
    /// The lowest priority, nice 19.
    Niced,
    /// First in, first out, at the lowest real-time priority.
    RealTime,
    /// Confined to the first of the cores that it may use.
    OneCore,
}

/// A line that a worker writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The worker is set up, and does its task from here on.
    Ready,
    /// The worker cannot do its task, and ends.
    Failed(Fault),
}

impl Order {
    pub(crate) fn to_argument(&self) -> OsString {
        to_line(self).into()
    }

    pub(crate) fn from_arguments(arguments: &[OsString]) -> Result<Order, LoadError> {
        let text = match arguments {
            [only] => only.to_str(),
            _ => None,
        };
        let order = text.and_then(|text| serde_json::from_str(text).ok());
        order.ok_or_else(|| LoadError::Order { given: arguments.to_vec() })
    }
}

impl Report {
    pub(crate) fn to_line(&self) -> String {
        to_line(self)
    }

    pub(crate) fn from_line(line: &str) -> Option<Report> {
        serde_json::from_str(line).ok()
    }
}

fn to_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data, and paths that were seen to be text")
}
