//! All codes under all protocols.

use std::num::NonZero;

use des::{Protocol, Rounds, SyncInfo};
use mpi_sim::machine::{Description, Machine, MachineError};
use mpi_sim::user::{self, STACK_BYTES, UserError};
use mpi_sim::{Counts, World};
use units::{Rank, SimDuration, SimTime};

use crate::code::Code;
use crate::crafted;

/// The SP2's switch, as far as the report tells of it: all messages take as long as their latency, or 40 MB/s allow.
const MACHINE: &str = "format = 1\nname = \"SP2\"\n[[site]]\nname = \"ucla\"\nnodes = 64\ncores = 1\n[level.cluster]\nlatency = \"40us\"\nbandwidth = \"320Mbit/s\"\n";
/// Number of tries after which stretches are within a percent or two of what is wanted.
const N_TRIES: u32 = 6;
/// Numbers of workers whose rounds are compared.
pub(crate) const N_WORKERS: [u32; 3] = [1, 2, 4];

/// Settings of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Steps of each code.
    pub n_steps: u32,
    /// Seed of all spans.
    pub seed: u64,
}

/// Results of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Study {
    /// Settings with which the study was made.
    pub settings: Settings,
    /// The least time that a message takes.
    pub lookahead: SimDuration,
    /// One for each code, number of ranks, protocol and number of workers.
    pub runs: Vec<Run>,
    /// Rank whose message the crafted case received first: in order, with a quantum of the lookahead,
    /// and with one ten times as long.
    pub heard: [Rank; 3],
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The code that ran.
    pub code: Code,
    /// Number of ranks.
    pub n_ranks: u32,
    /// Mode by which the ranks knew that nothing earlier can arrive.
    pub mode: Mode,
    /// Number of workers, which is how many run at a time.
    pub n_workers: u32,
    /// Counts of the run.
    pub counts: Counts,
    /// Simulated time at the end.
    pub ended: SimTime,
}

/// The report's modes of the simulator, and what it compares them with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Windows as long as the lookahead.
    Quantum,
    /// Conditional events.
    Cep,
    /// Null messages.
    Nmp,
    /// Both.
    Both,
    /// Both, and ranks whose sources are named go on.
    Deterministic,
    /// The same, where tags are declared to be one source's each.
    Declared,
}

/// The reason why there is no study.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// No machine for so many.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// No room for the ranks.
    #[error(transparent)]
    Ranks(#[from] UserError),
    /// A code got stuck.
    #[error("{code} on {n_ranks} ranks stopped: {stopped}")]
    Stopped {
        /// The code.
        code: Code,
        /// Number of ranks.
        n_ranks: u32,
        /// Why.
        stopped: mpi_sim::Stopped,
    },
}

impl Mode {
    /// All modes, in the order of the tables.
    pub const ALL: [Self; 6] = [Self::Quantum, Self::Cep, Self::Nmp, Self::Both, Self::Deterministic, Self::Declared];

    /// Returns the mode as a protocol of the simulator.
    #[must_use]
    pub fn protocol(self, lookahead: SimDuration) -> Protocol {
        let rounds = |sync_info, deterministic| Protocol::Rounds(Rounds { sync_info, deterministic });
        match self {
            Self::Quantum => Protocol::Quantum(lookahead),
            Self::Cep => rounds(SyncInfo::Cep, false),
            Self::Nmp => rounds(SyncInfo::Nmp, false),
            Self::Both => rounds(SyncInfo::Both, false),
            Self::Deterministic | Self::Declared => rounds(SyncInfo::Both, true),
        }
    }

    /// Returns the mode's name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quantum => "quantum",
            Self::Cep => "CEP",
            Self::Nmp => "NMP",
            Self::Both => "NMP+CEP",
            Self::Deterministic => "NMP+CEP+DET",
            Self::Declared => "with unique tags",
        }
    }
}

