//! Stages that stand out from others of their kind, or now and then from themselves, beside the kernel counters of
//! their hosts.

use serde::Serialize;

use crate::{Analysis, Figures, Kernel, KernelLog, Level, Part};

/// A hop that takes this many times what such hops take is a bad link.
const BAD_LINK: f64 = 4.0;
/// Ratio of the longest call to the usual one from which on it is reported.
const RARE: f64 = 20.0;
/// Number of calls below which none is unusual.
const N_CALLS_MIN: u64 = 30;

/// A stage that stands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Part of the path.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, if the part is one that each contributor has.
    pub contributor: Option<usize>,
    /// Reference of the comparison.
    pub against: Against,
    /// Time found: the mean, or the longest call.
    pub found_ns: f64,
    /// Usual time.
    pub usual_ns: f64,
    /// Ratio of the time found to the usual time.
    pub factor: f64,
    /// Begin and end of a longest call, by the clock of rank 0's host.
    pub span_ns: Option<(u64, u64)>,
    /// Kernel counters of those of its hosts that have any: around the longest call, or over the run.
    pub kernel: Vec<(String, Kernel)>,
}

/// Reference that an outlier is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// Other hops inside clusters, or between them: always slow.
    Peers,
    /// Its own median: now and then slow.
    Itself,
}

impl Analysis {
    /// Returns all outliers, the one with the greatest factor first.
    #[must_use]
    pub fn outliers(&self, kernel: &KernelLog) -> Vec<Outlier> {
        let mut outliers: Vec<Outlier> = self.bad_links().chain(self.rare()).collect();
        for outlier in &mut outliers {
            let node = &self.nodes[outlier.node];
            let other = outlier.contributor.and_then(|i| node.contributors[i].hop.as_ref()).map(|hop| &hop.host);
            let hosts = std::iter::once(&node.host).chain(other);
            let told = |host: &String| {
                let ranks = self.paths.iter().filter(|path| path.host == *host).map(|path| path.rank);
                Some((host.clone(), kernel.during(ranks, outlier.span_ns)?))
            };
            outlier.kernel = hosts.filter_map(told).collect();
        }
        outliers.sort_by(|a, b| b.factor.total_cmp(&a.factor));
        outliers
    }

    fn hops(&self) -> impl Iterator<Item = (usize, usize, Level, &Figures)> {
        self.nodes.iter().enumerate().flat_map(|(node, own)| {
            own.contributors.iter().enumerate().filter_map(move |(i, contributor)| {
                let hop = contributor.hop.as_ref()?;
                Some((node, i, if hop.is_wan { Level::Wan } else { Level::Lan }, &hop.span))
            })
        })
    }

    fn bad_links(&self) -> impl Iterator<Item = Outlier> {
        self.hops().filter_map(|(node, i, level, figures)| {
            let others: Vec<f64> = self
                .hops()
                .filter(|(at, other, its, _)| (*at, *other) != (node, i) && *its == level)
                .map(|(.., figures)| figures.mean_ns)
                .collect();
            let usual_ns = statistics::median(&others)?;
            let outlier = Outlier::new((Part::Hop, node, Some(i)), Against::Peers, figures.mean_ns, usual_ns);
            (outlier.factor >= BAD_LINK).then_some(outlier)
        })
    }

    fn rare(&self) -> impl Iterator<Item = Outlier> {
        let slowest_ns = self.slowest.mean_ns;
        self.nodes.iter().enumerate().flat_map(move |(at, node)| {
            let own = [(Part::Down, &node.down_last), (Part::Up, &node.up_first)];
            let store = node.store.iter().map(|store| (Part::Store, store));
            let hops = node
                .contributors
                .iter()
                .enumerate()
                .filter_map(|(i, own)| Some((Part::Hop, Some(i), &own.hop.as_ref()?.span)));
            let all = own.into_iter().chain(store).map(|(part, figures)| (part, None, figures)).chain(hops);
            all.filter(|(.., figures)| figures.count >= N_CALLS_MIN).filter_map(move |(part, i, figures)| {
                let Figures { max_ns, max_at_ns, median_last_ns, .. } = *figures;
                let mut outlier = Outlier::new((part, at, i), Against::Itself, max_ns, median_last_ns);
                outlier.span_ns = Some((max_at_ns.saturating_sub(max_ns as u64), max_at_ns));
                // What is shorter than a usual call makes none of them long.
                (outlier.factor >= RARE && max_ns >= slowest_ns).then_some(outlier)
            })
        })
    }
}

impl Outlier {
    fn new(stage: (Part, usize, Option<usize>), against: Against, found_ns: f64, usual_ns: f64) -> Self {
        let (part, node, contributor) = stage;
        // A usual time below the clock's resolution compares with nothing.
        let factor = found_ns / usual_ns.max(1.0);
        Self { part, node, contributor, against, found_ns, usual_ns, factor, span_ns: None, kernel: Vec::new() }
    }
}
