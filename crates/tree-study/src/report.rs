//! The results as a document: what was measured beside what was published, and what cannot be compared.

use mpi_run::{Document, MalformedRecord, Outcome, Section};
use statistics::{median, quantile};
use text::figure::{percent, span_ns};
use units::ByteCount;

use crate::count::{COLLECTORS_OF_P2, counts};
use crate::plan::SIZES;
use crate::record::{Inside, Monitored, Paired, Run, kind};
use crate::table::{Published, tables};
use crate::{FIRST, Settings, Subject, Topology, WATCHED, Way, Workload};

/// The largest gain by another tree in the first paper.
const PUBLISHED_SPEEDUP: f64 = 1.49;
/// A way that several libraries take which do not know hosts.
const UNAWARE: &str = "binomial over ranks";

/// Text below each table of overheads.
const UNMEASURED: &str = "Rows without figures of ours need several clusters, or a variant of the monitor that exists only in the paper. \
     Processor time is that of the monitor where it is read, by one processor.";

/// Everything that is known so far.
///
/// # Errors
/// A record that is not what its kind says.
pub fn report(outcome: &Outcome) -> Result<Document, MalformedRecord> {
    let settings: Vec<Settings> = outcome.all(kind::SETTINGS)?;
    let (runs, insides): (Vec<Run>, Vec<Inside>) = (outcome.all(kind::RUN)?, outcome.all(kind::INSIDE)?);
    let pairs: Vec<Paired> = outcome.all(kind::PAIR)?;
    let mut sections = vec![of_counts()];
    let mut about = vec![format!("MPI: {}", outcome.header.mpi), format!("started: {}", outcome.header.started)];
    if let Some(settings) = settings.first() {
        let Settings { n_calls, n_rounds, n_pairs, stretch_ms, .. } = settings;
        about.push(format!("{n_calls} calls a run, {n_rounds} runs of each tree; {n_pairs} pairs of stretches of {stretch_ms} ms for each overhead"));
        let topologies = || settings.topologies.iter().enumerate();
        sections.extend(topologies().map(|(at, topology)| of_trees(at, topology, &runs)));
        sections.push(gains(&settings.topologies, &runs));
        sections.push(of_stages(&settings.topologies, &insides));
        sections.push(of_noise(&pairs));
        sections.extend(tables(settings.n_helpers).iter().map(|table| of_table(table, &pairs)));
    }
    Ok(Document { title: "A study of trees".to_owned(), about, warnings: outcome.warnings(), sections })
}

fn of_counts() -> Section {
    let row =
        |count: crate::count::Count| vec![count.what.to_owned(), count.published.to_string(), count.here.to_string()];
    Section::new("Counts", &["", "published", "here"], counts().into_iter().map(row).collect(), &[COLLECTORS_OF_P2])
}

/// Returns the section on the times of calls over each tree and by the library itself.
fn of_trees(at: usize, topology: &Topology, runs: &[Run]) -> Section {
    let mut rows = Vec::new();
    for size_bytes in SIZES {
        let first = median_of(&times(runs, at, size_bytes, &Way::Tree(FIRST.to_owned())));
        let mut ways: Vec<&Way> = Vec::new();
        for run in of_topology(runs, at, size_bytes) {
            if !ways.contains(&&run.trial.way) {
                ways.push(&run.trial.way);
            }
        }
        let mut timed: Vec<(&Way, Vec<f64>)> =
            ways.into_iter().map(|way| (way, times(runs, at, size_bytes, way))).collect();
        timed.sort_by(|a, b| median_of(&a.1).total_cmp(&median_of(&b.1)));
        for (way, times) in timed {
            let time = median_of(&times);
            let size = ByteCount::new(size_bytes).to_string();
            rows.push(vec![
                size,
                way.to_string(),
                span_ns(time),
                quartiles(&times, span_ns),
                format!("{:.2}", first / time),
            ]);
        }
    }
    let title = format!("Trees on {topology}");
    Section::new(
        &title,
        &["size", "allreduce", "a call", "quartiles", "by the first tree"],
        rows,
        &[
            "The fastest first. The last column is how many times as fast as the tree that the paper begins with: a node for each host, and one above them.",
        ],
    )
}

/// P1's headline: what the best tree gains.
fn gains(topologies: &[Topology], runs: &[Run]) -> Section {
    let mut rows = Vec::new();
    for (at, topology) in topologies.iter().enumerate() {
        for size_bytes in SIZES {
            let tree = |name: &str| median_of(&times(runs, at, size_bytes, &Way::Tree(name.to_owned())));
            let library = |is_yielding| median_of(&times(runs, at, size_bytes, &Way::Library { is_yielding }));
            let Some((name, best)) = best_tree(runs, at, size_bytes) else { continue };
            let ratio = |time: f64| if time.is_finite() { format!("{:.2}", time / best) } else { "-".to_owned() };
            rows.push(vec![
                topology.to_string(),
                ByteCount::new(size_bytes).to_string(),
                name,
                ratio(tree(FIRST)),
                ratio(tree(UNAWARE)),
                ratio(library(true)),
                ratio(library(false)),
            ]);
        }
    }
    let published = format!("up to {PUBLISHED_SPEEDUP}");
    rows.push(vec![
        "published (P1)".to_owned(),
        "4 B, 256 B".to_owned(),
        "by hand".to_owned(),
        published,
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
    ]);
    let columns = [
        "topology",
        "size",
        "best tree",
        "over the first tree",
        "over ranks in a binomial tree",
        "over the library, yielding",
        "over the library",
    ];
    Section::new(
        "What the best tree gains",
        &columns,
        rows,
        &[
            "P1's hosts had one to eight processors with a thread on each, and Ethernet of 100 Mbit/s. Where ranks share cores, as warnings tell, releasing them is up \
             to the scheduler: trees differ by wake-ups rather than by hops. What a library loses by spinning then has nothing to do with its tree; the column of the yielding one tells what \
             a tree is worth. The best of ten medians is also the luckiest: its quartiles are above.",
        ],
    )
}

