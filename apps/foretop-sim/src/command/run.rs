//! `foretop sim run`: an unmodified program on a machine that is not there.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use des::Protocol;
use mpi_run::Failure;
use mpi_sim::machine::Machine;
use mpi_sim::process::{self, Compute, Parts, RankReport, Report, Running, Setup};
use rustix::process::{Pid, Signal, kill_process};
use text::Table;
use text::figure::span_ns;
use text::help::examples;
use units::SimDuration;

use super::{description, written};

/// A folder with the programs for MPI, looked into before all others.
const FOLDER_VARIABLE: &str = "FORETOP_MPI_PROGRAMS";
/// Where the library is from the place of this program, and beside it the folder of components.
const FOLDERS: [&str; 3] = [".", "../lib/foretop", "../mpi"];
const LIBRARY: &str = "libmpi_sim_component.so";
const COMPONENTS: &str = "sim";

/// Run an MPI program, unmodified, and simulate its messages and clocks
///
/// The program is one for Open MPI, in any language. Its ranks are processes of this host; their messages take the machine's time.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim run -n 16 --machine examples/sim/two-sites.toml -- ./heat 512",
    "foretop sim run -n 64 --machine examples/sim/cluster.toml --compute none -- python3 solve.py",
]))]
pub struct Run {
    /// How many ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,

    /// The machine; docs/formats/sim-machine.md
    #[arg(long, value_name = "MACHINE.toml")]
    machine: PathBuf,

    /// How ranks learn that nothing earlier can arrive: sequential, quantum=LENGTH, nmp, cep, nmp+cep, the last three also with +det
    #[arg(long, value_name = "PROTOCOL", default_value = "sequential")]
    protocol: Protocol,

    /// Ranks that run at a time
    #[arg(long, value_name = "N", default_value = "1")]
    workers: NonZero<u32>,

    /// Where the time between calls comes from
    #[arg(long, value_enum, default_value = "direct")]
    compute: Between,

    /// Keep what was reported in this file, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Between {
    /// The processor time that it takes here, by the machine's speed.
    Direct,
    /// There is none.
    None,
}

impl Run {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let described = description(&self.machine)?;
        Machine::new(&described, self.ranks).map_err(Failure::usage)?;
        let parts = parts()?;
        let setup = Setup {
            machine: described.to_toml(),
            n_ranks: self.ranks,
            protocol: self.protocol,
            n_workers: self.workers,
            compute: match self.compute {
                Between::Direct => Compute::Direct,
                Between::None => Compute::None,
            },
            preloaded: parts.library.to_string_lossy().into_owned(),
        };
        let (program, arguments) = self.program.split_first().expect("clap asks for a program");
        let running = process::launch(&setup, &parts, Path::new(program), arguments).map_err(Failure::of)?;
        let (failed, ended) = follow(running)?;
        if let Some(Report::Ended { ranks, counts, shared_bytes }) = &ended {
            written(out.write_all(shown(ranks).as_bytes()))?;
            written(out.write_all(leftovers(ranks).as_bytes()))?;
            written(writeln!(
                out,
                "{} rounds, {} stretches; {} KiB shared",
                counts.n_rounds,
                counts.n_stretches,
                shared_bytes / 1024
            ))?;
        }
        if let (Some(path), Some(ended)) = (&self.out, &ended) {
            let text = serde_json::to_string(ended).map_err(Failure::work)?;
            let kept = std::fs::write(path, text + "\n");
            kept.map_err(|error| Failure::work(format!("cannot write `{}`: {error}", path.display())))?;
        }
        match (failed, ended) {
            (Some(failed), _) => {
                let call = failed.call.map_or_else(|| "outside of MPI".to_owned(), |call| format!("in {call}"));
                let at = span_ns(failed.at.as_nanos() as f64);
                let (what, waits) = failed.what.split_once('\n').unwrap_or((&failed.what, ""));
                written(
                    out.write_all(waits.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()),
                )?;
                Err(Failure::work(format!("rank {} {call} at {at}: {what}", failed.rank)))
            }
            (None, None) => {
                Err(Failure::work("the program ended before its ranks began: can it be started by itself?"))
            }
            (None, Some(_)) => Ok(()),
        }
    }
}

/// Hears what the keeper tells until it ends: a failure, if there was one, and what there is in the end.
fn follow(mut running: Running) -> Result<(Option<process::Failure>, Option<Report>), Failure> {
    let keeper = Pid::from_raw(running.pid() as i32).expect("a process has a number");
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The keeper ends the ranks and tells what there is.
        let pass_on = move || {
            let _ = kill_process(keeper, Signal::INT);
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
            Report::Progress { .. } => {}
            Report::Failed(failure) => failed = failed.or(Some(failure)),
            Report::Ended { .. } => ended = Some(report),
        }
    }
    running.wait().map_err(Failure::work)?;
    Ok((failed, ended))
}

/// The library and the components that belong to it.
fn parts() -> Result<Parts, Failure> {
    let own = std::env::current_exe().map_err(Failure::work)?;
    let own = own.parent().unwrap_or(Path::new("/"));
    let named = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let folders: Vec<PathBuf> = named.into_iter().chain(FOLDERS.map(|folder| own.join(folder))).collect();
    let library = folders.iter().map(|folder| folder.join(LIBRARY)).find(|path| path.is_file());
    let components =
        folders.iter().map(|folder| folder.join(COMPONENTS)).find(|path| path.join("mca_pml_foretop.so").is_file());
    match (library.map(|path| path.canonicalize()), components) {
        (Some(Ok(library)), Some(components)) => Ok(Parts { library, components }),
        _ => Err(Failure::work(format!(
            "there is no `{LIBRARY}` with its folder `{COMPONENTS}`: `make mpi` builds both, and {FOLDER_VARIABLE} names a folder that has them"
        ))),
    }
}

/// Each rank's time, and where it went.
fn shown(ranks: &[RankReport]) -> String {
    let mut table =
        Table::of_figures(&["rank", "time", "computing", "sending", "receiving", "waiting", "messages", "bytes"]);
    let span = |span: SimDuration| span_ns(span.as_nanos() as f64);
    for (rank, report) in ranks.iter().enumerate() {
        let counts = &report.counts;
        let waiting: u64 = counts.waiting_for.values().map(|span| span.as_nanos()).sum();
        table.row([
            rank.to_string(),
            span_ns(report.at.as_nanos() as f64),
            span(counts.computing),
            span(counts.sending),
            span(counts.receiving),
            span_ns(waiting as f64),
            counts.n_sent.to_string(),
            counts.n_bytes_sent.to_string(),
        ]);
    }
    table.to_string()
}

/// What a program without mistakes does not leave behind.
fn leftovers(ranks: &[RankReport]) -> String {
    let mut told = String::new();
    for (rank, report) in ranks.iter().enumerate() {
        for (source, tag, n_bytes) in &report.unreceived {
            told += &format!("rank {rank} never received a message of rank {source} with tag {tag}, {n_bytes} bytes\n");
        }
        if report.n_unfinished > 0 {
            told += &format!("rank {rank} never completed {} of its requests\n", report.n_unfinished);
        }
    }
    told
}
