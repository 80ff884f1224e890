//! `foretop sim run`: an unmodified program on a machine that is not there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use clap::Args;
use mpi_run::Measurement;
use mpi_sim::machine::Machine;
use mpi_sim::process::{self, Compute, Parts, Program, RankReport, Report, Setup};
use mpi_sim::result::{self, CallUse, Ending, Found, RankTimes, Simulation};
use program::{Failure, check_folder, written};
use rustix::process::{Pid, Signal, kill_process};
use text::figure::span_ns;
use text::help::examples;

use super::{description, fit, replay};
use crate::argument::{Out, Running, typed};

/// A folder with the programs for MPI, looked into before all others.
const FOLDER_VARIABLE: &str = "FORETOP_MPI_PROGRAMS";
/// Folders of the library, from the place of this program; the folder of components is beside the library.
const FOLDERS: [&str; 3] = [".", "../lib/foretop", "../mpi"];
const LIBRARY: &str = "libmpi_sim_component.so";
const COMPONENTS: &str = "sim";
const TRACER: &str = "libmpi_tracer.so";
/// Messages that are named where many are left.
const UNRECEIVED_SHOWN: usize = 8;
/// Remedy where a program ran to its end without MPI.
const NOT_MPI: &str = "give a program that is linked dynamically with Open MPI or MPICH, or what runs one";
/// The end of a program that never became ranks.
const NO_RANKS: &str = "the program ended before its ranks began: can it be started by itself, and if it is a script, \
                        does it start a program with MPI?";
/// Assumptions if the program itself runs.
const ASSUMPTIONS: &[&str] = &[
    "bytes of a call are those that it sends; what a one-sided or a collective call sends counts as its messages",
    "time in a call is that of its messages and waits: the processor time of the MPI library is not counted",
    "not modelled: MPI-IO, time that threads that never call MPI compute, and processes that ranks start",
];

/// Run an MPI program, unmodified, and simulate its messages and clocks
///
/// The program is one for Open MPI or MPICH, in any language. Its ranks are processes of this host; their messages take
/// the simulated machine's time.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim run -n 16 --machine examples/sim/two-sites.toml -- ./heat 512",
    "foretop sim run -n 64 --machine examples/sim/cluster.toml --compute none -- python3 solve.py",
]))]
pub struct Run {
    /// The number of ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// The source of the time between calls: direct, the processor time that it takes here; none; record=FILE, as
    /// direct, and stored in the file; replay=FILE, the times in that file; model=LAWS.toml, laws that `foretop sim
    /// fit` made of such files
    #[arg(long, value_name = "SOURCE", default_value = "direct", value_parser = compute)]
    compute: Compute,

    /// Record all calls in this folder, in simulated time, as `foretop mpi trace` does in real time
    #[arg(long, value_name = "FOLDER")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    running: Running,

