//! `foretop sim replay`: recorded calls on another machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mpi_sim::Settings;
use mpi_sim::compute::Laws;
use mpi_sim::machine::{Description, Machine};
use mpi_sim::replay::{ASSUMPTIONS, Replayed, Script, replay};
use mpi_sim::result::{Draw, Found, Setup, Simulation, calls_by_name, kind};
use program::{Failure, check_folder, written};
use text::help::examples;

use super::{description, fit};
use crate::argument::{Out, Running, Teller, typed};

/// Replay a trace on another machine, without its program
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim replay foretop-trace --machine examples/sim/two-sites.toml --out there.jsonl",
    "foretop sim replay foretop-trace --machine tonight.toml --draws 200",
]))]
pub struct Replay {
    /// A folder of trace files or a merged one, as `foretop mpi trace` leaves them
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// Compute times by these laws, as `foretop sim fit` writes them, instead of the recorded ones
    #[arg(long, value_name = "LAWS.toml")]
    laws: Option<PathBuf>,

    /// Replay this many times, each with speeds and bandwidths drawn from the deviations in the machine file
    #[arg(long, value_name = "N", default_value_t = 0)]
    draws: u32,

    /// Seed for all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the simulated calls as a trace file that `foretop mpi trace show` reads
    #[arg(long, value_name = "FILE.ftrace", help_heading = "Results")]
    trace_out: Option<PathBuf>,

    #[command(flatten)]
    running: Running,

    #[command(flatten)]
    out: Out,
}

impl Replay {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let recordings = recordings(&self.trace)?;
        let mut script = script(&self.trace, &recordings)?;
        let settings = self.running.settings();
        let mut setup = setup(&described, settings, &self.trace);
        if let Some(path) = &self.laws {
            script = script.with_laws(&laws(path)?);
            setup.compute = format!("by the laws in {}", path.display());
        }
        let header = setup.header(typed(), self.seed);
        self.trace_out.as_deref().map_or(Ok(()), check_folder)?;
        let mut writer = self.out.writer(&header)?;
        let played = play(&script, &described, settings)?;
        let calls = calls_by_name(played.calls.iter().flatten());
        let found = Found::of(&played.world.hold(), calls).with_algorithms(&played.algorithms);
        found.write(&mut writer, &described).map_err(Failure::of)?;
        let mut teller = Teller::new();
        for draw in 0..self.draws {
            teller.tell("draws", draw.into(), self.draws.into());
            let drawn = described.drawn(self.seed, draw);
            let played = play(&script, &drawn, settings)?;
            let span_ns = span_ns(&played);
            writer.record(kind::DRAW, &Draw { draw, span_ns }).map_err(Failure::of)?;
        }
        if let Some(path) = &self.trace_out {
            let told = |error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
            let file = std::io::BufWriter::new(std::fs::File::create(path).map_err(told)?);
            mpi_trace::merge(&played.recordings(&recordings), file).map_err(told)?;
        }
        let table = mpi_run::Measurement::table(&Simulation, writer.outcome()).map_err(Failure::of)?;
        written(out.write_all(table.as_bytes()))?;
        match played.stopped {
            None => Ok(()),
            Some(stopped) => Err(Failure::of(stopped)),
        }
    }
}

/// The traces of all ranks.
pub fn recordings(path: &Path) -> Result<Vec<mpi_trace::Recording>, Failure> {
    if fit::is_recorded(path) {
        let why = "holds compute times, not messages: `foretop sim run --compute replay=FILE` and `sim fit` take it";
        return Err(Failure::usage(format!("`{}` {why}", path.display())));
    }
    mpi_job::read(path).map_err(Failure::of)
}

/// Returns the script that repeats what the recordings hold.
pub fn script(path: &Path, recordings: &[mpi_trace::Recording]) -> Result<Script, Failure> {
    Script::of(recordings).map_err(|error| Failure::usage(format!("`{}`: {error}", path.display())))
}

pub fn laws(path: &Path) -> Result<Laws, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Failure::work(format!("cannot read the laws in `{}`: {error}", path.display())))?;
    Laws::read(&text).map_err(|error| Failure::usage(format!("`{}`: {error}", path.display())))
}

/// Returns the description of a replay's result.
pub fn setup<'a>(described: &'a Description, settings: Settings, trace: &Path) -> Setup<'a> {
    Setup {
        machine: described,
        settings,
        compute: format!("recorded in {}", trace.display()),
        algorithms: described.algorithms(),
        assumptions: ASSUMPTIONS,
    }
}

/// Plays on a machine with as many ranks as the script has.
pub fn play(script: &Script, described: &Description, settings: Settings) -> Result<Replayed, Failure> {
    let machine = Machine::new(described, script.n_ranks()).map_err(Failure::usage)?;
    replay(script, machine, settings).map_err(Failure::of)
}

/// Returns the time that a replay took: the latest clock.
pub fn span_ns(played: &Replayed) -> u64 {
    let world = played.world.hold();
    (0..world.machine().n_ranks()).map(|rank| world.clock(rank).as_nanos()).max().unwrap_or(0)
}
