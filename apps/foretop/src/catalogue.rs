//! All commands by what they are for: the table behind `foretop help`.
//!
//! A command that is built in has its name in its group; its purpose is the first line of its own help. A program of
//! its own, `foretop-NAME`, has a line in [`PROGRAMS`]. Nothing else needs to be changed to add one: help,
//! completions, manual pages and the answer to whoever has not built it come from here.

/// What commands are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    WatchAndAsk,
    ModelsAndTraces,
    Streams,
    Mpi,
    Simulate,
    Emulate,
    MoveLessData,
    Keep,
    ThisProgram,
}

/// A program that is started as `foretop NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What is typed after `foretop`; the file is `foretop-NAME`.
    pub name: &'static str,
    pub group: Group,
    /// One line for the overview.
    pub purpose: &'static str,
    /// The command that builds it, in the project's folder.
    pub build: &'static str,
    /// The command that starts it, where `foretop NAME` cannot. The overview lists that one instead.
    pub instead: Option<&'static str>,
}

/// The groups in the order of the overview, with their titles and the commands that are built in. A group without any
/// is left out.
pub const GROUPS: [(Group, &str, &[&str]); 9] = [
    (Group::WatchAndAsk, "Watch and ask", &["up", "top", "ask", "rules", "runtime", "signals", "export", "forget"]),
    (
        Group::ModelsAndTraces,
        "Models and traces",
        &["models", "predict", "analyze", "fit", "crossval", "replay", "workload", "availability-study"],
    ),
    (Group::Streams, "Streams", &["stream", "compose"]),
    (Group::Mpi, "MPI", &["mpi"]),
    (Group::Simulate, "Simulate", &[]),
    (Group::Emulate, "Emulate", &["wan"]),
    (Group::MoveLessData, "Move less data", &[]),
    (Group::Keep, "Keep", &[]),
    (Group::ThisProgram, "This program", &["token", "completions", "man", "help"]),
];

/// The programs that are known, whether they are built or not.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "ace",
        group: Group::Mpi,
        purpose: "Measure message costs, and emulate applications",
        build: "make mpi",
        instead: Some("foretop mpi ace"),
    },
    Program {
        name: "comb",
        group: Group::Mpi,
        purpose: "Measure how much CPU is left while messages are in flight",
        build: "make mpi",
        instead: Some("foretop mpi comb"),
    },
    Program {
        name: "iow",
        group: Group::WatchAndAsk,
        purpose: "Measure a file system: each operation timed, by record size",
        build: "make kernel",
        instead: None,
    },
    Program {
        name: "kernel",
        group: Group::WatchAndAsk,
        purpose: "See what this host's kernel is doing, at a stated and bounded cost",
        build: "make kernel",
        instead: None,
    },
    Program {
        name: "miniapp",
        group: Group::Mpi,
        purpose: "Run small programs that live on allreduce",
        build: "make mpi",
        instead: Some("foretop mpi miniapp"),
    },
    Program {
        name: "noise",
        group: Group::Mpi,
        purpose: "Measure how much time the operating system takes",
        build: "make mpi",
        instead: Some("foretop mpi noise"),
    },
    Program {
        name: "sim",
        group: Group::Simulate,
        purpose: "Predict an MPI program on a machine that you do not have",
        build: "make build",
        instead: None,
    },
    Program {
        name: "sched",
        group: Group::Simulate,
        purpose: "Split work among workers by what they are forecast to give",
        build: "make build",
        instead: None,
    },
    Program {
        name: "sequences",
        group: Group::Simulate,
        purpose: "Search a sequence library with several workers, with the output of one run",
        build: "make build",
        instead: None,
    },
    Program {
        name: "play",
        group: Group::MoveLessData,
        purpose: "Play sound that slows down instead of stopping",
        build: "make build",
        instead: None,
    },
    Program {
        name: "tunnel",
        group: Group::MoveLessData,
        purpose: "Carry connections over a slow link, and send nothing twice",
        build: "make build",
        instead: None,
    },
    Program {
        name: "dedup",
        group: Group::MoveLessData,
        purpose: "Say what sending nothing twice would save",
        build: "make build",
        instead: None,
    },
];

/// Those that `foretop NAME` starts.
pub fn started_by_name(programs: &[Program]) -> impl Iterator<Item = &Program> {
    programs.iter().filter(|program| program.instead.is_none())
}