impl Study {
    /// The rounds of one run.
    #[must_use]
    pub fn rounds(&self, code: Code, n_ranks: u32, mode: Mode, n_workers: u32) -> Option<u64> {
        let is_meant =
            |run: &&Run| (run.code, run.n_ranks, run.mode, run.n_workers) == (code, n_ranks, mode, n_workers);
        self.runs.iter().find(is_meant).map(|run| run.counts.n_rounds)
    }
}

/// Runs all codes, and the crafted case. `progress` is told of each run before it begins.
///
/// # Errors
/// [`StudyError`]: more ranks than there is room for.
pub fn study(settings: Settings, mut progress: impl FnMut(&str)) -> Result<Study, StudyError> {
    let description = Description::read(MACHINE)?;
    let machine = |n_ranks| Machine::new(&description, n_ranks);
    let lookahead = machine(2)?.least_lookahead();
    let mut runs = Vec::new();
    for code in Code::ALL {
        for n_ranks in code.ranks() {
            progress(&format!("{code} on {n_ranks} ranks"));
            let machine = machine(n_ranks)?;
            let mean = mean_span(&machine, code, settings)?;
            for mode in Mode::ALL {
                for n_workers in N_WORKERS {
                    runs.push(run(&machine, code, mode, n_workers, settings, mean)?);
                }
            }
        }
    }
    let crafted = machine(crafted::N_RANKS)?;
    let ten = SimDuration::from_nanos(10 * lookahead.as_nanos());
    let heard = [
        crafted::heard_first(&crafted, Protocol::Sequential)?,
        crafted::heard_first(&crafted, Protocol::Quantum(lookahead))?,
        crafted::heard_first(&crafted, Protocol::Quantum(ten))?,
    ];
    Ok(Study { settings, lookahead, runs, heard })
}

/// Returns the mean time that ranks compute, so that they come as far as Table 8-2 says until they have to wait: found
/// by trying, as what they wait for depends on it. Of 4 ranks the report has no figure; they get that of the next
/// number.
fn mean_span(machine: &Machine, code: Code, settings: Settings) -> Result<SimDuration, StudyError> {
    let n_ranks = if machine.n_ranks() == 4 { code.ranks()[1] } else { machine.n_ranks() };
    let wanted = code.published_stretch(n_ranks).unwrap_or(1.0) * machine.least_lookahead().as_nanos() as f64;
    let mut mean_ns = wanted;
    for _ in 0..N_TRIES {
        let mean = SimDuration::from_nanos(mean_ns as u64);
        let counts = run(machine, code, Mode::Both, 1, settings, mean)?.counts;
        mean_ns *= wanted / (counts.stretched.as_nanos() as f64 / counts.n_stretches.max(1) as f64);
    }
    Ok(SimDuration::from_nanos(mean_ns as u64))
}

fn run(
    machine: &Machine,
    code: Code,
    mode: Mode,
    n_workers: u32,
    Settings { n_steps, seed }: Settings,
    mean: SimDuration,
) -> Result<Run, StudyError> {
    let (n_ranks, lookahead) = (machine.n_ranks(), machine.least_lookahead());
    let world = World::new(machine.clone(), settings(mode.protocol(lookahead), n_workers));
    let everybody: Vec<Rank> = (0..n_ranks).collect();
    user::run(&world, STACK_BYTES, |rank| {
        rank.declare(0, &everybody, mode == Mode::Declared);
        code.run(rank, seed, n_steps, mean)
    })?;
    let world = world.hold();
    if let Some(stopped) = world.stopped() {
        return Err(StudyError::Stopped { code, n_ranks, stopped: stopped.clone() });
    }
    let ended = everybody.iter().map(|rank| world.clock(*rank)).max().unwrap_or_default();
    Ok(Run { code, n_ranks, mode, n_workers, counts: world.counts(), ended })
}

pub(crate) fn settings(protocol: Protocol, n_workers: u32) -> mpi_sim::Settings {
    mpi_sim::Settings {
        protocol,
        n_workers: NonZero::new(n_workers).unwrap_or(NonZero::<u32>::MIN),
        has_unique_tags: false,
    }
}
