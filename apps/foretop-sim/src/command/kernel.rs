//! `foretop sim kernel`: a program in C as user-level ranks, in tens of thousands.

use std::ffi::{CString, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use clap::Args;
use clock::Stopwatch;
use mpi_run::Failure;
use mpi_sim::machine::Machine;
use mpi_sim::user::native::{Algorithms, Kernel as Loaded, NativeError};
use mpi_sim::{Stopped, World};
use text::Table;
use text::figure::span_ns;
use text::help::examples;
use units::ByteCount;

use super::{description, written};
use crate::argument::Running;

/// Ranks that are named where many wait for ever.
const WAITS_SHOWN: usize = 8;

/// Run a kernel in C as user-level ranks: contexts of one process, in tens of thousands
///
/// The kernel is a shared object, compiled with the header `examples/sim/user/mpi.h`. Its ranks share one process, so it may have
/// no variables outside of functions. Time passes in messages and in what the kernel says it computes.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim kernel -n 64 --machine examples/sim/cluster.toml -- ./ring.so 100",
    "foretop sim kernel -n 16384 --machine examples/sim/dragonfly.toml --workers 2 -- ./ring.so 100",
]))]
pub struct Kernel {
    /// How many ranks
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

    /// The kernel and its arguments
    #[arg(last = true, required = true, value_name = "KERNEL.so")]
    kernel: Vec<OsString>,
}

impl Kernel {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let machine = Machine::new(&description(&self.machine)?, self.ranks).map_err(Failure::usage)?;
        let kernel = Loaded::load(Path::new(&self.kernel[0])).map_err(|error| refused(&error))?;
        let no_zero =
            |argument: OsString| CString::new(argument.into_vec()).expect("the system's arguments end at a zero");
        let arguments: Vec<CString> = self.kernel.into_iter().map(no_zero).collect();
        let name = machine.name().to_owned();
        let settings = self.running.settings();
        let world = World::new(machine, settings);
        let watch = Stopwatch::start();
        let stack_bytes = usize::try_from(self.stack.bytes()).unwrap_or(usize::MAX);
        let ran = kernel.run(&world, stack_bytes, &arguments).map_err(Failure::work)?;
        let took_ns = watch.elapsed_ns();
        let world = world.hold();
        let assumed = format!(
            "machine {name}, {} user-level ranks, protocol {}, workers {}\n\
             not modelled: computing that the kernel does not tell, and what the machine leaves out\n",
            self.ranks, settings.protocol, settings.n_workers
        );
        written(out.write_all(assumed.as_bytes()))?;
        written(out.write_all(shown(&world, self.ranks, &ran, took_ns).as_bytes()))?;
        match world.stopped() {
            Some(stopped) => Err(Failure::work(ended(&world, stopped))),
            None => Ok(()),
        }
    }
}

/// A kernel that cannot be one is a mistake of whoever named it.
fn refused(error: &NativeError) -> Failure {
    match std::error::Error::source(error) {
        Some(source) => Failure::usage(format!("{error}: {source}")),
        None => Failure::usage(error),
    }
}

fn shown(world: &World, n_ranks: u32, ran: &Algorithms, took_ns: u64) -> String {
    let mut table = Table::of_figures(&["", "time", "computing", "sending", "receiving", "waiting", "messages"]);
    let rows = (0..n_ranks).map(|rank| {
        let counts = world.rank_counts(rank);
        let waiting: u64 = counts.waiting_for.values().map(|span| span.as_nanos()).sum();
        let time = world.clock(rank).as_nanos();
        [
            time,
            counts.computing.as_nanos(),
            counts.sending.as_nanos(),
            counts.receiving.as_nanos(),
            waiting,
            counts.n_sent,
        ]
    });
    let rows: Vec<_> = rows.collect();
    let mean = |column: usize| rows.iter().map(|row| row[column] as f64).sum::<f64>() / rows.len() as f64;
    let (last, longest) = rows.iter().enumerate().max_by_key(|(_, row)| row[0]).expect("there is a rank");
    let mut row = |name: String, value: &dyn Fn(usize) -> f64| {
        let times = (0..5).map(|column| span_ns(value(column)));
        table.row([name].into_iter().chain(times).chain([format!("{:.0}", value(5))]));
    };
    row("mean".to_owned(), &mean);
    row(format!("rank {last}"), &|column| longest[column] as f64);
    let n_sent: u64 = rows.iter().map(|row| row[5]).sum();
    let counts = world.counts();
    let mut text = format!(
        "{table}{} rounds, {} null messages, {} slow advances; {} here, {} a message\n",
        counts.n_rounds,
        counts.n_null_messages,
        counts.n_slow_advances,
        span_ns(took_ns as f64),
        span_ns(took_ns as f64 / n_sent.max(1) as f64),
    );
    for (call, algorithm) in ran {
        text.push_str(&format!("{call} by {algorithm}\n"));
    }
    text
}

/// Why it ended before its time, with those who waited for ever.
fn ended(world: &World, stopped: &Stopped) -> String {
    let waits = world.waits();
    let named =
        waits.iter().take(WAITS_SHOWN).map(|wait| format!("rank {} at {} for {}", wait.rank, wait.at, wait.awaits));
    let mut text = format!("{stopped}; waiting: {}", named.collect::<Vec<_>>().join("; "));
    if waits.len() > WAITS_SHOWN {
        text.push_str(&format!("; and {} more", waits.len() - WAITS_SHOWN));
    }
    text
}
