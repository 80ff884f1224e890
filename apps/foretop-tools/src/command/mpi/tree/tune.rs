//! `foretop mpi tree tune`: which tree is fastest for a program, at each size that it uses, beside what the MPI library
//! offers itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use clock::Stopwatch;
use mpi_analysis::Search;
use mpi_run::Flavour;
use mpi_trace::{Operation, Placed, Recording, Timeline};
use mpi_tree::{Collective, Forest, Host, Rule, Tree};
use serde::Serialize;
use text::figure::{counted, span_ns};
use text::{Align, Table};
use units::ByteCount;

use super::super::program;
use super::super::trace::Run;
use command_line::terminal::{say, write_json};
use text::help::examples;

/// Sizes of a program that are tuned; those with most time in them.
const N_SIZES: usize = 4;
/// Parts that the calls of a run are taken in.
const N_PARTS: usize = 10;
/// A peer that took so many times as long as the best tree is not run again.
const HOPELESS: f64 = 3.0;
/// Changes of a tree that are tried one after the other.
const N_STEPS: usize = 8;

/// Find the fastest trees for a program by repeated runs
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi tree tune -n 4 --out tuned.toml -- foretop-miniapp gsum --calls 2000",
    "foretop mpi tree tune -n 16 --hosts a:4,b:4,c:4,d:4 --peers --out tuned.toml -- ./solver",
]))]
pub struct Tune {
    /// The number of processes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,

    /// The MPI library: openmpi or mpich [default: the one that the program names]
    #[arg(long, value_name = "LIBRARY")]
    mpi: Option<Flavour>,

    /// The hosts to run on, in turn [default: this one]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    hosts: Vec<String>,

    /// The operation whose trees are tuned
    #[arg(long, value_name = "OPERATION", default_value = "allreduce")]
    operation: Collective,

    /// Runs of each candidate that may win
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Also run the MPI library's own collectives: its default, its algorithms, its variants for hosts; `yielding`
    /// leaves out runs whose waiting ranks spin, because they take long if ranks share cores
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    peers: Option<Peers>,

    /// Print the table as JSON
    #[arg(long)]
    json: bool,

    /// Write the best trees to this file, with a rule for each size
    #[arg(long, short, value_name = "TREE.toml")]
    out: PathBuf,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Peers {
    /// Each with waits that spin, and with waits that yield
    All,
    /// Only with waits that yield
    Yielding,
}

/// A way to run the program without our trees.
struct Peer {
    name: String,
    environment: Vec<(String, String)>,
    times_ns: Vec<Vec<f64>>,
}

impl Tune {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let scratch = tempfile::tempdir().context("cannot make a folder for traces")?;
        let bench = Bench { tune: &self, scratch: scratch.path() };
        let recordings = bench.run(&[], None)?;
        let hosts = hosts_of(&recordings);
        let sizes = bench.sizes(&recordings)?;
        let named: Vec<String> = sizes.iter().map(|&bytes| ByteCount::new(bytes).to_string()).collect();
        say(&format!(
            "{} of {} by {} ranks on {}",
            self.operation.name(),
            named.join(", "),
            self.ranks,
            counted(hosts.len() as u64, "host")
        ));

        let mut search = Search::new(hosts, sizes.clone(), self.rounds as usize);
        let watch = Stopwatch::start();
        let mut found_after = Duration::ZERO;
        while let Some(candidate) = search.next() {
            let best_before = search.best(0);
            let times = bench.times(&search, candidate, &sizes)?;
            search.record(candidate, &times);
            if search.best(0) != best_before {
                found_after = watch.elapsed();
            }
            say(&format!("{}: {}", search.candidates()[candidate].origin, spans(&times)));
        }
        let n_generated = search.candidates().len();
        if let Some(last) = bench.follow_hints(&mut search, &sizes)? {
            found_after = watch.elapsed().min(found_after + last);
        }
        let mut peers = self.peers.map(|which| bench.peers(which)).transpose()?.unwrap_or_default();
        let best = search.best(0).map_or(f64::INFINITY, |best| search.time_ns(best, 0));
        for _ in 0..self.rounds {
            // One that is far behind stays there.
            for peer in
                peers.iter_mut().filter(|peer| peer.times_ns[0].first().is_none_or(|time| *time < HOPELESS * best))
            {
                let times = bench.run(&peer.environment, None).map(|recordings| bench.times_of(&recordings, &sizes));
                let times = times.unwrap_or_else(|_| vec![f64::INFINITY; sizes.len()]);
                peer.times_ns.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            }
        }
        let forest = search.forest(self.operation, 1);
        forest.check().context("no tree could be run")?;
        std::fs::write(&self.out, forest.to_text())
            .with_context(|| format!("cannot write `{}`", self.out.display()))?;
        let rows = rows(&search, &sizes, n_generated, &peers);
        if self.json {
            let found =
                Found { n_trees: search.candidates().len(), found_after_ns: found_after.as_nanos() as u64, rows };
            return Ok(write_json(out, &found)?);
        }
        write!(out, "{}", table(&rows))?;
        let n_trees = search.candidates().len();
        writeln!(out, "\n{n_trees} trees; the best one was found after {}", span_ns(found_after.as_nanos() as f64))?;
        Ok(writeln!(out, "{}", self.out.display())?)
    }
}

