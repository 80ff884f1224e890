//! `foretop sim sweep`: a program on many machines, by its traces or as user-level ranks.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mpi_run::{Measurement, Outcome, Writer};
use mpi_sim::collective::Rules;
use mpi_sim::machine::{Description, Mapping, MappingRule};
use mpi_sim::replay::Script;
use mpi_sim::result::{Point, RankTimes, Simulation, kind};
use mpi_sim::{Lock, Settings, World};
use program::{Failure, written};
use text::help::examples;
use units::ByteCount;

use super::description;
use super::kernel::{self, Program};
use super::replay::{self, play, recordings, script};
use crate::argument::{Running, Teller, typed};

/// Run a program on a machine with other numbers of ranks, latencies, bandwidths and mappings
///
/// The program is a set of traces, one for each number of ranks, or a kernel, as for `foretop sim kernel`.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim sweep --machine examples/sim/dragonfly.toml --ranks 16,64,256,1024,4096 --latency 1,10 --out heat.jsonl -- ./heat.so",
    "foretop sim sweep foretop-trace --machine examples/sim/cluster.toml --latency 0.1,1,10 --mapping block,cyclic --out sweep.jsonl",
    "foretop sim sweep foretop-trace --machine examples/sim/cluster.toml --latency 0.1,1,10,100 --out sweep.jsonl --resume",
]))]
pub struct Sweep {
    /// Traces of one program: a folder of trace files or a merged one for each number of ranks
    #[arg(value_name = "TRACE", required_unless_present = "kernel", conflicts_with_all = ["kernel", "ranks"])]
    traces: Vec<PathBuf>,

    /// The number of ranks of a kernel
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "kernel", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Vec<u32>,

    /// Address space for the stack of each rank of a kernel
    #[arg(long, value_name = "BYTES", default_value = "64KiB")]
    stack: ByteCount,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// The factor of all latencies
    #[arg(long, value_name = "FACTOR,…", value_delimiter = ',', default_value = "1")]
    latency: Vec<f64>,

    /// The factor of all bandwidths
    #[arg(long, value_name = "FACTOR,…", value_delimiter = ',', default_value = "1")]
    bandwidth: Vec<f64>,

    /// The mapping of ranks to cores: block, cyclic, sites [default: as the machine file says]
    #[arg(long, value_name = "MAPPING,…", value_delimiter = ',', value_parser = mapping)]
    mapping: Vec<MappingRule>,

    /// The rules that choose the algorithms of collective calls: mpich, open-mpi [default: as the machine file says]
    #[arg(long, value_name = "RULES,…", value_delimiter = ',')]
    collectives: Vec<Rules>,

    /// Write each point to this file as soon as it is known, as JSON Lines
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    out: Option<PathBuf>,

    /// Continue with the points that are not in the file yet
    #[arg(long, requires = "out", help_heading = "Results")]
    resume: bool,

    #[command(flatten)]
    running: Running,

    /// A kernel and its arguments
    #[arg(last = true, requires = "ranks", value_name = "KERNEL.so")]
    kernel: Vec<OsString>,
}

/// A program that is run at points that differ in their machines.
struct Swept<'k> {
    name: String,
    n_ranks: u32,
    what: What<'k>,
}

enum What<'k> {
    Trace(Script),
    Kernel(&'k Program),
}

impl Swept<'_> {
    fn run(&self, machine: &Description, settings: Settings) -> Result<Lock<World>, Failure> {
        match &self.what {
            What::Trace(script) => Ok(play(script, machine, settings)?.world),
            What::Kernel(kernel) => Ok(kernel.run(machine, self.n_ranks, settings)?.0),
        }
    }
}