    #[command(flatten)]
    out: Out,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Returns the source of the time between calls, for the assumptions of a result.
fn said(compute: &Compute) -> String {
    match compute {
        Compute::Direct => "processor time between calls on this host, by the machine's speed".to_owned(),
        Compute::None => "none".to_owned(),
        Compute::Record(path) => {
            format!("processor time between calls on this host, by the machine's speed, kept in {}", path.display())
        }
        Compute::Replay(path) => format!("recorded in {}, by the machine's speed", path.display()),
        Compute::Model(path) => format!("by the laws in {}, by the machine's speed", path.display()),
    }
}

fn compute(word: &str) -> Result<Compute, String> {
    Ok(match word.split_once('=') {
        None if word == "direct" => Compute::Direct,
        None if word == "none" => Compute::None,
        Some(("record", file)) => Compute::Record(file.into()),
        Some(("replay", file)) => Compute::Replay(file.into()),
        Some(("model", file)) => Compute::Model(file.into()),
        _ => return Err("direct, none, record=FILE, replay=FILE or model=LAWS.toml are possible".to_owned()),
    })
}

/// Whether the file that compute times are from is one, and the file that they go to has a folder.
fn check(compute: &Compute, n_ranks: u32) -> Result<(), Failure> {
    match compute {
        Compute::Replay(path) => match fit::recorded(path)?.n_ranks() {
            recorded if recorded == n_ranks => Ok(()),
            recorded => {
                Err(Failure::usage(format!("`{}` is of {recorded} ranks, and not of {n_ranks}", path.display())))
            }
        },
        Compute::Model(path) => replay::laws(path).map(drop),
        Compute::Record(path) => check_folder(path),
        Compute::Direct | Compute::None => Ok(()),
    }
}

impl Run {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut described = description(&self.machine)?;
        // Ranks that are processes bring their library's own algorithms.
        described.collective.clear();
        let machine = Machine::new(&described, self.ranks).map_err(Failure::usage)?;
        let settings = self.running.settings();
        check(&self.compute, self.ranks)?;
        let parts = parts(self.trace)?;
        let (name, arguments) = self.program.split_first().expect("clap asks for a program");
        let name = Path::new(name);
        let setup = Setup {
            machine: described.to_toml(),
            n_ranks: self.ranks,
            protocol: settings.protocol,
            n_workers: settings.n_workers,
            has_unique_tags: settings.has_unique_tags,
            compute: self.compute.clone(),
            arguments: arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            preloaded: parts.library.to_string_lossy().into_owned(),
            searched: parts.mpich_folder().to_string_lossy().into_owned(),
        };
        let program = Program::find(name).map_err(Failure::of)?;
        let assumed = result::Setup {
            machine: &described,
            settings,
            compute: said(&self.compute),
            algorithms: "Open MPI's own, by its own choice".to_owned(),
            assumptions: ASSUMPTIONS,
        };
        let mut writer = self.out.writer(&assumed.header(typed(), 0))?;
        let (failed, ended) = follow(program.launch(&setup, &parts, arguments).map_err(Failure::of)?)?;
        if let (None, Some(Report::Ended { ranks, .. })) = (&failed, &ended)
            && !ranks.iter().any(|rank| rank.is_initialized)
        {
            return Err(Failure::work(format!("no rank of `{}` called MPI_Init: {NOT_MPI}", name.display())));
        }
        if let Some(Report::Ended { ranks, counts, algorithms, shared_bytes }) = &ended {
            let times: Vec<RankTimes> = (0..).zip(ranks).map(|(rank, report)| times(&machine, rank, report)).collect();
            let run = result::Run::of(&times, *counts);
            let (calls, algorithms) = (calls(ranks), algorithms.clone());
            let found = Found { run, ranks: times, calls, algorithms, ending: failed.as_ref().map(ending) };
            found.write(&mut writer, &described).map_err(Failure::of)?;
            let table = Simulation.table(writer.outcome()).map_err(Failure::of)?;
            written(write!(
                out,
                "{table}\n{}memory that the ranks share: {} KiB\n",
                unreceived(ranks),
                shared_bytes / 1024
            ))?;
        }
        match (failed, ended) {
            (Some(failed), _) => {
                let call = failed.call.map_or_else(|| "outside of MPI".to_owned(), |call| format!("in {call}"));
                let at = span_ns(failed.at.as_nanos() as f64);
                written(out.flush())?;
                Err(Failure::work(format!("rank {} {call} at {at}: {}", failed.rank, failed.what)))
            }
            (None, None) => Err(Failure::work(NO_RANKS)),
            (None, Some(_)) => Ok(()),
        }
    }
}