/// The fastest tree of all, and what a call over it takes.
pub(crate) fn best_tree(runs: &[Run], topology: usize, size_bytes: u64) -> Option<(String, f64)> {
    let names = of_topology(runs, topology, size_bytes).filter_map(|run| match &run.trial.way {
        Way::Tree(name) => Some(name.clone()),
        _ => None,
    });
    let timed = names.map(|name| (median_of(&times(runs, topology, size_bytes, &Way::Tree(name.clone()))), name));
    timed.filter(|(time, _)| time.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(time, name)| (name, time))
}

/// Returns the section on the parts of the time of the first and the best tree.
fn of_stages(topologies: &[Topology], insides: &[Inside]) -> Section {
    let mut rows = Vec::new();
    for inside in insides {
        let Inside { trial, analysis } = inside;
        let Some(slowest) = analysis.groups().into_iter().next().and_then(|group| analysis.path(group.representative))
        else {
            continue;
        };
        let costs = analysis.costs(slowest);
        let hops = costs.lan_ns + costs.wan_ns;
        let hint = analysis.hints().into_iter().next().map_or_else(
            || "-".to_owned(),
            |hint| format!("{} at {}, {}", hint.part.name(), analysis.nodes[hint.node].name, percent(hint.share)),
        );
        rows.push(vec![
            topologies[trial.topology].to_string(),
            trial.to_string(),
            format!("rank {}", slowest.rank),
            span_ns(slowest.cost.mean_ns),
            span_ns(hops),
            hint,
        ]);
    }
    Section::new(
        "Where the time goes",
        &["topology", "run", "slowest path", "cost", "between hosts", "largest stage"],
        rows,
        &[
            "The slowest path of the first run of each tree; its cost leaves out waiting for late ranks. The largest stage is what `foretop mpi analyze` hints at first, with its share of the whole path. The pathmaps show all paths.",
        ],
    )
}

/// Returns the section on the difference between two equal stretches: no smaller overhead can be told.
fn of_noise(pairs: &[Paired]) -> Section {
    let rows = WATCHED.map(|workload| {
        let overheads = overheads(&of_subject(pairs, Subject::Nothing, workload));
        vec![
            workload.to_string(),
            percent(median_of(&overheads)),
            quartiles(&overheads, percent),
            overheads.len().to_string(),
        ]
    });
    Section::new(
        "What two equal stretches differ by",
        &["workload", "median", "quartiles", "pairs"],
        rows.to_vec(),
        &["Overheads below are medians of such pairs. One inside these quartiles is not told from none."],
    )
}

fn of_table(table: &Published, pairs: &[Paired]) -> Section {
    let row = |row: &crate::table::Row| {
        let mut cells = vec![row.scope.to_owned(), row.overhead.to_owned(), row.gathered.to_owned()];
        let found = row.here.map(|(subject, workload)| of_subject(pairs, subject, workload)).unwrap_or_default();
        let overheads = overheads(&found);
        let monitored: Vec<&Monitored> = found.iter().filter_map(|paired| paired.monitor.as_ref()).collect();
        let middle = |pick: fn(&Monitored) -> f64| median_of(&monitored.iter().map(|&it| pick(it)).collect::<Vec<_>>());
        if overheads.is_empty() {
            cells.extend(["-"; 3].map(str::to_owned));
        } else {
            let n_pairs = overheads.len().to_string();
            cells.extend([percent(median_of(&overheads)), quartiles(&overheads, percent), n_pairs]);
        }
        if monitored.is_empty() {
            cells.extend(["-"; 3].map(str::to_owned));
        } else {
            cells.push(percent(middle(|it| it.gathered_ratio)));
            cells.push(middle(|it| it.n_discarded as f64).to_string());
            cells.push(percent(middle(|it| it.cpu_ratio)));
        }
        cells
    };
    let columns = [
        "scope",
        "published",
        "gathered",
        "here",
        "quartiles",
        "pairs",
        "gathered here",
        "discarded here",
        "processor time",
    ];
    let rows = table.rows.iter().map(row).collect();
    Section::new(table.title, &columns, rows, &[table.note, UNMEASURED])
}

/// Returns the relative overheads of the stretches with something over those without.
fn overheads(pairs: &[&Paired]) -> Vec<f64> {
    pairs.iter().map(|paired| paired.with_ns / paired.without_ns - 1.0).collect()
}

fn of_subject(pairs: &[Paired], subject: Subject, workload: Workload) -> Vec<&Paired> {
    let is_it = |paired: &&Paired| (paired.pair.subject, paired.pair.workload) == (subject, workload);
    pairs.iter().filter(is_it).collect()
}

/// The runs that trees are compared by.
fn of_topology(runs: &[Run], topology: usize, size_bytes: u64) -> impl Iterator<Item = &Run> {
    runs.iter().filter(move |run| {
        let trial = &run.trial;
        (trial.workload, trial.topology, trial.size_bytes) == (Workload::Gsum, topology, size_bytes)
    })
}

fn times(runs: &[Run], topology: usize, size_bytes: u64, way: &Way) -> Vec<f64> {
    of_topology(runs, topology, size_bytes).filter(|run| run.trial.way == *way).filter_map(|run| run.call_ns).collect()
}

fn median_of(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

fn quartiles(values: &[f64], text: fn(f64) -> String) -> String {
    let [lower, upper] = [0.25, 0.75].map(|share| quantile(values, share).unwrap_or(f64::NAN));
    format!("{} to {}", text(lower), text(upper))
}
