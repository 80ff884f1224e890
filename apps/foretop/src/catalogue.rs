//! All commands by what they are for: the table behind `foretop help`.
//!
//! A command that is built in has its name in its group; its purpose is the first line of its own help. A program of
//! its own has a line in [`PROGRAMS`]. Nothing else needs to be changed to add one: help,
//! completions, manual pages and the answer to whoever has not built it come from here.

/// The purposes of commands.
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
    /// Word that is typed after `foretop`.
    pub name: &'static str,
    /// The file `foretop-FILE`, if it has several commands: the name is then its first argument. `None` for
    /// `foretop-NAME`.
    pub file: Option<&'static str>,
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
    (Group::ModelsAndTraces, "Models and traces", &["models", "predict", "analyze", "fit", "replay"]),
    (Group::Streams, "Streams", &[]),
    (Group::Mpi, "MPI", &[]),
    (Group::Simulate, "Simulate", &[]),
    (Group::Emulate, "Emulate", &[]),
    (Group::MoveLessData, "Move less data", &[]),
    (Group::Keep, "Keep", &[]),
    (Group::ThisProgram, "This program", &["token", "completions", "man", "help"]),
];

/// The program with all commands that need no system library and that a node does not need: `foretop-tools`.
pub const TOOLS: &str = "tools";

/// The programs that are known, whether they are built or not.
pub const PROGRAMS: &[Program] = &[
    tool("crossval", Group::ModelsAndTraces, "Find the best model of a signal by random test cases"),
    tool("workload", Group::ModelsAndTraces, "Make this host busy in a known way"),
    tool("availability-study", Group::ModelsAndTraces, "Measure how accurate CPU availability forecasts are here"),
    tool("stream", Group::Streams, "Run one component of a prediction system"),
    tool("compose", Group::Streams, "Run a system of components that a file describes"),
    tool("mpi", Group::Mpi, "Measure, trace and speed up MPI programs"),
    tool("wan", Group::Emulate, "Emulate a wide-area network on this machine"),
    under_mpi("ace", "foretop mpi ace", "Measure message costs, and emulate applications"),
    under_mpi("comb", "foretop mpi comb", "Measure how much CPU is left while messages are in flight"),
    program("iow", Group::WatchAndAsk, "make kernel", "Measure a file system: each operation timed, by record size"),
    program(
        "kernel",
        Group::WatchAndAsk,
        "make kernel",
        "See what this host's kernel is doing, at a stated and bounded cost",
    ),
    under_mpi("miniapp", "foretop mpi miniapp", "Run small programs that live on allreduce"),
    under_mpi("noise", "foretop mpi noise", "Measure how much time the operating system takes"),
    program("sim", Group::Simulate, "make programs", "Predict an MPI program on a machine that you do not have"),
    program("sched", Group::Simulate, "make programs", "Split work among workers by what they are forecast to give"),
    program(
        "sequences",
        Group::Simulate,
        "make programs",
        "Search a sequence library with several workers, with the output of one run",
    ),
    program("play", Group::MoveLessData, "make programs", "Play sound that slows down instead of stopping"),
    program(
        "tunnel",
        Group::MoveLessData,
        "make programs",
        "Carry connections over a slow link, and send nothing twice",
    ),
    program("dedup", Group::MoveLessData, "make programs", "Estimate what redundancy elimination would save"),
];

/// Hidden commands of `foretop-tools`, which are started by name and not listed.
pub const HIDDEN_TOOLS: [&str; 1] = ["pred-reconfig"];

/// A command of `foretop-tools`.
const fn tool(name: &'static str, group: Group, purpose: &'static str) -> Program {
    Program { file: Some(TOOLS), ..program(name, group, "make programs", purpose) }
}

/// A program that runs under MPI, which another command launches.
const fn under_mpi(name: &'static str, instead: &'static str, purpose: &'static str) -> Program {
    Program { instead: Some(instead), ..program(name, Group::Mpi, "make mpi", purpose) }
}

const fn program(name: &'static str, group: Group, build: &'static str, purpose: &'static str) -> Program {
    Program { name, file: None, group, purpose, build, instead: None }
}

/// Those that `foretop NAME` starts.
pub fn started_by_name(programs: &[Program]) -> impl Iterator<Item = &Program> {
    programs.iter().filter(|program| program.instead.is_none())
}
