//! Stages that stand out from others of their kind, or now and then from themselves, beside what the kernel says of their hosts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Analysis, Figures, Level, Part};

/// A hop that takes this many times what such hops take is a bad link.
const BAD_LINK: f64 = 4.0;
/// A longest call that takes this many times the usual is told.
const RARE: f64 = 20.0;
/// With fewer, no call is unusual.
const N_CALLS_MIN: u64 = 30;

/// What the kernel says of a host over the run; how it is found out is not known here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// Context switches of the ranks that they did not ask for, each second.
    pub forced_switches_per_sec: f64,
    /// Share of the host's time that its hypervisor gave to others.
    pub steal: f64,
}

/// A stage that stands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// What.
    pub part: Part,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor, of a part that each contributor has.
    pub contributor: Option<usize>,
    /// From what.
    pub against: Against,
    /// How long it takes: the mean, or the longest call.
    pub found_ns: f64,
    /// How long is usual.
    pub usual_ns: f64,
    /// How many times that.
    pub factor: f64,
    /// Of the hosts that it is on, those that the kernel was asked of.
    pub kernel: Vec<(String, Kernel)>,
}

/// What an outlier is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// Other hops inside clusters, or between them: always slow.
    Peers,
    /// Its own median: now and then slow.
    Itself,
}

impl Analysis {
    /// All of them, the one with the greatest factor first.
    #[must_use]
    pub fn outliers(&self, kernel: &BTreeMap<String, Kernel>) -> Vec<Outlier> {
        let mut outliers: Vec<Outlier> = self.bad_links().chain(self.rare()).collect();
        for outlier in &mut outliers {
            let node = &self.nodes[outlier.node];
            let other = outlier.contributor.and_then(|i| node.contributors[i].hop.as_ref()).map(|hop| &hop.host);
            let hosts = std::iter::once(&node.host).chain(other);
            outlier.kernel = hosts.filter_map(|host| Some((host.clone(), *kernel.get(host)?))).collect();
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
            outlier(Part::Hop, node, Some(i), Against::Peers, figures.mean_ns, usual_ns, BAD_LINK)
        })
    }

    fn rare(&self) -> impl Iterator<Item = Outlier> {
        self.nodes.iter().enumerate().flat_map(|(at, node)| {
            let own = [(Part::Down, &node.down_last), (Part::Up, &node.up_first)];
            let store = node.store.iter().map(|store| (Part::Store, store));
            let hops = node
                .contributors
                .iter()
                .enumerate()
                .filter_map(|(i, own)| Some((Part::Hop, Some(i), &own.hop.as_ref()?.span)));
            let all = own.into_iter().chain(store).map(|(part, figures)| (part, None, figures)).chain(hops);
            all.filter(|(.., figures)| figures.count >= N_CALLS_MIN).filter_map(move |(part, i, figures)| {
                outlier(part, at, i, Against::Itself, figures.max_ns, figures.median_last_ns, RARE)
            })
        })
    }
}

fn outlier(
    part: Part,
    node: usize,
    contributor: Option<usize>,
    against: Against,
    found_ns: f64,
    usual_ns: f64,
    factor_min: f64,
) -> Option<Outlier> {
    // A usual time below the clock's resolution compares with nothing.
    let factor = found_ns / usual_ns.max(1.0);
    let outlier = Outlier { part, node, contributor, against, found_ns, usual_ns, factor, kernel: Vec::new() };
    (factor >= factor_min).then_some(outlier)
}
