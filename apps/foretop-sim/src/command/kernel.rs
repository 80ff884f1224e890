//! `foretop sim kernel`: a program in C as user-level ranks, in tens of thousands.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use clock::Stopwatch;
use mpi_run::Measurement;
use mpi_sim::machine::{Description, Machine};
use mpi_sim::result::{Found, Setup, Simulation};
use mpi_sim::user::native::{Algorithms, Kernel as Loaded, NativeError};
use mpi_sim::{Lock, Settings, World};
use program::{Failure, written};
use text::figure::span_ns;
use text::help::examples;
use units::ByteCount;

use super::description;
use crate::argument::{Out, Running, typed};

/// Run a kernel in C as user-level ranks: contexts of one process, in tens of thousands
///
/// The kernel is a shared object, compiled with the header `examples/sim/user/mpi.h`. Its ranks share one process, so
/// it may have no variables outside of functions. Time passes in messages and in the computation that the kernel
/// reports.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim kernel -n 64 --machine examples/sim/cluster.toml -- ./ring.so 100",
    "foretop sim kernel -n 16384 --machine examples/sim/dragonfly.toml --workers 2 -- ./ring.so 100",
]))]
pub struct Kernel {
    /// The number of ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// Address space for the stack of each rank; only what is used takes memory
    #[arg(long, value_name = "BYTES", default_value = "64KiB")]
    stack: ByteCount,

    #[command(flatten)]
    running: Running,

    #[command(flatten)]
    out: Out,

    /// The kernel and its arguments
    #[arg(last = true, required = true, value_name = "KERNEL.so")]
    kernel: Vec<OsString>,
}

/// A kernel with its arguments.
pub struct Program {
    loaded: Loaded,
    arguments: Vec<CString>,
    stack_bytes: usize,
}

impl Program {
    /// The first word names the kernel.
    pub fn load(words: &[OsString], stack: ByteCount) -> Result<Self, Failure> {
        let loaded = Loaded::load(Path::new(&words[0])).map_err(|error| refused(&error))?;
        let no_zero = |word: &OsString| CString::new(word.as_bytes()).expect("the system's arguments end at a zero");
        let stack_bytes = usize::try_from(stack.bytes()).unwrap_or(usize::MAX);
        Ok(Self { loaded, arguments: words.iter().map(no_zero).collect(), stack_bytes })
    }

    /// Runs it with so many ranks: how they stand in the end, and the algorithms of its collective calls.
    pub fn run(
        &self,
        machine: &Description,
        n_ranks: u32,
        settings: Settings,
    ) -> Result<(Lock<World>, Algorithms), Failure> {
        let world = World::new(Machine::new(machine, n_ranks).map_err(Failure::usage)?, settings);
        let ran = self.loaded.run(&world, self.stack_bytes, &self.arguments).map_err(Failure::work)?;
        Ok((world, ran))
    }
}

/// Returns the description of a kernel's result: the machine, the settings and what is taken for granted.
pub fn setup(machine: &Description, settings: Settings) -> Setup<'_> {
    Setup {
        machine,
        settings,
        compute: "what the kernel says; computing that it does not tell takes none".to_owned(),
        algorithms: machine.algorithms(),
        assumptions: &[],
    }
}

impl Kernel {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let kernel = Program::load(&self.kernel, self.stack)?;
        let settings = self.running.settings();
        // No result is begun on a machine that is too small.
        Machine::new(&described, self.ranks).map_err(Failure::usage)?;
        let mut writer = self.out.writer(&setup(&described, settings).header(typed(), 0))?;
        let watch = Stopwatch::start();
        let (world, ran) = kernel.run(&described, self.ranks, settings)?;
        let took_ns = watch.elapsed_ns() as f64;
        let world = world.hold();
        let found = Found::of(&world, BTreeMap::new()).with_algorithms(&ran);
        found.write(&mut writer, &described).map_err(Failure::of)?;
        let mut told = Simulation.table(writer.outcome()).map_err(Failure::of)?;
        let a_message = took_ns / found.run.n_messages.max(1) as f64;
        told += &format!("\ntook {} here, {} a message\n", span_ns(took_ns), span_ns(a_message));
        written(out.write_all(told.as_bytes()))?;
        world.stopped().map_or(Ok(()), |stopped| Err(Failure::of(stopped.clone())))
    }
}

/// A kernel that cannot be one is a mistake of whoever named it.
fn refused(error: &NativeError) -> Failure {
    match std::error::Error::source(error) {
        Some(source) => Failure::usage(format!("{error}: {source}")),
        None => Failure::usage(error),
    }
}
