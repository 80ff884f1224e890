//! `foretop sim sweep`: a trace on many machines.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mpi_run::{Failure, Measurement, Outcome, Writer};
use mpi_sim::machine::{Description, Mapping, MappingRule};
use mpi_sim::replay::Script;
use mpi_sim::result::{Point, RankTimes, Simulation, kind};
use text::help::examples;

use super::replay::{play, recordings, script, setup, span_ns};
use super::{description, written};
use crate::argument::{Running, Teller, typed};

/// Play a trace on a machine with other latencies, bandwidths and mappings
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim sweep foretop-trace --machine examples/sim/cluster.toml --latency 0.1,1,10 --mapping block,cyclic --out sweep.jsonl",
    "foretop sim sweep foretop-trace --machine examples/sim/cluster.toml --latency 0.1,1,10,100 --out sweep.jsonl --resume",
]))]
pub struct Sweep {
    /// Traces of one program: a folder of trace files or a merged one for each number of ranks
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// What to multiply all latencies by
    #[arg(long, value_name = "FACTOR,…", value_delimiter = ',', default_value = "1")]
    latency: Vec<f64>,

    /// What to multiply all bandwidths by
    #[arg(long, value_name = "FACTOR,…", value_delimiter = ',', default_value = "1")]
    bandwidth: Vec<f64>,

    /// Which rank gets which core: block, cyclic, sites [default: as the machine file says]
    #[arg(long, value_name = "MAPPING,…", value_delimiter = ',', value_parser = mapping)]
    mapping: Vec<MappingRule>,

    /// Write each point to this file as soon as it is known, as JSON Lines
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    out: Option<PathBuf>,

    /// Go on with the points that are not in the file yet
    #[arg(long, requires = "out", help_heading = "Results")]
    resume: bool,

    #[command(flatten)]
    running: Running,
}

impl Sweep {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        let settings = self.running.settings();
        let mut writer = match &self.out {
            Some(path) if self.resume => resumed(path)?,
            path => {
                let header = setup(&described, settings, &self.traces[0]).header(typed(), 1);
                Writer::create(path.as_deref(), &header).map_err(Failure::of)?
            }
        };
        let machines = self.machines(&described);
        let n_points = (self.traces.len() * machines.len()) as u64;
        let mut teller = Teller::new();
        for (trace, n_before) in self.traces.iter().zip((0..).step_by(machines.len())) {
            let script = script(trace, &recordings(trace)?)?;
            for (machine, n_done) in machines.iter().zip(n_before..) {
                teller.tell("sweep", n_done, n_points);
                let mut point = point(trace, &script, machine)?;
                if is_there(writer.outcome(), &point)? {
                    continue;
                }
                let played = play(&script, machine, settings)?;
                if let Some(stopped) = played.stopped {
                    return Err(Failure::of(stopped));
                }
                point.span_ns = span_ns(&played);
                let world = played.world.hold();
                let ranks: Vec<RankTimes> = (0..point.n_ranks).map(|rank| RankTimes::of(&world, rank)).collect();
                let whole: u64 = ranks.iter().map(|rank| rank.span_ns).sum();
                let waiting: u64 = ranks.iter().map(|rank| rank.waiting_ns).sum();
                point.waiting_ratio = waiting as f64 / (whole as f64).max(1.0);
                writer.record(kind::POINT, &point).map_err(Failure::of)?;
            }
        }
        let table = Simulation.table(writer.outcome()).map_err(Failure::of)?;
        written(out.write_all(table.as_bytes()))
    }

    /// The machine with each combination of what is swept.
    fn machines(&self, described: &Description) -> Vec<Description> {
        let rules = self.mapping.iter().map(|rule| Mapping::Rule(*rule));
        let mappings: Vec<Mapping> =
            if self.mapping.is_empty() { vec![described.mapping.clone()] } else { rules.collect() };
        let mut machines = Vec::new();
        for mapping in &mappings {
            for latency in &self.latency {
                for bandwidth in &self.bandwidth {
                    let mut machine = described.clone();
                    machine.mapping = mapping.clone();
                    machine.factors.latency *= latency;
                    machine.factors.bandwidth *= bandwidth;
                    machines.push(machine);
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

/// What is known before it is played.
fn point(trace: &Path, script: &Script, machine: &Description) -> Result<Point, Failure> {
    machine.check().map_err(Failure::usage)?;
    let mapping = match &machine.mapping {
        Mapping::Rule(MappingRule::Block) => "block",
        Mapping::Rule(MappingRule::Cyclic) => "cyclic",
        Mapping::Rule(MappingRule::Sites) => "sites",
        Mapping::Nodes(_) => "listed",
    };
    Ok(Point {
        trace: trace.display().to_string(),
        n_ranks: script.n_ranks(),
        latency: machine.factors.latency,
        bandwidth: machine.factors.bandwidth,
        mapping: mapping.to_owned(),
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