/// Hears what the keeper tells until it ends: a failure, if there was one, and what there is in the end.
fn follow(mut running: process::Running) -> Result<(Option<process::Failure>, Option<Report>), Failure> {
    static KEEPER: AtomicI32 = AtomicI32::new(0);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The keeper ends the ranks and tells what there is.
        let pass_on = || {
            if let Some(keeper) = Pid::from_raw(KEEPER.load(Ordering::Relaxed)) {
                let _ = kill_process(keeper, Signal::INT);
            }
        };
        // SAFETY: sending a signal is allowed in a handler.
        unsafe { signal_hook::low_level::register(signal, pass_on) }.map_err(Failure::work)?;
    }
    let shows_progress = std::io::stderr().is_terminal();
    let (mut failed, mut ended) = (None, None);
    while let Some(report) = running.hear() {
        match report {
            Report::Progress { n_ended, least_ns, most_ns } if shows_progress => {
                let (least, most) = (span_ns(least_ns as f64), span_ns(most_ns as f64));
                let _ = write!(std::io::stderr().lock(), "\rsimulated {least} to {most}, {n_ended} ranks ended   \r");
            }
            Report::Begun { keeper } => KEEPER.store(keeper, Ordering::Relaxed),
            Report::Progress { .. } => {}
            Report::Failed(failure) => failed = failed.or(Some(failure)),
            Report::Ended { .. } => ended = Some(report),
        }
    }
    running.wait().map_err(Failure::work)?;
    Ok((failed, ended))
}

/// The library and the components that belong to it, and the tracer where there is a folder for its files.
fn parts(trace: Option<PathBuf>) -> Result<Parts, Failure> {
    let own = std::env::current_exe().map_err(Failure::work)?;
    let own = own.parent().unwrap_or(Path::new("/"));
    let named = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let folders: Vec<PathBuf> = named.into_iter().chain(FOLDERS.map(|folder| own.join(folder))).collect();
    let library = folders.iter().map(|folder| folder.join(LIBRARY)).find(|path| path.is_file());
    let components =
        folders.iter().map(|folder| folder.join(COMPONENTS)).find(|path| path.join("mca_pml_foretop.so").is_file());
    let tracer = match trace {
        None => None,
        Some(folder) => {
            let tracer = folders.iter().map(|folder| folder.join(TRACER)).find(|path| path.is_file());
            let tracer =
                tracer.ok_or_else(|| Failure::work(format!("there is no `{TRACER}`: `make mpi` builds it")))?;
            Some((tracer.canonicalize().map_err(Failure::work)?, folder))
        }
    };
    match (library.map(|path| path.canonicalize()), components) {
        (Some(Ok(library)), Some(components)) => Ok(Parts { library, components, tracer }),
        _ => Err(Failure::work(format!(
            "there is no `{LIBRARY}` with its folder `{COMPONENTS}`: `make mpi` builds both, and {FOLDER_VARIABLE} names a folder that has them"
        ))),
    }
}

/// Returns the breakdown of a rank's time.
fn times(machine: &Machine, rank: units::Rank, report: &RankReport) -> RankTimes {
    let times = RankTimes::new(rank, machine.place(rank), report.at, &report.counts);
    let (n_unreceived, n_unfinished) = (report.unreceived.len() as u64, report.n_unfinished as u64);
    RankTimes { n_unreceived, n_unfinished, n_forks: report.n_forks, ..times }
}

/// The calls of all ranks by name.
fn calls(ranks: &[RankReport]) -> BTreeMap<String, CallUse> {
    let mut by_name = BTreeMap::new();
    for call in ranks.iter().flat_map(|rank| &rank.calls) {
        let entry = by_name.entry(call.name.clone()).or_insert_with(|| CallUse::none(&call.name));
        entry.n_calls += call.n;
        entry.span_ns += call.span.as_nanos();
        entry.n_bytes += call.n_bytes_sent;
    }
    by_name
}

fn ending(failure: &process::Failure) -> Ending {
    let process::Failure { rank, at, what, waits, .. } = failure.clone();
    Ending { rank, at_ns: at.as_nanos(), reason: what, waiting: waits }
}

/// The program's own messages that nobody received, the first of them.
fn unreceived(ranks: &[RankReport]) -> String {
    let left =
        ranks.iter().enumerate().flat_map(|(rank, report)| report.unreceived.iter().map(move |left| (rank, left)));
    let own = left.filter(|(_, (_, tag, _))| *tag >= 0).take(UNRECEIVED_SHOWN);
    own.map(|(rank, (source, tag, n_bytes))| {
        format!("rank {rank} never received a message of rank {source} with tag {tag}, {n_bytes} bytes\n")
    })
    .collect()
}
