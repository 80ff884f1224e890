//! The monitors: what each gathers, and how that is reported.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::ValueEnum;
use event_space::{
    Counts, Gather, Hop, Need, Pull, Scope, Sites, Spent, StageFigures, Tally, Tuple, Weights, merge_counts,
};
use mpi_analysis::{Analyzer, Expectations, IntervalMean, KernelLog};
use mpi_trace::{Flow, Subject};
use mpi_tree::{Contributor, Place};
use serde_json::{Value, json};
use text::figure::{percent, span_ns};
use text::{Align, Table};

/// Contributors of a node that are reported, those that are last most often.
const N_LAST_TOLD: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// The time in all stages, their figures, and those slower than expected
    Stages,
    /// The last arrivals at each node, gathered call by call
    LoadBalance,
    /// The last arrivals at each node, counted on each host
    Distributed,
    /// Time in collective calls by rank
    Time,
    /// Figures of all stages, computed on each host
    Statistics,
}

/// A tree that is watched, and what came of it so far.
pub struct Watched {
    pub sites: Sites,
    /// Tally of all pulls.
    pub tally: Tally,
    /// Results that came.
    pub n_gathered: u64,
    monitor: Monitor,
}

enum Monitor {
    Stages { source: Source<Tuple>, analyzer: Box<Analyzer>, expectations: Box<Expectations>, means: Vec<IntervalMean> },
    LoadBalance { source: Source<Tuple>, weights: Weights },
    Distributed { source: Source<Counts>, newest: BTreeMap<u16, Counts> },
    Time { source: Source<Spent>, newest: BTreeMap<(u32, &'static str), Spent> },
    Statistics { source: Source<StageFigures>, newest: BTreeMap<(u16, event_space::Quantity, u16), StageFigures> },
    Scope { source: Source<Tuple>, counts: Weights },
}

/// Source of a pull, and the items of the last one.
struct Source<T> {
    pull: Box<dyn Pull<T>>,
    items: Vec<T>,
}

impl<T> Source<T> {
    fn new(pull: Box<dyn Pull<T>>) -> Self {
        Self { pull, items: Vec::new() }
    }

    /// Hands on what came. Gives how much that was.
    fn each(&mut self, take: impl FnMut(T)) -> (Tally, u64) {
        let tally = self.pull.pull(&mut self.items);
        let n = self.items.len() as u64;
        self.items.drain(..).for_each(take);
        (tally, n)
    }
}

impl Watched {
    pub fn new(sites: Sites, kind: Kind, n_helpers: usize, by_cluster: bool, hop: Hop) -> anyhow::Result<Self> {
        let (tree, hosts) = (sites.tree(), sites.hosts());
        let monitor = match kind {
            Kind::Stages => Monitor::Stages {
                source: Source::new(sites.scope(&Scope::everything(tree, hosts, n_helpers))?.0),
                analyzer: Box::new(Analyzer::new(tree.clone(), hosts.to_vec(), sites.clocks())),
                expectations: Box::default(),
                means: Vec::new(),
            },
            Kind::LoadBalance => {
                let scope = Scope::last_arrivals(tree, hosts, n_helpers, by_cluster);
                Monitor::LoadBalance { source: Source::new(sites.scope(&scope)?.0), weights: Weights::new() }
            }
            Kind::Distributed => {
                let source = gather(&sites, n_helpers, |host| sites.counts(host))?;
                Monitor::Distributed { source, newest: BTreeMap::new() }
            }
            Kind::Time => {
                Monitor::Time { source: gather(&sites, n_helpers, |host| sites.time(host))?, newest: BTreeMap::new() }
            }
            Kind::Statistics => {
                let source = gather(&sites, n_helpers, |host| sites.statistics(host, hop, true))?;
                Monitor::Statistics { source, newest: BTreeMap::new() }
            }
        };
        Ok(Self { monitor, tally: Tally::default(), n_gathered: 0, sites })
    }

    pub fn scope(sites: Sites, scope: &Scope) -> anyhow::Result<Self> {
        let source = Source::new(sites.scope(scope)?.0);
        let monitor = Monitor::Scope { source, counts: Weights::new() };
        Ok(Self { monitor, tally: Tally::default(), n_gathered: 0, sites })
    }

    pub fn name(&self) -> &'static str {
        match self.monitor {
            Monitor::Stages { .. } => "stages",
            Monitor::LoadBalance { .. } => "load-balance",
            Monitor::Distributed { .. } => "distributed",
            Monitor::Time { .. } => "time",
            Monitor::Statistics { .. } => "statistics",
            Monitor::Scope { .. } => "scope",
        }
    }

    /// Whether threads on the hosts work between two pulls.
    pub fn is_counted_elsewhere(&self) -> bool {
        matches!(self.monitor, Monitor::Distributed { .. } | Monitor::Time { .. } | Monitor::Statistics { .. })
    }

    /// Whether what comes are figures of all calls so far.
    pub fn is_summed_up(&self) -> bool {
        matches!(self.monitor, Monitor::Time { .. } | Monitor::Statistics { .. })
    }

    /// Whether nothing more can come.
    pub fn is_over(&self) -> bool {
        !self.sites.is_alive()
    }

    pub fn pull(&mut self) {
        let (tally, n) = match &mut self.monitor {
            Monitor::Stages { source, analyzer, .. } => source.each(|tuple| analyzer.take([tuple.event])),
            Monitor::LoadBalance { source, weights: counts } | Monitor::Scope { source, counts } => {
                source.each(|tuple| {
                    if let Subject::Stage { collector, .. } = tuple.event.subject {
                        *counts.entry(collector).or_default() += 1;
                    }
                })
            }
            Monitor::Distributed { source, newest } => source.each(|counts| {
                newest.insert(counts.host, counts);
            }),
            Monitor::Time { source, newest } => source.each(|spent| {
                newest.insert((spent.rank, spent.operation.name()), spent);
            }),
            Monitor::Statistics { source, newest } => source.each(|figures| {
                newest.insert((figures.node, figures.of, figures.position), figures);
            }),
        };
        self.tally += tally;
        self.n_gathered += n;
    }

    /// Returns what is known, for people and for programs. With it an interval ends.
    pub fn tell(&mut self, kernel: &KernelLog) -> (String, Value) {
        let sites = &self.sites;
        match &mut self.monitor {
            Monitor::Stages { analyzer, expectations, means, .. } => {
                let analyses = analyzer.analyses();
                let analysis = &analyses[0];
                *means = analyzer.end_interval();
                let mut text: String = analyses.iter().map(|analysis| analysis.table(kernel)).collect();
                let slow = expectations.step(means);
                for slow in &slow {
                    let node = &analysis.nodes[slow.node];
                    let from =
                        slow.contributor.map_or(String::new(), |i| format!(" from {}", node.contributors[i].name));
                    let [took, expected] = [slow.mean_ns, slow.expected_ns].map(span_ns);
                    let part = slow.part.name();
                    let _infallible = writeln!(
                        text,
                        "slower than expected: {part} at {}{from}{} took {took}, not {expected}",
                        node.name,
                        slow.flow.suffix()
                    );
                }
                (text, json!({ "analyses": analyses, "slower_than_expected": slow }))
            }
            Monitor::LoadBalance { weights, .. } => last_arrivals(sites, weights),
            Monitor::Distributed { newest, .. } => {
                let need = Need::of_arrivals(sites.tree(), sites.hosts());
                last_arrivals(sites, &merge_counts(&need, newest.values().cloned()))
            }
            Monitor::Time { newest, .. } => {
                let columns = [
                    ("rank", Align::Right),
                    ("operation", Align::Left),
                    ("calls", Align::Right),
                    ("time", Align::Right),
                ];
                let mut table = Table::new(&columns);
                for spent in newest.values() {
                    let time = span_ns(spent.ns as f64).to_string();
                    table.row([
                        spent.rank.to_string(),
                        spent.operation.name().to_owned(),
                        spent.n_calls.to_string(),
                        time,
                    ]);
                }
                (table.to_string(), json!(newest.values().collect::<Vec<_>>()))
            }
            Monitor::Statistics { newest, .. } => statistics(sites, newest.values()),
            Monitor::Scope { counts, .. } => {
                let mut table = Table::new(&[("collector", Align::Right), ("tuples", Align::Right)]);
                counts.iter().for_each(|(collector, n)| table.row([collector.to_string(), n.to_string()]));
                (table.to_string(), json!(counts))
            }
        }
    }

    /// Returns the signal of each stage and its mean in seconds, for the interval that ended.
    pub fn means(&self) -> Vec<(String, f64)> {
        let Monitor::Stages { means, .. } = &self.monitor else { return Vec::new() };
        let tree = self.sites.tree();
        let name = |mean: &IntervalMean| {
            let contributor =
                mean.contributor.map(|i| format!(".{}", contributor(&self.sites, mean.node, i).replace(' ', "-")));
            let part = mean.part.name().replace(' ', "-");
            let flow = match mean.flow {
                Flow::All => "",
                Flow::ToRoot => "to-root.",
                Flow::FromRoot => "from-root.",
            };
            let node = &tree.nodes[mean.node].name;
            format!("mpi.{}.{flow}{node}.{part}{}", tree.name, contributor.unwrap_or_default())
        };
        means.iter().map(|mean| (name(mean), mean.mean_ns / 1e9)).collect()
    }
}

/// Gathers from all hosts that have a node and that somebody watches.
fn gather<T: Send + 'static, E: Into<anyhow::Error>>(
    sites: &Sites,
    n_helpers: usize,
    of_host: impl Fn(&str) -> Result<Box<dyn Pull<T>>, E>,
) -> anyhow::Result<Source<T>> {
    let hosts = sites.watched().into_iter();
    let sources = hosts.map(|host| of_host(host).map_err(Into::into)).collect::<anyhow::Result<_>>()?;
    Ok(Source::new(Box::new(Gather::new(sources, n_helpers)?)))
}