impl Sweep {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let settings = self.running.settings();
        let kernel = if self.kernel.is_empty() { None } else { Some(Program::load(&self.kernel, self.stack)?) };
        let mut writer = match &self.out {
            Some(path) if self.resume => resumed(path)?,
            path => {
                let setup = match self.traces.first() {
                    Some(trace) => replay::setup(&described, settings, trace),
                    None => kernel::setup(&described, settings),
                };
                Writer::create(path.as_deref(), &setup.header(typed(), 1)).map_err(Failure::of)?
            }
        };
        let machines = self.machines(&described);
        let n_swept = self.traces.len().max(self.ranks.len());
        let mut teller = Teller::new();
        for at in 0..n_swept {
            let swept = self.swept(at, kernel.as_ref())?;
            for (idx, machine) in machines.iter().enumerate() {
                teller.tell("sweep", (at * machines.len() + idx) as u64, (n_swept * machines.len()) as u64);
                let mut point = point(&swept, machine)?;
                if is_there(writer.outcome(), &point)? {
                    continue;
                }
                let world = swept.run(machine, settings)?;
                let world = world.hold();
                if let Some(stopped) = world.stopped() {
                    return Err(Failure::of(stopped.clone()));
                }
                let ranks: Vec<RankTimes> = (0..point.n_ranks).map(|rank| RankTimes::of(&world, rank)).collect();
                let whole: u64 = ranks.iter().map(|rank| rank.span_ns).sum();
                let waiting: u64 = ranks.iter().map(|rank| rank.waiting_ns).sum();
                point.span_ns = ranks.iter().map(|rank| rank.span_ns).max().unwrap_or(0);
                point.waiting_ratio = waiting as f64 / (whole as f64).max(1.0);
                writer.record(kind::POINT, &point).map_err(Failure::of)?;
            }
        }
        let table = Simulation.table(writer.outcome()).map_err(Failure::of)?;
        written(out.write_all(table.as_bytes()))
    }

    /// The trace, or the kernel with the number of ranks, in this place.
    fn swept<'k>(&self, at: usize, kernel: Option<&'k Program>) -> Result<Swept<'k>, Failure> {
        if let Some(trace) = self.traces.get(at) {
            let script = script(trace, &recordings(trace)?)?;
            return Ok(Swept {
                name: trace.display().to_string(),
                n_ranks: script.n_ranks(),
                what: What::Trace(script),
            });
        }
        let name = self.kernel[0].to_string_lossy().into_owned();
        let kernel = kernel.expect("clap asks for traces or a kernel");
        Ok(Swept { name, n_ranks: self.ranks[at], what: What::Kernel(kernel) })
    }

    /// The machine with each combination of what is swept.
    fn machines(&self, described: &Description) -> Vec<Description> {
        let rules = self.mapping.iter().map(|rule| Mapping::Rule(*rule));
        let mappings: Vec<Mapping> =
            if self.mapping.is_empty() { vec![described.mapping.clone()] } else { rules.collect() };
        let collectives =
            if self.collectives.is_empty() { vec![described.collectives] } else { self.collectives.clone() };
        let mut machines = Vec::new();
        for mapping in &mappings {
            for latency in &self.latency {
                for bandwidth in &self.bandwidth {
                    for collectives in &collectives {
                        let mut machine = described.clone();
                        machine.mapping = mapping.clone();
                        machine.factors.latency *= latency;
                        machine.factors.bandwidth *= bandwidth;
                        machine.collectives = *collectives;
                        machines.push(machine);
                    }
                }
            }
        }
        machines
    }
}

/// The result at `path`, behind its last point; it has to be one of this very sweep.
fn resumed(path: &Path) -> Result<Writer, Failure> {
    let plain = |words: &[String]| words.iter().filter(|word| *word != "--resume").cloned().collect::<Vec<_>>();
    let writer = Writer::resume(path, kind::POINT).map_err(Failure::of)?;
    let begun = plain(&writer.outcome().header.arguments);
    if begun == plain(&typed()) {
        return Ok(writer);
    }
    Err(Failure::usage(format!(
        "`{}` was begun by `foretop sim {}`: give the same arguments",
        path.display(),
        begun.join(" ")
    )))
}

/// Returns what is known of a point before it is run.
fn point(swept: &Swept<'_>, machine: &Description) -> Result<Point, Failure> {
    machine.check().map_err(Failure::usage)?;
    let mapping = match &machine.mapping {
        Mapping::Rule(MappingRule::Block) => "block",
        Mapping::Rule(MappingRule::Cyclic) => "cyclic",
        Mapping::Rule(MappingRule::Sites) => "sites",
        Mapping::Nodes(_) => "listed",
    };
    Ok(Point {
        trace: swept.name.clone(),
        n_ranks: swept.n_ranks,
        latency: machine.factors.latency,
        bandwidth: machine.factors.bandwidth,
        mapping: mapping.to_owned(),
        collectives: machine.collectives,
        span_ns: 0,
        waiting_ratio: 0.0,
    })
}

fn is_there(outcome: &Outcome, point: &Point) -> Result<bool, Failure> {
    let known: Vec<Point> = outcome.all(kind::POINT).map_err(Failure::of)?;
    let same = |known: Point| Point { span_ns: 0, waiting_ratio: 0.0, ..known } == *point;
    Ok(known.into_iter().any(same))
}

fn mapping(text: &str) -> Result<MappingRule, String> {
    match text {
        "block" => Ok(MappingRule::Block),
        "cyclic" => Ok(MappingRule::Cyclic),
        "sites" => Ok(MappingRule::Sites),
        _ => Err(format!("`{text}` is no mapping: write block, cyclic or sites")),
    }
}
