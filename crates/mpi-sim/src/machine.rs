//! The machine that a program is simulated on: what each message costs, which links it takes, and how fast cores
//! compute.
//!
//! A [`Description`] is what a file says (`docs/formats/sim-machine.md`). A [`Machine`] is the same for a number of
//! ranks, each of which has its core. All times are whole nanoseconds, rounded up.
//!
//! The time of a message from `a` to `b`, apart from waiting: the sender's core is busy for the send overhead; the
//! message then travels for the wire time and through the links of its route; the receiver's core is busy for the
//! receive overhead. A rank's next message at the same level may follow after the gap.

mod description;
mod error;
mod length;
mod mapping;
mod network;
mod taken_over;

use std::sync::Arc;

use units::{Bandwidth, ByteCount, Rank, SimDuration};

use crate::collective::Choices;

pub use description::{Description, EagerLimit, Factors, Level, Levels, Segment, Site, SiteLink};
pub use error::MachineError;
pub use length::{Length, LengthError};
pub use mapping::{Mapping, MappingRule};
pub use network::{Network, Topology};
pub use taken_over::Expected;

/// Position of a link among all of a machine.
pub type LinkIdx = u32;

/// A machine with a core for each rank.
#[derive(Clone, Debug)]
pub struct Machine {
    name: String,
    poll: SimDuration,
    choices: Arc<Choices>,
    places: Vec<Place>,
    sites: Vec<Cluster>,
    /// Costs of the levels, by [`Distance`].
    levels: [Option<Charge>; 4],
    links: Vec<Link>,
    /// The link of a pair of sites: from * sites + to.
    between_sites: Vec<Option<LinkIdx>>,
}

/// The place where a rank runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its site.
    pub site_idx: u32,
    /// Its node, counted through all sites.
    pub node_idx: u32,
}

/// The least that two ranks have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The core: both are one rank.
    Core,
    /// The node.
    Node,
    /// The site.
    Cluster,
    /// The machine.
    Wan,
}

/// Cost of one message beside the links on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageCost {
    /// Time for which the sender's core is busy.
    pub send_overhead: SimDuration,
    /// Least time from the departure of this message to that of the sender's next message.
    pub gap: SimDuration,
    /// Time from the end of the send overhead to the arrival of the last byte.
    pub wire: SimDuration,
    /// Time for which the receiver's core is busy.
    pub receive_overhead: SimDuration,
    /// Whether it is sent before the receiver asks for it.
    pub is_eager: bool,
}

/// One direction of a link, which carries one message after the other.
///
/// A message that comes to it while it is free goes on to the next link after the latency, and keeps it busy until
/// its last byte has passed: what a message needs for several links is their latencies and the time on the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Time that the link adds to the way of each message.
    pub latency: SimDuration,
    bandwidth: Option<Bandwidth>,
}

#[derive(Clone, Debug)]
struct Cluster {
    first_node: u32,
    nodes: u32,
    speed: f64,
    network: Option<(Topology, LinkIdx)>,
}

/// A level, its factors applied.
#[derive(Clone, Debug)]
struct Charge {
    /// Lines by size, the first from 0.
    lines: Vec<Line>,
    least_latency: SimDuration,
    send_overhead: SimDuration,
    receive_overhead: SimDuration,
    gap: SimDuration,
    eager_limit_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    from_bytes: u64,
    latency: SimDuration,
    bandwidth: Option<Bandwidth>,
}

impl Link {
    /// Returns the time for which a message of `size_bytes` bytes keeps the link busy.
    #[must_use]
    pub fn busy(&self, size_bytes: u64) -> SimDuration {
        on_wire(self.bandwidth, size_bytes)
    }
}

