//! `foretop mpi watch`: where time goes in collective operations of a job of this host, as it runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use event_space::{Pull, Read, Tally, Tuple};
use mpi_analysis::{Analyzer, Expectations, HostClock, KernelLog};
use mpi_job::Folder;
use mpi_trace::{Alignment, Line, Reading, RingHeader, RingKind};
use mpi_tree::Forest;
use predict::{Policy, Spec};
use text::figure::{percent, span_ns};
use units::Confidence;

use crate::argument::positive_span;
use crate::failure::OrUsage;
use crate::help::examples;

/// Records of a ring that are read at once: all that a ring of the usual size holds.
const N_AT_ONCE: usize = 1 << 15;
/// Stages are told that were slower than all but one in a thousand forecasts allow.
const CONFIDENCE: f64 = 0.999;

/// Watch the collective operations of a job of this host
#[derive(Args)]
#[command(after_help = examples(&["foretop mpi watch node1-2f0", "foretop mpi watch node1-2f0 --every 200ms --tree 1", "foretop mpi watch node1-2f0 --once"]))]
pub struct Watch {
    /// The job: its name, or its folder
    #[arg(value_name = "JOB")]
    job: PathBuf,

    /// Which tree of the tree file, from 0
    #[arg(long, default_value_t = 0)]
    tree: usize,

    /// How often to read
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_span)]
    every: Duration,

    /// Print what the rings hold, and end
    #[arg(long)]
    once: bool,
}

impl Watch {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = Folder::open(&mpi_job::find(&self.job)).or_usage()?;
        let Some(text) = folder.tree()? else { bail!("no collective call of the job goes over a tree") };
        let forest = Forest::parse(&text).with_context(|| format!("the tree file of `{}`", self.job.display()))?;
        let Some(tree) = forest.trees.get(self.tree) else {
            let error = anyhow::anyhow!("there is no tree {}; the file has {}", self.tree, forest.trees.len());
            return Err(error).or_usage();
        };
        let (mut kernel, mut pids) = (KernelLog::default(), BTreeMap::new());
        let (mut read, mut clocks) = (Read::new(N_AT_ONCE), vec![HostClock::alone(); forest.hosts.len()]);
        for ring in folder.rings()?.into_iter().filter_map(Result::ok) {
            let header = &ring.header;
            if header.kind != RingKind::Stages || header.tree != forest.id_of(self.tree) {
                continue;
            }
            let rank = header.rank;
            let Some(host) = forest.hosts.iter().position(|host| host.ranks.contains(&rank)) else { continue };
            clocks[host].line = line(header);
            pids.insert(rank, header.pid);
            read = read.and(Arc::new(ring), host as u16, rank);
        }
        let mut analyzer = Analyzer::new(tree.clone(), forest.hosts.clone(), clocks);
        let confidence = Confidence::new(CONFIDENCE).expect("a share between 0 and 1");
        let mut expectations = Expectations::new(Policy::of(&Spec::ar(2)), confidence);
        let (mut tuples, mut total): (Vec<Tuple>, _) = (Vec::new(), Tally::default());
        loop {
            total += read.pull(&mut tuples);
            for (&rank, &pid) in &pids {
                mpi_job::kernel_of(pid).into_iter().for_each(|sample| kernel.take(rank, &Alignment::default(), sample));
            }
            analyzer.take(tuples.drain(..).map(|tuple| tuple.event));
            for analysis in analyzer.analyses() {
                write!(out, "{}", analysis.table(&kernel))?;
            }
            let analysis = analyzer.analysis();
            for slow in expectations.step(&analyzer.end_interval()) {
                let node = &analysis.nodes[slow.node];
                let from = slow.contributor.map_or(String::new(), |i| format!(" from {}", node.contributors[i].name));
                let [took, expected] = [slow.mean_ns, slow.expected_ns].map(span_ns);
                writeln!(
                    out,
                    "slower than expected: {} at {}{from} took {took}, not {expected}",
                    slow.part.name(),
                    node.name
                )?;
            }
            let gathered = total.n_read as f64 / (total.n_read + total.n_lost).max(1) as f64;
            writeln!(out, "{} records read, {} lost, {} gathered\n", total.n_read, total.n_lost, percent(gathered))?;
            out.flush()?;
            if self.once || !folder.is_alive()? {
                return Ok(());
            }
            clock::sleep(self.every);
        }
    }
}

/// From when the ring was made until this moment.
fn line(header: &RingHeader) -> Line {
    if !header.is_counter {
        return Line::identity();
    }
    let clock::Reading { ticks, monotonic_ns } = clock::Ticks::Counter.reading();
    Line::through(header.reading, Reading { ticks, monotonic_ns })
}