/// Calls of one size, of all ranks.
#[derive(Default)]
struct Spent {
    n_calls: u64,
    span_ns: u64,
}

/// Runs the program, each time in the same way but for what is compared.
struct Bench<'a> {
    tune: &'a Tune,
    scratch: &'a Path,
}

impl Bench<'_> {
    fn run(&self, environment: &[(String, String)], tree: Option<&Forest>) -> anyhow::Result<Vec<Recording>> {
        let Tune { program, ranks, mpi, hosts, .. } = self.tune;
        let mut run = Run::timed(program.clone(), *ranks, *mpi, hosts.clone(), self.scratch.join("trace"));
        if let Some(forest) = tree {
            let path = self.scratch.join("tree.toml");
            std::fs::write(&path, forest.to_text())?;
            run.tree = Some(path);
        }
        let ended = run.trace(environment, false)?;
        ensure!(ended.success(), "the program ended with {ended}");
        Ok(mpi_job::read(&self.scratch.join("trace"))?)
    }

    /// Returns the sizes that the program spends most time in, ascending. What it calls but a few times means nothing
    /// for a tree, unless it calls nothing more often.
    fn sizes(&self, recordings: &[Recording]) -> anyhow::Result<Vec<u64>> {
        let spent = self.spent(recordings);
        let n_calls_most = spent.values().map(|spent| spent.n_calls).max().unwrap_or(0);
        let n_calls_min = (N_PARTS as u64 * u64::from(self.tune.ranks)).min(n_calls_most);
        let mut spent: Vec<(u64, Spent)> =
            spent.into_iter().filter(|(_, spent)| spent.n_calls >= n_calls_min).collect();
        spent.sort_by_key(|(bytes, spent)| (std::cmp::Reverse(spent.span_ns), *bytes));
        let mut sizes: Vec<u64> = spent.into_iter().take(N_SIZES).map(|(bytes, _)| bytes).collect();
        sizes.sort_unstable();
        ensure!(!sizes.is_empty(), "the program never calls {}", self.operation().name());
        Ok(sizes)
    }

    fn operation(&self) -> Operation {
        let name =
            format!("MPI_{}{}", self.tune.operation.name()[..1].to_uppercase(), &self.tune.operation.name()[1..]);
        Operation::of_name(&name).expect("operations over trees are recorded")
    }

    /// Calls by their size, over all ranks.
    fn spent(&self, recordings: &[Recording]) -> BTreeMap<u64, Spent> {
        let operation = self.operation();
        let mut spent: BTreeMap<u64, Spent> = BTreeMap::new();
        for call in Timeline::of(recordings).calls().iter().filter(|call| call.event.operation == operation) {
            let of_size = spent.entry(call.event.bytes).or_default();
            of_size.n_calls += 1;
            of_size.span_ns += call.span_ns();
        }
        spent
    }

    /// Returns the time of a call of each size: the median over parts of the run of the mean in each part. The first
    /// calls wait for ranks that begin later, and a machine that is shared has moments that say nothing of a tree.
    fn times_of(&self, recordings: &[Recording], sizes: &[u64]) -> Vec<f64> {
        let operation = self.operation();
        let timeline = Timeline::of(recordings);
        let time = |&size: &u64| {
            let mut sums = [(0_u64, 0_u64); N_PARTS];
            for calls in timeline.by_rank() {
                let is_one = |call: &&Placed| call.event.operation == operation && call.event.bytes == size;
                let spans: Vec<u64> = calls.iter().filter(is_one).map(Placed::span_ns).collect();
                for (at, span_ns) in spans.iter().enumerate() {
                    let (n_calls, sum) = &mut sums[at * N_PARTS / spans.len()];
                    (*n_calls, *sum) = (*n_calls + 1, *sum + span_ns);
                }
            }
            let means =
                sums.iter().filter(|(n_calls, _)| *n_calls > 0).map(|(n_calls, sum)| *sum as f64 / *n_calls as f64);
            statistics::median(&means.collect::<Vec<f64>>()).unwrap_or(f64::INFINITY)
        };
        sizes.iter().map(time).collect()
    }

    fn times(&self, search: &Search, candidate: usize, sizes: &[u64]) -> anyhow::Result<Vec<f64>> {
        let forest = self.forest(search, &search.candidates()[candidate].tree);
        let recordings = self.run(&[], Some(&forest))?;
        Ok(self.times_of(&recordings, sizes))
    }

    fn forest(&self, search: &Search, tree: &Tree) -> Forest {
        let rules = vec![Rule { operation: Some(self.tune.operation), bytes_max: None, tree: 0 }];
        Forest { epoch: 1, hosts: search.hosts().to_vec(), trees: vec![tree.clone()], rules }
    }

    /// Follows hints from the tree that is best at the smallest size on: changes that its own stages suggest, each kept
    /// if it is faster. Returns the time until the last one that was kept.
    fn follow_hints(&self, search: &mut Search, sizes: &[u64]) -> anyhow::Result<Option<Duration>> {
        let watch = Stopwatch::start();
        let mut kept = None;
        let mut n_tried = 0;
        'better: while let Some(best) = search.best(0).filter(|_| n_tried < N_STEPS) {
            let tree = search.candidates()[best].tree.clone();
            let recordings = self.run(&[], Some(&self.forest(search, &tree)))?;
            let analyses = mpi_analysis::analyzers(&recordings)?;
            let Some(analysis) = analyses.first().map(mpi_analysis::Analyzer::analysis) else { break };
            for step in search.steps(&tree, &analysis) {
                if n_tried == N_STEPS {
                    break 'better;
                }
                n_tried += 1;
                let candidate = search.add(step.reason.clone(), step.tree);
                for _ in 0..self.tune.rounds {
                    let times = self.times(search, candidate, sizes)?;
                    search.record(candidate, &times);
                }
                let is_kept = search.is_better(candidate, best, 0);
                let times = span_ns(search.time_ns(candidate, 0));
                say(&format!("{}: {times}, {}", step.reason, if is_kept { "kept" } else { "not kept" }));
                if is_kept {
                    kept = Some(watch.elapsed());
                    continue 'better;
                }
            }
            break;
        }
        Ok(kept)
    }

    /// Returns the peers in the library that the program is linked with: all of its algorithms for the operation. Open
    /// MPI's also with waits that yield the processor, so that what a tree gains is told from what not spinning gains.
    fn peers(&self, which: Peers) -> anyhow::Result<Vec<Peer>> {
        let launcher = program::launcher_of(Path::new(&self.tune.program[0]), self.tune.mpi)?;
        let peers = match launcher.flavour {
            Flavour::OpenMpi => open_mpi_peers(self.tune.operation, which),
            Flavour::Mpich => mpich_peers(self.tune.operation),
        };
        let n_sizes = N_SIZES;
        Ok(peers
            .into_iter()
            .map(|(name, environment)| Peer { name, environment, times_ns: vec![Vec::new(); n_sizes] })
            .collect())
    }
}

