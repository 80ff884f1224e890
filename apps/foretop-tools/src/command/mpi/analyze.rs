//! `foretop mpi analyze`: where time goes in collective operations, of a trace or of a job that runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use mpi_analysis::draw::{Waits, compared_pathmap, last_arrival_tree, pathmap, serialization, timeline};
use mpi_analysis::{
    Analysis, Comparison, KernelLog, analyzers, arrivals, arrivals_table, calls_without_stages, to_csv,
};
use mpi_trace::{Flow, Matching, Recording, Timeline};
use mpi_tree::CAPACITY_BYTES;
use picture::Picture;
use serde::Serialize;

use super::trace::read;
use command_line::argument::drawing::{Drawing, Kind, kinds};
use command_line::failure::OrUsage;
use command_line::terminal::write_json;
use text::help::examples;
use units::ByteCount;

/// Show where time goes inside collective operations, and what to try
///
/// Calls that use a tree are shown with each stage, other collective calls only with the rank that arrived last.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi analyze foretop-trace",
    "foretop mpi analyze before --compare after --draw pictures",
    "foretop mpi analyze node1-2f0 --json",
]))]
pub struct Analyze {
    /// A folder of trace files, a trace file, or a running job
    #[arg(value_name = "TRACE|JOB")]
    run: PathBuf,

    /// Another run, to compare with the first
    #[arg(long, value_name = "TRACE|JOB")]
    compare: Option<PathBuf>,

    /// The folder to draw pathmaps, serialization, last arrivals and the timeline into
    #[arg(long, value_name = "FOLDER")]
    draw: Option<PathBuf>,

    /// The format of the pictures
    #[arg(long, value_parser = kinds(), default_value = "svg")]
    kind: Kind,

    /// Print all figures as JSON, for programs
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print a row for each stage
    #[arg(long)]
    csv: bool,
}

/// Report that `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    trees: Vec<mpi_analysis::Report<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<Comparison>,
    /// Calls by operation that a tree carries and no stage is recorded of.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    without_stages: BTreeMap<&'static str, u64>,
    /// Arrivals by operation and rank.
    arrivals: BTreeMap<&'static str, BTreeMap<u32, mpi_analysis::Arrivals>>,
}

impl Analyze {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let recordings = read(&self.run).or_usage()?;
        let trees = analyses(&recordings, &self.run)?;
        let without = calls_without_stages(&recordings)?;
        let other = match &self.compare {
            Some(path) => analyses(&read(path).or_usage()?, path)?,
            None => Vec::new(),
        };
        if self.compare.is_some() && (trees.is_empty() || other.is_empty()) {
            bail!("two runs are compared by the stages of their trees; record both with --tree");
        }
        // Trees in the order of the calls on them: a run that tries another tree gives it another name.
        let pairs: Vec<(&Analysis, &Analysis)> =
            Flow::EACH.into_iter().flat_map(|flow| of(&trees, flow).zip(of(&other, flow))).collect();
        let (timeline, kernel) = (Timeline::of(&recordings), KernelLog::of(&recordings));
        if self.json {
            let mut report = report(&timeline, &trees, &kernel, &pairs);
            report.without_stages = without.iter().map(|(operation, n)| (operation.name(), *n)).collect();
            write_json(out, &report)?;
        } else if self.csv {
            write!(out, "{}", to_csv(&trees))?;
        } else {
            for tree in &trees {
                writeln!(out, "{}", tree.table(&kernel))?;
            }
            for (operation, n) in &without {
                let limit = ByteCount::new(CAPACITY_BYTES as u64);
                let name = operation.name();
                writeln!(out, "{name}: {n} calls with more than {limit} at a node are left out: they have no stages")?;
            }
            write!(out, "{}", arrivals_table(&arrivals(&timeline, &Matching::of(&timeline)), timeline.error_ns()))?;
            for (before, after) in &pairs {
                writeln!(out, "\n{} compared with {}", after.title(), before.title())?;
                write!(out, "{}", Comparison::of(before, after).table())?;
            }
        }
        match &self.draw {
            Some(folder) => self.draw_into(folder, &timeline, &trees, &pairs, out),
            None => Ok(()),
        }
    }

    fn draw_into(
        &self,
        folder: &Path,
        calls: &Timeline<'_>,
        trees: &[Analysis],
        pairs: &[(&Analysis, &Analysis)],
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut pictures: Vec<(String, Picture)> = Vec::new();
        for (idx, tree) in trees.iter().enumerate().filter(|(_, tree)| tree.n_calls > 0) {
            let mut add = |what: &str, picture| pictures.push((format!("tree-{idx}-{what}"), picture));
            add("pathmap", pathmap(tree, Waits::LeftOut));
            if tree.flow.is_joined() {
                add("pathmap-waits", pathmap(tree, Waits::Drawn));
                add("last-arrival", last_arrival_tree(tree));
            }
            if tree.flow.is_handed_out() {
                let nodes: Vec<&str> = tree.nodes.iter().map(|node| node.name.as_str()).collect();
                add("serialization", serialization(&[(&tree.tree, tree)], &nodes));
            }
        }
        for (idx, (before, after)) in pairs.iter().enumerate() {
            // The way that cost most before.
            let Some(rank) = before.groups().first().map(|group| group.representative) else { continue };
            let runs = [("before", *before), ("after", *after)];
            pictures.push((format!("compared-{idx}-rank-{rank}"), compared_pathmap(&runs, rank, Waits::LeftOut)));
        }
        if !calls.calls().is_empty() {
            pictures.push(("timeline".to_owned(), timeline(calls, None)));
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        for (name, picture) in pictures {
            let drawing = Drawing::new(folder.join(format!("{name}.{}", self.kind.extension())), self.kind);
            drawing.draw(&picture)?;
            if !self.json && !self.csv {
                writeln!(out, "{}", drawing.path().display())?;
            }
        }
        Ok(())
    }
}

fn report<'a>(
    timeline: &Timeline<'_>,
    trees: &'a [Analysis],
    kernel: &KernelLog,
    pairs: &[(&Analysis, &Analysis)],
) -> Report<'a> {
    let by_operation = arrivals(timeline, &Matching::of(timeline)).into_iter();
    Report {
        trees: trees.iter().map(|tree| tree.report(kernel)).collect(),
        comparisons: pairs.iter().map(|(before, after)| Comparison::of(before, after)).collect(),
        without_stages: BTreeMap::new(),
        arrivals: by_operation.map(|(operation, by_rank)| (operation.name(), by_rank)).collect(),
    }
}

/// Returns the analyses of all trees and ways over them that calls took, the one with most calls first.
fn analyses(recordings: &[Recording], path: &Path) -> anyhow::Result<Vec<Analysis>> {
    let analyzers = analyzers(recordings).with_context(|| format!("cannot analyze `{}`", path.display()))?;
    let mut analyses: Vec<Analysis> = analyzers.iter().flat_map(mpi_analysis::Analyzer::analyses).collect();
    // A tree without any call still says what it is.
    if analyses.iter().any(|analysis| analysis.n_calls > 0) {
        analyses.retain(|analysis| analysis.n_calls > 0 || analysis.n_disordered > 0);
    }
    analyses.sort_by_key(|analysis| std::cmp::Reverse(analysis.n_calls));
    Ok(analyses)
}

/// Returns the analyses of one way that data went, in the order of their trees.
fn of(all: &[Analysis], flow: Flow) -> impl Iterator<Item = &Analysis> {
    all.iter().filter(move |tree| tree.flow == flow)
}
