//! `foretop mpi study wan`: collectives over emulated sites, as they were published and here.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::program::Progress;
use anyhow::{Context, ensure};
use clap::Args;
use miniapp::record::RunSeen;
use miniapp::{Changes, Data};
use mpi_run::{Flavour, Header, Outcome, Writer};
use mpi_trace::{Event, Operation, Recording, RingKind};
use netmodel::Description;
use statistics::median;
use tempfile::TempDir;
use wan::{Arm, Bed, lateness};
use wan_study::record::{Answered, Counts, Needed, Noise, Run as Ran, Stretch, kind};
use wan_study::{CLUSTERS, Case, EPSILON, Joined, Settings, Topology, Trial, WanStudy, report};
use watch::Watch;

use super::super::program;
use super::super::trace::Run;
use super::{RESULTS, open, run_seen, write_report};
use command_line::interruption::interruptions;
use command_line::terminal::say;
use text::help::examples;

/// Strips that the grid of the data sets is cut into, as published.
const N_STRIPS: u32 = 138;
/// A data set ends by itself long before that.
const N_ITERATIONS_MAX: u64 = 50_000;
/// Seed of `foretop-miniapp contributions`.
const SEED: u64 = 1;
/// The delay of what many send at once.
const SHARED_DELAY: Duration = Duration::from_millis(5);
/// Stretches of a run whose calls' times are kept.
const N_STRETCHES: usize = 200;
/// Least time of iterations over two sites: work, and a round trip.
const NOISE_ITERATION_MS: u64 = 30 + 36;

/// Measure collectives over a wide-area network, and the effect of emulating one
///
/// Repeats Longcut's measurements and those of conditional allreduce (L. A. Bongo, Tromsø 2007), with the published
/// figures beside those measured here. Sites are emulated on this machine, without root: relays for round trips,
/// delayed trees for collectives. The folder gets a report, its tables as CSV and JSON, pictures, and all results: the
/// same command resumes a stopped study.
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi study wan --quick", "foretop mpi study wan --iterations 1000 --out study"]))]
pub struct Wan {
    /// The MPI library: openmpi or mpich [default: the first one found]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<Flavour>,

    /// Rehearse in less than a minute, with data sets of a tenth of the width; the figures have little meaning
    #[arg(long)]
    quick: bool,

    /// The limit of iterations to replay of each data set [default: all, some 5,500; or 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=N_ITERATIONS_MAX))]
    iterations: Option<u64>,

    /// The folder for all results
    #[arg(long, value_name = "FOLDER", default_value = "wan-study")]
    out: PathBuf,
}

/// Runs trials.
struct Bench {
    flavour: Flavour,
    miniapp: PathBuf,
    noise: PathBuf,
    scratch: TempDir,
    settings: Settings,
    watch: Watch,
}

impl Wan {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let interrupted = interruptions()?;
        std::fs::create_dir_all(&self.out).with_context(|| format!("cannot make `{}`", self.out.display()))?;
        let settings = self.settings();
        let bench = Bench::new(self.mpi, settings.clone(), &self.out)?;
        let kinds = [kind::SETTINGS, kind::RUN];
        let mut writer = open(&self.out.join(RESULTS), &settings, &kinds, &bench.header()?)?;
        let done: Vec<Trial> = writer.outcome().all::<Ran>(kind::RUN)?.into_iter().map(|run| run.trial).collect();
        let left: Vec<Trial> = settings.trials().into_iter().filter(|trial| !done.contains(trial)).collect();
        say(&format!("{} runs are left, {} are done; results in {}", left.len(), done.len(), self.out.display()));
        let mut progress = Progress::start();
        for (at, trial) in left.iter().enumerate() {
            if let Some(line) = progress.line(clock::instant(), "sites", at as u64, left.len() as u64) {
                say(&format!("{line}; {trial}"));
            }
            let measured = bench.measure(trial, &mut writer);
            if interrupted.try_recv().is_ok() {
                say("stopped; run the same command to resume");
                break;
            }
            // The run is the last to be written: what stands before it belongs to it.
            writer.record(kind::RUN, &measured.with_context(|| format!("cannot measure {trial}"))?)?;
        }
        let document = report(writer.outcome())?;
        write_report(&self.out, &WanStudy, (writer.outcome(), &document), kind::RUN, out)
    }

    fn settings(&self) -> Settings {
        let (n_iterations, n_replayed_max, side, n_calls, n_noise, n_messages) =
            if self.quick { (20, 20, N_STRIPS, 10, 30, 200) } else { (500, N_ITERATIONS_MAX, 1380, 300, 1500, 5000) };
        let n_replayed_max = self.iterations.unwrap_or(n_replayed_max);
        Settings { work_ms: 30, n_iterations, n_replayed_max, side, n_calls, n_noise, n_messages }
    }
}