type Settings = Vec<(String, String)>;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Numbers of algorithms as in `ompi_info --param coll tuned`.
fn open_mpi_peers(operation: Collective, which: Peers) -> Vec<(String, Settings)> {
    let n_algorithms = match operation {
        Collective::Allreduce | Collective::Barrier => 6,
        Collective::Bcast => 9,
        Collective::Reduce => 7,
        Collective::Gather | Collective::Scatter => 3,
    };
    let mut peers = vec![
        ("Open MPI's default".to_owned(), Settings::new()),
        ("HAN".to_owned(), settings(&[("OMPI_MCA_coll_han_priority", "100")])),
    ];
    for algorithm in 1..=n_algorithms {
        let variable = format!("OMPI_MCA_coll_tuned_{}_algorithm", operation.name());
        let all = [("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"), (&variable, &algorithm.to_string())];
        peers.push((format!("tuned, algorithm {algorithm}"), settings(&all)));
    }
    let waits: &[(&str, &str)] = match which {
        Peers::All => &[("1", "yielding"), ("0", "spinning")],
        Peers::Yielding => &[("1", "yielding")],
    };
    let waiting = |&(value, how): &(&str, &'static str)| {
        let set = settings(&[("OMPI_MCA_mpi_yield_when_idle", value)]);
        peers
            .iter()
            .map(|(name, own)| (format!("{name}, {how}"), [own.clone(), set.clone()].concat()))
            .collect::<Vec<_>>()
    };
    waits.iter().flat_map(waiting).collect()
}

