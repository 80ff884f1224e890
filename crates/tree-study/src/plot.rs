//! The pictures of both papers: pathmaps, comparisons, the serialization of departures, who is last.

use mpi_analysis::Analysis;
use mpi_analysis::draw::{Waits, compared_pathmap, last_arrival_tree, pathmap, serialization};
use mpi_run::{MalformedRecord, Outcome};
use picture::Picture;

use crate::plan::SIZES;
use crate::record::{Inside, Run, kind};
use crate::report::best_tree;
use crate::{FIRST, Settings, Way, Workload};

/// Trees that the first paper draws beside the first one.
const MOVED: &str = "flat over hosts, root moved";
const DEEPER_INSIDE: &str = "flat over hosts, pairs inside";

/// All that the runs so far allow, each with a name.
///
/// # Errors
/// A record that is not what its kind says.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let settings: Vec<Settings> = outcome.all(kind::SETTINGS)?;
    let (runs, insides): (Vec<Run>, Vec<Inside>) = (outcome.all(kind::RUN)?, outcome.all(kind::INSIDE)?);
    let n_topologies = settings.first().map_or(0, |settings| settings.topologies.len());
    Ok((0..n_topologies).flat_map(|topology| of_topology(topology, &runs, &insides)).collect())
}

fn of_topology(topology: usize, runs: &[Run], insides: &[Inside]) -> Vec<(String, Picture)> {
    let inside = |workload, size_bytes: u64, name: &str| -> Option<&Analysis> {
        let way = Way::Tree(name.to_owned());
        let found = insides.iter().map(|inside| (&inside.trial, &inside.analysis)).find(|(trial, _)| {
            (trial.topology, trial.workload, trial.size_bytes) == (topology, workload, size_bytes) && trial.way == way
        });
        found.map(|(_, analysis)| analysis).filter(|analysis| analysis.n_calls > 0)
    };
    let sums = |size_bytes, name: &str| inside(Workload::Gsum, size_bytes, name);
    let mut pictures = Vec::new();
    let mut add = |name: String, picture| pictures.push((format!("topology-{}-{name}", topology + 1), picture));
    for size_bytes in SIZES {
        let Some(first) = sums(size_bytes, FIRST) else { continue };
        add(format!("{size_bytes}b-first-pathmap"), pathmap(first, Waits::LeftOut));
        let slowest = first.groups().first().map_or(0, |group| group.representative);
        let mut compare = |name: &str, what: &str| {
            let Some(other) = sums(size_bytes, name).filter(|_| name != FIRST) else { return };
            let both = [(FIRST, first), (name, other)];
            add(format!("{size_bytes}b-{what}-compared"), compared_pathmap(&both, slowest, Waits::LeftOut));
        };
        compare(MOVED, "moved");
        if let Some((best, _)) = best_tree(runs, topology, size_bytes) {
            compare(&best, "best");
            if let Some(analysis) = sums(size_bytes, &best).filter(|_| best != FIRST) {
                add(format!("{size_bytes}b-best-pathmap"), pathmap(analysis, Waits::LeftOut));
            }
        }
        if let Some(deeper) = sums(size_bytes, DEEPER_INSIDE) {
            // The first host has a node of that name in both trees.
            let host = first.nodes.iter().find(|node| node.name != "root").or(first.nodes.first());
            let node = host.map_or("root", |node| node.name.as_str());
            add(
                format!("{size_bytes}b-serialization"),
                serialization(&[(FIRST, first), (DEEPER_INSIDE, deeper)], &[node]),
            );
        }
    }
    if let Some(relaxation) = inside(Workload::Sor, crate::plan::WATCHED_BYTES, FIRST) {
        add("sor-pathmap-waits".to_owned(), pathmap(relaxation, Waits::Drawn));
        add("sor-last-arrival".to_owned(), last_arrival_tree(relaxation));
    }
    pictures
}