impl Bench {
    fn new(mpi: Option<Flavour>, settings: Settings, folder: &Path) -> anyhow::Result<Self> {
        let miniapp = program::find("foretop-miniapp", mpi)?;
        let noise = program::find("foretop-noise", Some(miniapp.flavour))?.path;
        let scratch = tempfile::tempdir_in(std::path::absolute(folder)?).context("cannot make a folder for traces")?;
        let watch = Watch::new(Arc::new(clock::System::start()));
        Ok(Self { flavour: miniapp.flavour, miniapp: miniapp.path, noise, scratch, settings, watch })
    }

    /// The head of the study's results: that of a run, as a study's own.
    fn header(&self) -> anyhow::Result<Header> {
        let words = ["gsum", "--calls", "2"].map(OsString::from).to_vec();
        let of_run = self.ran(&self.miniapp, words, Topology::Two, Joined::Sequential)?.header;
        let arguments = std::env::args().skip(1).collect();
        Ok(Header::of(&WanStudy, of_run.mpi, arguments, of_run.seed, of_run.ranks))
    }

    fn measure(&self, trial: &Trial, writer: &mut Writer) -> anyhow::Result<Ran> {
        let n_calls = self.settings.n_calls;
        let (n, took_ns, modelled) = match trial {
            Trial::RoundTrips { links, size_bytes } => {
                let link = links.between("roadrunner", "benedict");
                let bed = Bed::new(Arm::Relay, &link, &self.watch)?;
                let times = bed.ping_pongs(*size_bytes, n_calls as usize)?;
                let times: Vec<f64> = times.iter().map(|took| took.as_nanos() as f64).collect();
                (n_calls, median(&times).context("no round trip was made")?, modelled(&link, &bed, *size_bytes)?)
            }
            Trial::Senders { n } => {
                let late = lateness(*n, SHARED_DELAY, self.settings.n_messages, &self.watch)?.late_999;
                let late = late.context("no message came")?;
                (self.settings.n_messages as u64, late.as_nanos() as f64, None)
            }
            Trial::Sums { topology, joined } => {
                let words = ["gsum", "--size", "8B", "--calls", &n_calls.to_string()].map(OsString::from).to_vec();
                let seen = run_seen(&self.ran(&self.miniapp, words, *topology, *joined)?)?;
                (seen.n_calls, seen.call_ns, None)
            }
            Trial::Iterations { case } => {
                let seen = self.iterate(trial, case, writer)?;
                (seen.n_calls, seen.call_ns, None)
            }
            Trial::Noise => self.make_noise(writer).map(|(n, took_ns)| (n, took_ns, None))?,
        };
        Ok(Ran { trial: trial.clone(), n, took_ns, modelled_ns: modelled })
    }

    /// Work and allreduces in turn. Writes how each cluster's were answered.
    fn iterate(&self, trial: &Trial, case: &Case, writer: &mut Writer) -> anyhow::Result<RunSeen> {
        let file = self.scratch.path().join("contributions");
        let (joined, test) = match case {
            Case::Sequential => (Joined::Sequential, "plain"),
            _ => (Joined::AllToAll, "conditional"),
        };
        let (contributions, n): (OsString, u64) = match case {
            Case::Sequential | Case::Best => ("best".into(), self.settings.n_iterations),
            Case::Worst => ("worst".into(), self.settings.n_iterations),
            Case::Data(data) => {
                let n_iterations = self.make_data(data, &file, writer)?;
                (file.into_os_string(), n_iterations.min(self.settings.n_replayed_max))
            }
        };
        let (work, calls) = (format!("{}ms", self.settings.work_ms), n.to_string());
        let mut words: Vec<OsString> =
            ["noise-allreduce", "--work", &work, "--calls", &calls, "--allreduce", test].map(OsString::from).to_vec();
        words.extend(["--contributions".into(), contributions]);
        let seen = run_seen(&self.ran(&self.miniapp, words, Topology::Five, joined)?)?;
        for recording in mpi_job::read(&self.traces())? {
            let rank = recording.head.rank;
            let text = std::fs::read_to_string(self.traces().join(format!("conditional-{rank}.jsonl"))).ok();
            let counts: Option<Counts> = text.map(|text| serde_json::from_str(&text)).transpose()?;
            ensure!(
                counts.is_some() == (joined == Joined::AllToAll),
                "rank {rank} does not say how calls were answered"
            );
            let spans_ns = spans_ns(&recording, n as usize).context("the trace has not all allreduces")?;
            let site = CLUSTERS[rank as usize].site.to_owned();
            let stretches = Stretch::of(&spans_ns, N_STRETCHES);
            writer.record(kind::ANSWERED, &Answered { trial: trial.clone(), site, counts, stretches })?;
        }
        Ok(seen)
    }