impl Machine {
    /// The described machine with a core for each of `n_ranks`.
    ///
    /// # Errors
    /// [`MachineError`] where the description is wrong, or has no place for so many.
    pub fn new(description: &Description, n_ranks: u32) -> Result<Self, MachineError> {
        description.check()?;
        description.collective.iter().try_for_each(|chosen| chosen.check_ranks(n_ranks))?;
        let factors = description.factors;
        let mut links = Vec::new();
        let mut sites = Vec::new();
        let mut first_node = 0;
        for site in &description.site {
            let network = site.network.as_ref().map(|network| {
                let first = links.len() as LinkIdx;
                let link = Link::new(network.latency, Some(network.bandwidth), factors);
                links.resize(links.len() + network.topology.n_links(site.nodes) as usize, link);
                (network.topology.clone(), first)
            });
            sites.push(Cluster { first_node, nodes: site.nodes, speed: site.speed / factors.compute, network });
            first_node += site.nodes;
        }
        let mut between_sites = vec![None; sites.len() * sites.len()];
        let position = |name: &String| description.site.iter().position(|site| site.name == *name);
        for link in &description.link {
            let [Some(a), Some(b)] = link.between.each_ref().map(position) else {
                return Err(MachineError::Link { between: link.between.clone() });
            };
            for (from, to) in [(a, b), (b, a)] {
                between_sites[from * sites.len() + to] = Some(links.len() as LinkIdx);
                links.push(Link::new(link.latency, link.bandwidth, factors));
            }
        }
        let Levels { core, node, cluster, wan } = &description.level;
        let charge = |level: &Option<Level>| level.as_ref().map(|level| Charge::new(level, factors));
        let own = [core, node, cluster, wan].into_iter().find(|level| level.is_some()).unwrap_or(core);
        let levels = [charge(own), charge(node), charge(cluster), charge(wan)];
        let places = description.places(n_ranks)?;
        Ok(Self {
            name: description.name.clone(),
            poll: description.poll.0,
            choices: Arc::new(description.choices()?),
            places,
            sites,
            levels,
            links,
            between_sites,
        })
    }

    /// Returns the name of the machine in a result.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ranks that it was made for.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns the time that one `Test` or `Iprobe` takes.
    #[must_use]
    pub fn poll(&self) -> SimDuration {
        self.poll
    }

    /// Returns the rules and tables that choose the algorithms of collective calls, for ranks without a library
    /// beneath them.
    pub(crate) fn choices(&self) -> &Arc<Choices> {
        &self.choices
    }

    /// Returns the place where a rank runs.
    ///
    /// # Panics
    /// Where there is no such rank, as in all that follow.
    #[must_use]
    pub fn place(&self, rank: Rank) -> Place {
        self.places[rank as usize]
    }

    /// Returns the time on the rank's core of a computation that takes `span` on this host.
    #[must_use]
    pub fn compute(&self, rank: Rank, span: SimDuration) -> SimDuration {
        let speed = self.sites[self.place(rank).site_idx as usize].speed;
        if speed == 1.0 {
            return span;
        }
        // Beyond 584 years the cast saturates.
        SimDuration::from_nanos((span.as_nanos() as f64 / speed).ceil() as u64)
    }

    /// Returns the least that two ranks have in common.
    #[must_use]
    pub fn distance(&self, from: Rank, to: Rank) -> Distance {
        if from == to {
            return Distance::Core;
        }
        let (from, to) = (self.place(from), self.place(to));
        match (from.site_idx == to.site_idx, from.node_idx == to.node_idx) {
            (_, true) => Distance::Node,
            (true, false) => Distance::Cluster,
            (false, false) => Distance::Wan,
        }
    }

    /// Returns the cost of a message of `size_bytes` bytes beside the links on its [route](Self::route).
    #[must_use]
    pub fn cost(&self, from: Rank, to: Rank, size_bytes: u64) -> MessageCost {
        self.charge(from, to).cost(size_bytes)
    }

    /// The longest message between the two that is sent before the receiver asks for it.
    #[must_use]
    pub fn eager_limit(&self, from: Rank, to: Rank) -> ByteCount {
        ByteCount::new(self.charge(from, to).eager_limit_bytes)
    }

    /// Returns the time from the beginning of a send to the arrival of its last byte, if nothing else is on the way
    /// and the receiver waits for the message.
    #[must_use]
    pub fn unloaded(&self, from: Rank, to: Rank, size_bytes: u64) -> SimDuration {
        let cost = self.cost(from, to, size_bytes);
        if !cost.is_eager {
            // The request, the answer, and then the data.
            let request = self.one_way(from, to, self.cost(from, to, 0), 0);
            let answer = self.one_way(to, from, self.cost(to, from, 0), 0);
            return request + answer + self.one_way(from, to, cost, size_bytes);
        }
        self.one_way(from, to, cost, size_bytes)
    }

    fn one_way(&self, from: Rank, to: Rank, cost: MessageCost, size_bytes: u64) -> SimDuration {
        let (mut latency, mut slowest) = (SimDuration::ZERO, SimDuration::ZERO);
        self.visit_route(from, to, |link| {
            let link = self.links[link as usize];
            latency = latency + link.latency;
            slowest = slowest.max(link.busy(size_bytes));
        });
        cost.send_overhead + cost.wire + latency + slowest
    }

    /// The least time from the beginning of a send to the arrival of its message, whatever its size: no message
    /// between the two is faster. Zero where the machine has no latency between them.
    #[must_use]
    pub fn lookahead(&self, from: Rank, to: Rank) -> SimDuration {
        let charge = self.charge(from, to);
        let mut least = charge.send_overhead + charge.least_latency;
        self.visit_route(from, to, |link| least = least + self.links[link as usize].latency);
        least
    }