/// Returns the name of a contributor in tables.
fn contributor(sites: &Sites, node: usize, i: usize) -> String {
    match sites.tree().nodes[node].contributors[i] {
        Contributor::Rank(rank) => format!("rank {rank}"),
        Contributor::Node(child) => sites.tree().nodes[child].name.clone(),
    }
}

fn last_arrivals(sites: &Sites, weights: &Weights) -> (String, Value) {
    let collectors = sites.tree().collectors(sites.hosts());
    let mut by_node: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
    for (&number, &n) in weights {
        if let Some(collector) = collectors.get(usize::from(number))
            && let Place::Arrive(i) = collector.place
        {
            by_node.entry(collector.node).or_default().push((n, i));
        }
    }
    let columns =
        [("node", Align::Left), ("host", Align::Left), ("calls", Align::Right), ("last to arrive", Align::Left)];
    let (mut table, mut values) = (Table::new(&columns), Vec::new());
    for (node, mut last) in by_node {
        last.sort_unstable_by(|a, b| b.cmp(a));
        let n_calls: u64 = last.iter().map(|(n, _)| n).sum();
        let shape = &sites.tree().nodes[node];
        let named = last.iter().map(|&(n, i)| (contributor(sites, node, i), n));
        let told =
            named.clone().take(N_LAST_TOLD).map(|(name, n)| format!("{name} {}", percent(n as f64 / n_calls as f64)));
        let host = &sites.hosts()[shape.host].name;
        table.row([shape.name.clone(), host.clone(), n_calls.to_string(), told.collect::<Vec<_>>().join(", ")]);
        let last: Vec<Value> = named.map(|(name, n)| json!({ "from": name, "n_last": n })).collect();
        values.push(json!({ "node": shape.name, "host": host, "n_calls": n_calls, "last": last }));
    }
    (table.to_string(), Value::Array(values))
}

