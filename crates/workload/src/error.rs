//! Errors of a load.

use std::{ffi::OsString, fmt, io, path::PathBuf, process::ExitStatus, time::Duration};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Reasons why a load cannot be made, or is no longer whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The program of the workers cannot be run.
    #[error("cannot start `{}` as a worker", program.display())]
    Start {
        /// The program that was to be run.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A right that this user lacks to what a worker has to do.
    #[error("a worker may not {step}: needs root, or the permission")]
    NotPermitted {
        /// The step that the worker was about to take.
        step: Step,
        /// The error of the system.
        source: io::Error,
    },
    /// A worker could not do what it has to.
    #[error("a worker cannot {step}")]
    Failed {
        /// The step that the worker was about to take.
        step: Step,
        /// The error of the system.
        source: io::Error,
    },
    /// The scratch file cannot be made, written or read back.
    #[error("cannot use a scratch file in `{}`: needs a directory on a disk with 32 MiB to spare", directory.display())]
    Scratch {
        /// The directory where the file was to be; `TMPDIR` names another place.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A worker is gone that should have run until it is stopped.
    #[error("a worker ended by itself ({status}): needs to run until it is stopped")]
    Ended {
        /// The status with which the worker ended.
        status: ExitStatus,
    },
    /// A started program that does not behave as a worker.
    #[error("`{}` said `{said}` for a worker: needs to call `workload::work` with its last argument", program.display())]
    NoWorker {
        /// The program that was run.
        program: PathBuf,
        /// Its first line.
        said: String,
    },
    /// A started program that writes nothing.
    #[error("`{}` said nothing for {limit:?}: needs to be a worker, and a host that can start one in that time", program.display())]
    Silent {
        /// The program that was run.
        program: PathBuf,
        /// The time for which its first line was awaited.
        limit: Duration,
    },
    /// The arguments of a worker are not those that it was started with.
    #[error("{given:?} is not an order for a worker: needs what a load starts its workers with")]
    Order {
        /// The arguments.
        given: Vec<OsString>,
    },
    /// No hierarchy of control groups with the controller is mounted.
    #[error("this host has no control groups for `{controller}`: needs `cgroup` with it, or `cgroup2`, mounted")]
    NoControlGroups {
        /// `cpu` or `memory`.
        controller: &'static str,
    },
    /// A control group cannot be made.
    #[error("cannot make a control group in `{}`: needs root, or a group that is delegated to this user", parent.display())]
    Group {
        /// The directory where the group was to be.
        parent: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A control group takes no limit.
    #[error("cannot limit `{}` to {cores} cores", group.display())]
    Limit {
        /// The group.
        group: PathBuf,
        /// The number of cores that its processes were to have together.
        cores: f64,
        /// The error of the system.
        source: io::Error,
    },
    /// A control group takes no limit.
    #[error("cannot write the limit `{limit}` to `{}`", file.display())]
    Short {
        /// The group's file.
        file: PathBuf,
        /// The limit that the file was to hold.
        limit: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A process cannot be moved to a control group.
    #[error("cannot move process {process} into `{}`", group.display())]
    Move {
        /// The process.
        process: u32,
        /// The group that the process was to be moved to.
        group: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Step that a worker has to take at some point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Step {
    /// Take a lower priority.
    Nice,
    /// Take a real-time priority.
    RealTime,
    /// Stay on one core.
    OneCore,
    /// Enter its control group.
    Group,
    /// Write, and read back, its scratch file in this directory.
    Scratch(PathBuf),
    /// Start a short process.
    Fork,
    /// Watch whether its parent is still there.
    Watch,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Step::Nice => "take a lower priority",
            Step::RealTime => "take a real-time priority",
            Step::OneCore => "stay on one core",
            Step::Group => "enter its control group",
            Step::Scratch(_) => "use its scratch file",
            Step::Fork => "start a short process",
            Step::Watch => "watch its parent",
        })
    }
}

/// Error that stopped a worker, in a form that the worker can send to its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub step: Step,
    pub errno: i32,
}

impl Fault {
    /// Builds a fault from the step that was about to be taken and the error of the system; for `map_err`.
    pub(crate) fn at<E: Into<io::Error>>(step: Step) -> impl FnOnce(E) -> Fault {
        // An error that is not the system's own says that something could not be read or written.
        move |error| Fault { step, errno: error.into().raw_os_error().unwrap_or(Errno::IO.raw_os_error()) }
    }
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> LoadError {
        let source = io::Error::from_raw_os_error(fault.errno);
        match fault.step {
            Step::Scratch(directory) => LoadError::Scratch { directory, source },
            step if source.kind() == io::ErrorKind::PermissionDenied => LoadError::NotPermitted { step, source },
            step => LoadError::Failed { step, source },
        }
    }
}