    /// The least [`lookahead`](Self::lookahead) between any two ranks of this machine.
    #[must_use]
    pub fn least_lookahead(&self) -> SimDuration {
        let charges = self.levels.iter().skip(1).flatten();
        charges.map(|charge| charge.send_overhead + charge.least_latency).min().unwrap_or_default()
    }

    /// The least latency between any two ranks, overheads left out.
    #[must_use]
    pub fn least_latency(&self) -> SimDuration {
        let charges = self.levels.iter().skip(1).flatten();
        charges.map(|charge| charge.least_latency).min().unwrap_or_default()
    }

    /// Puts the links from one rank to another into `route`, in order; none within a node, or on a network without
    /// links.
    pub fn route(&self, from: Rank, to: Rank, route: &mut Vec<LinkIdx>) {
        route.clear();
        self.visit_route(from, to, |link| route.push(link));
    }

    /// All links; none where no messages disturb each other.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    fn charge(&self, from: Rank, to: Rank) -> &Charge {
        let level = &self.levels[self.distance(from, to) as usize];
        level.as_ref().expect("a checked machine has the levels that its places need")
    }

    fn visit_route(&self, from: Rank, to: Rank, mut visit: impl FnMut(LinkIdx)) {
        let (from, to) = (self.place(from), self.place(to));
        if from.site_idx != to.site_idx {
            self.between_sites[from.site_idx as usize * self.sites.len() + to.site_idx as usize]
                .into_iter()
                .for_each(visit);
            return;
        }
        let site = &self.sites[from.site_idx as usize];
        if let (Some((topology, first)), false) = (&site.network, from.node_idx == to.node_idx) {
            let within = |node_idx: u32| node_idx - site.first_node;
            topology.route(site.nodes, within(from.node_idx), within(to.node_idx), |link| visit(first + link));
        }
    }
}

impl Link {
    fn new(latency: Length, bandwidth: Option<Bandwidth>, factors: Factors) -> Self {
        Self { latency: factors.latency(latency), bandwidth: factors.bandwidth(bandwidth) }
    }
}

impl Charge {
    fn new(level: &Level, factors: Factors) -> Self {
        let line = |segment: &Segment| Line {
            from_bytes: segment.from.bytes(),
            latency: factors.latency(segment.latency),
            bandwidth: factors.bandwidth(segment.bandwidth),
        };
        let whole = Segment {
            from: ByteCount::default(),
            latency: level.latency.unwrap_or_default(),
            bandwidth: level.bandwidth,
        };
        let segments = if level.segments.is_empty() { std::slice::from_ref(&whole) } else { &level.segments };
        let mut lines: Vec<Line> = segments.iter().map(line).collect();
        let least_latency =
            (0..lines.len()).map(|idx| lines[idx].latency + on_wire(lines[idx].bandwidth, lines[idx].from_bytes)).min();
        lines.shrink_to_fit();
        Self {
            lines,
            least_latency: least_latency.unwrap_or_default(),
            send_overhead: level.send_overhead.0,
            receive_overhead: level.receive_overhead.0,
            gap: level.gap.0,
            eager_limit_bytes: level.eager_limit.0.bytes(),
        }
    }

    fn cost(&self, size_bytes: u64) -> MessageCost {
        let after = self.lines.partition_point(|line| line.from_bytes <= size_bytes);
        let line = &self.lines[after - 1];
        let bytes = on_wire(line.bandwidth, size_bytes);
        MessageCost {
            send_overhead: self.send_overhead,
            gap: self.gap.max(bytes),
            wire: line.latency + bytes,
            receive_overhead: self.receive_overhead,
            is_eager: size_bytes <= self.eager_limit_bytes,
        }
    }
}

impl Factors {
    fn latency(self, latency: Length) -> SimDuration {
        if self.latency == 1.0 {
            return latency.0;
        }
        SimDuration::from_nanos((latency.0.as_nanos() as f64 * self.latency).ceil() as u64)
    }

    fn bandwidth(self, bandwidth: Option<Bandwidth>) -> Option<Bandwidth> {
        let bandwidth = bandwidth?;
        if self.bandwidth == 1.0 {
            return Some(bandwidth);
        }
        Bandwidth::new((bandwidth.bits_per_sec() as f64 * self.bandwidth).max(1.0) as u64)
    }
}

/// Returns the time that `size_bytes` bytes take at a bandwidth; zero without a bandwidth.
fn on_wire(bandwidth: Option<Bandwidth>, size_bytes: u64) -> SimDuration {
    bandwidth.map_or(SimDuration::ZERO, |bandwidth| bandwidth.serialization_time(ByteCount::new(size_bytes)).into())
}
