//! What keeps a measurement from being made.

use std::io;
use std::path::PathBuf;

/// Why a measurement cannot be made as it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No subsystem has this name.
    #[error("there is no subsystem `{name}`; there are {known}")]
    NoSuchSubsystem {
        /// What was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// No node has this number.
    #[error("there is no node {number}; there are {known}")]
    NoSuchNode {
        /// What was asked for.
        number: u32,
        /// All that there are.
        known: String,
    },
    /// No point of the subsystem has this name.
    #[error("subsystem `{subsystem}` has no point `{name}`; `foretop kernel status --points` lists them")]
    NoSuchPoint {
        /// Whose.
        subsystem: &'static str,
        /// What was asked for.
        name: String,
    },
    /// A setting that makes no sense.
    #[error("the {what} `{value}` makes no sense; it is {right}")]
    Setting {
        /// Which.
        what: &'static str,
        /// What was asked for.
        value: String,
        /// What would be right.
        right: &'static str,
    },
    /// The agent cannot listen.
    #[error("cannot listen at `{}`", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No agent answers.
    #[error("no agent answers at `{}`; start one with `foretop kernel agent`", path.display())]
    NoAgent {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent does not do it.
    #[error("the agent refuses: {why}")]
    AgentRefused {
        /// Its words.
        why: String,
    },
    /// A file of /proc or /sys.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of /proc that does not look as it should.
    #[error("`{}` has no {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// Limits of size groups that make no groups.
    #[error("size groups `{text}`: {wrong}; give up to 7 ascending sizes, such as `4096,65536,1048576`")]
    Groups {
        /// What was given.
        text: String,
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// A node that cannot be measured.
    #[error("node `{text}`: {wrong}; give `host`, `cgroup:PATH` or `tree:PID`")]
    Node {
        /// What was given.
        text: String,
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// This arm cannot measure a part of the host.
    #[error(
        "{arm} cannot tell one cgroup or process tree from another; measure the whole host, or run as root with BPF"
    )]
    WholeHostOnly {
        /// Which arm.
        arm: &'static str,
    },
    /// The kernel has no types of itself, which programs are fitted to it with.
    #[error("this kernel has no `/sys/kernel/btf/vmlinux`, so programs cannot be fitted to it; use `--source proc`")]
    NoBtf,
    /// A file of points that makes no points.
    #[error("{wrong}")]
    UserPoints {
        /// What is wrong with it.
        wrong: String,
    },
    /// What was measured cannot be written.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// Not allowed to load programs into the kernel.
    #[error("loading programs into the kernel needs root (or CAP_BPF and CAP_PERFMON); use `--source proc`")]
    NotAllowed,
    /// The kernel refused a program or map.
    #[error("the kernel does not take the programs of subsystem `{subsystem}` ({doing})")]
    Refused {
        /// Whose.
        subsystem: &'static str,
        /// What was being done.
        doing: &'static str,
        /// What it said.
        source: io::Error,
    },
}