    /// Relaxes a data set and writes what each cluster brings; returns how many iterations it takes.
    fn make_data(&self, data: &str, file: &Path, writer: &mut Writer) -> anyhow::Result<u64> {
        let kind: Data = data.parse()?;
        let changes = Changes::of(kind, SEED, self.settings.side, N_STRIPS, EPSILON, N_ITERATIONS_MAX);
        let clusters = changes.joined(&CLUSTERS.map(|cluster| cluster.n_processes));
        let n_iterations = clusters.n_iterations() as u64;
        let needed = Needed { data: data.to_owned(), n_iterations, n_needed: clusters.n_below(EPSILON) };
        writer.record(kind::NEEDED, &needed)?;
        std::fs::write(file, clusters.to_text()).with_context(|| format!("cannot write `{}`", file.display()))?;
        Ok(n_iterations)
    }

    /// Gives iterations, and what one took.
    fn make_noise(&self, writer: &mut Writer) -> anyhow::Result<(u64, f64)> {
        let time = format!("{}ms", self.settings.n_noise * NOISE_ITERATION_MS);
        let words =
            ["--work", "30ms", "--threshold", "1ms,5ms,10ms,30ms", "--time", &time].map(OsString::from).to_vec();
        let outcome = self.ran(&self.noise, words, Topology::Two, Joined::Sequential)?;
        let parts: Vec<noise::record::Part> = outcome.all(noise::record::kind::PART)?;
        let part = parts.first().context("the program's result says nothing of its run")?;
        let analyzers = mpi_analysis::analyzers(&mpi_job::read(&self.traces())?)?;
        let analysis = analyzers.first().context("no call went over the tree")?.analysis();
        writer.record(kind::NOISE, &Noise { late: outcome.all(noise::record::kind::LATE)?, analysis })?;
        Ok((part.n_iterations, part.run_ns as f64 / part.n_iterations as f64))
    }

    /// Runs a program with a rank at each site, and returns its result. Its trace is in the scratch folder.
    fn ran(&self, program: &Path, words: Vec<OsString>, topology: Topology, joined: Joined) -> anyhow::Result<Outcome> {
        let path = |name: &str| self.scratch.path().join(name);
        let (tree, sites) = (path("tree.toml"), path("sites.toml"));
        // What an earlier run said of its clusters must not be taken for this one's.
        if self.traces().exists() {
            std::fs::remove_dir_all(self.traces())?;
        }
        std::fs::write(&tree, topology.forest(joined).to_text())?;
        std::fs::write(&sites, topology.to_text())?;
        let words = std::iter::once(program.to_owned().into_os_string()).chain(words);
        let words = words.chain(["--quiet".into()]);
        let n_ranks = topology.sites().len() as u32;
        let mut run = Run::timed(words.collect(), n_ranks, Some(self.flavour), Vec::new(), self.traces());
        run.tree = Some(tree);
        let sites = sites.to_str().context("the folder's name is no text")?;
        let environment =
            [("FORETOP_MPI_EMULATED_HOSTS", "1"), ("FORETOP_MPI_WAN", sites), ("OMPI_MCA_mpi_yield_when_idle", "1")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        run.result(&environment, &path("result.jsonl"))
    }

    fn traces(&self) -> PathBuf {
        self.scratch.path().join("trace")
    }
}

/// Returns the round-trip time by the model, if each round trip takes the same.
fn modelled(link: &Description, bed: &Bed, size_bytes: u32) -> anyhow::Result<Option<f64>> {
    let modelled = if link.drawn { None } else { bed.modelled(size_bytes)? };
    Ok(modelled.map(|took| took.as_nanos() as f64))
}

/// Returns the times of the allreduces that follow a barrier and each other.
fn spans_ns(recording: &Recording, n: usize) -> Option<Vec<f64>> {
    let ring = recording.rings.iter().find(|ring| ring.note.kind == RingKind::Calls)?;
    let is_sum = |event: &&Event| event.operation == Operation::ALLREDUCE && event.bytes == size_of::<f64>() as u64;
    let after = |at: usize| ring.events[at + 1..].iter().take_while(is_sum).take(n).collect::<Vec<_>>();
    let barriers = ring.events.iter().enumerate().filter(|(_, event)| event.operation == Operation::BARRIER);
    let sums = barriers.map(|(at, _)| after(at)).find(|sums| sums.len() == n)?;
    let line = recording.line(&ring.note);
    Some(sums.into_iter().map(|event| line.span_ns(event.end - event.start) as f64).collect())
}