fn statistics<'a>(sites: &Sites, all: impl Iterator<Item = &'a StageFigures>) -> (String, Value) {
    let columns = ["node", "what", "of", "calls", "mean", "least", "most", "deviation", "median of 100"];
    let aligned =
        columns.map(|name| (name, if ["node", "what", "of"].contains(&name) { Align::Left } else { Align::Right }));
    let (mut table, mut values) = (Table::new(&aligned), Vec::new());
    for figures in all {
        use event_space::Quantity::{ArrivalWait, DepartureWait, Down, Hop, Up, WaitByArrival, WaitByDeparture};
        let Some(node) = sites.tree().nodes.get(usize::from(figures.node)) else { continue };
        let position = usize::from(figures.position);
        if position >= node.contributors.len() {
            continue;
        }
        let (what, of) = match figures.of {
            Down => ("down", String::new()),
            Up => ("up", String::new()),
            Hop => ("hop", contributor(sites, figures.node.into(), position)),
            WaitByArrival => ("wait by arrival", format!("number {}", position + 1)),
            WaitByDeparture => ("wait by departure", format!("number {}", position + 1)),
            ArrivalWait => ("arrival wait", contributor(sites, figures.node.into(), position)),
            DepartureWait => ("departure wait", contributor(sites, figures.node.into(), position)),
        };
        let span = |ns: f32| span_ns(f64::from(ns)).to_string();
        let more = [figures.min_ns, figures.max_ns, figures.deviation_ns, figures.median_last_ns];
        let is_mean_only = matches!(figures.of, ArrivalWait | DepartureWait);
        let more = more.map(|ns| if is_mean_only { String::new() } else { span(ns) });
        let row = [node.name.clone(), what.to_owned(), of.clone(), figures.n_calls.to_string(), span(figures.mean_ns)];
        table.row(row.into_iter().chain(more));
        values.push(json!({ "node_name": node.name, "from": of, "figures": figures }));
    }
    (table.to_string(), Value::Array(values))
}