/// Values of the library's control variables.
fn mpich_peers(operation: Collective) -> Vec<(String, Settings)> {
    let algorithms: &[&str] = match operation {
        Collective::Allreduce => &["recursive_doubling", "reduce_scatter_allgather"],
        Collective::Bcast => &["binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"],
        Collective::Reduce => &["binomial", "reduce_scatter_gather"],
        Collective::Barrier => &["dissemination"],
        Collective::Gather | Collective::Scatter => &["binomial"],
    };
    let variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", operation.name().to_uppercase());
    let one = |algorithm: &&str| ((*algorithm).to_owned(), settings(&[(&variable, algorithm)]));
    let mut peers = vec![("MPICH's default".to_owned(), Settings::new())];
    peers.push(("without SMP collectives".to_owned(), settings(&[("MPIR_CVAR_ENABLE_SMP_COLLECTIVES", "0")])));
    peers.extend(algorithms.iter().map(one));
    peers
}

/// Returns the hosts with the ranks that ran on each, in the order of the hosts' first ranks.
pub fn hosts_of(recordings: &[Recording]) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for recording in recordings {
        let (name, rank) = (&recording.head.host, recording.head.rank);
        match hosts.iter_mut().find(|host| host.name == *name) {
            Some(host) => host.ranks.push(rank),
            None => hosts.push(Host { name: name.clone(), cluster: None, ranks: vec![rank] }),
        }
    }
    hosts.iter_mut().for_each(|host| host.ranks.sort_unstable());
    hosts
}

fn spans(times_ns: &[f64]) -> String {
    times_ns.iter().map(|time| span_ns(*time)).collect::<Vec<_>>().join(", ")
}

/// Result of the search.
#[derive(Serialize)]
struct Found {
    /// Trees that were run.
    n_trees: usize,
    /// Time until the last improvement at the smallest size.
    found_after_ns: u64,
    /// Rows by size, and then by time.
    rows: Vec<Row>,
}

/// Time of a call in one way.
#[derive(Serialize)]
struct Row {
    size_bytes: u64,
    /// A tree's origin, or a peer's name.
    what: String,
    is_tree: bool,
    time_ns: f64,
    /// Ratio of the time to that of the best tree.
    ratio: f64,
}

/// The best tree at each size, and all peers.
fn rows(search: &Search, sizes: &[u64], n_generated: usize, peers: &[Peer]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (size, &size_bytes) in sizes.iter().enumerate() {
        let Some(best) = search.best(size) else { continue };
        let best_ns = search.time_ns(best, size);
        let how = if best < n_generated { "generated" } else { "changed as its stages suggest" };
        let what = format!("{} ({how})", search.candidates()[best].origin);
        rows.push(Row { size_bytes, what, is_tree: true, time_ns: best_ns, ratio: 1.0 });
        let mut of_peers: Vec<Row> = peers
            .iter()
            .map(|peer| {
                let time_ns = statistics::median(&peer.times_ns[size]).unwrap_or(f64::INFINITY);
                Row { size_bytes, what: peer.name.clone(), is_tree: false, time_ns, ratio: time_ns / best_ns }
            })
            .collect();
        of_peers.sort_by(|a, b| a.time_ns.total_cmp(&b.time_ns));
        rows.extend(of_peers);
    }
    rows
}

fn table(rows: &[Row]) -> Table {
    let columns =
        [("size", Align::Right), ("", Align::Left), ("a call", Align::Right), ("by the best tree", Align::Right)];
    let mut table = Table::new(&columns);
    for row in rows {
        let size = ByteCount::new(row.size_bytes).to_string();
        table.row([size, row.what.clone(), span_ns(row.time_ns), format!("{:.2}", row.ratio)]);
    }
    table
}
