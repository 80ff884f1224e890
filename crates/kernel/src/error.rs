//! Errors that keep a measurement from being made.

use std::io;
use std::path::PathBuf;

/// The reason why a measurement cannot be made as it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no subsystem has.
    #[error("there is no subsystem `{name}`; there are {known}")]
    NoSuchSubsystem {
        /// Name that was asked for.
        name: String,
        /// Names of all subsystems.
        known: String,
    },
    /// A number that no node has.
    #[error("there is no node {number}; there are {known}")]
    NoSuchNode {
        /// Number that was asked for.
        number: u32,
        /// Numbers of all nodes.
        known: String,
    },
    /// A name that no point of the subsystem has.
    #[error("subsystem `{subsystem}` has no point `{name}`; `foretop kernel status --points` lists them")]
    NoSuchPoint {
        /// The subsystem.
        subsystem: &'static str,
        /// Name that was asked for.
        name: String,
    },
    /// A setting that makes no sense.
    #[error("the {what} `{value}` makes no sense; it is {right}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// Value that was asked for.
        value: String,
        /// Description of the right values.
        right: &'static str,
    },
    /// The agent cannot listen.
    #[error("cannot listen at `{}`", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Lack of an agent that answers.
    #[error("no agent answers at `{}`; start one with `foretop kernel agent`", path.display())]
    NoAgent {
        /// The socket.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The agent refuses the request.
    #[error("the agent refuses: {why}")]
    AgentRefused {
        /// The reason that the agent gives.
        why: String,
    },
    /// A file of /proc or /sys.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file of /proc that does not look as it should.
    #[error("`{}` has no {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part that was looked for.
        what: &'static str,
    },
    /// Limits of size groups that make no groups.
    #[error("size groups `{text}`: {wrong}; give up to 7 ascending sizes, such as `4096,65536,1048576`")]
    Groups {
        /// Limits that were given.
        text: String,
        /// Fault of the limits.
        wrong: &'static str,
    },
    /// A node that cannot be measured.
    #[error("node `{text}`: {wrong}; give `host`, `cgroup:PATH` or `tree:PID`")]
    Node {
        /// Node that was given.
        text: String,
        /// Fault of the node.
        wrong: &'static str,
    },
    /// This arm cannot measure a part of the host.
    #[error(
        "{arm} cannot tell one cgroup or process tree from another; measure the whole host, or run as root with BPF"
    )]
    WholeHostOnly {
        /// Name of the arm.
        arm: &'static str,
    },
    /// The kernel has no types of itself, which programs are fitted to it with.
    #[error("this kernel has no `/sys/kernel/btf/vmlinux`, so programs cannot be fitted to it; use `--source proc`")]
    NoBtf,
    /// A file of points that makes no points.
    #[error("{wrong}")]
    UserPoints {
        /// Fault of the file.
        wrong: String,
    },
    /// Failure to write the measurements.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// Lack of the right to load programs into the kernel.
    #[error("loading programs into the kernel needs root (or CAP_BPF and CAP_PERFMON); use `--source proc`")]
    NotAllowed,
    /// The kernel refused a program or map.
    #[error("the kernel does not take the programs of subsystem `{subsystem}` ({doing})")]
    Refused {
        /// The subsystem.
        subsystem: &'static str,
        /// The step that failed.
        doing: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
}
