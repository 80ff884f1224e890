//! A machine as its file describes it: `docs/formats/sim-machine.md`. It says nothing of a program or its ranks.

use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use units::{Bandwidth, ByteCount, SimDuration};

use super::error::{MachineError, wrong};
use super::length::Length;
use super::mapping::Mapping;
use super::network::Network;
use crate::collective::{Choices, Chosen, Rules};

/// The one version of the format.
pub(super) const FORMAT: u32 = 1;
/// Least share of its mean that a drawn value has: nothing ends on a machine that stands still.
const SHARE_MIN: f64 = 0.01;
/// Largest number of sites; each pair of sites may have a link.
const SITES_MAX: usize = 1_024;
/// Largest number of links; a link takes some 24 bytes.
const LINKS_MAX: u64 = 1 << 22;
/// Largest number of chosen algorithms; each call looks through them.
const CHOSEN_MAX: usize = 256;
/// Largest number of cores: as many as ranks can be numbered on.
const CORES_MAX: u64 = 1 << 24;

/// Contents of a machine file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// Version of the format: 1.
    pub format: u32,
    /// Name of the machine in a result.
    #[serde(default)]
    pub name: String,
    /// Mapping of ranks to cores.
    #[serde(default)]
    pub mapping: Mapping,
    /// Time that one `Test` or `Iprobe` takes.
    #[serde(default = "poll")]
    pub poll: Length,
    /// Library whose rules choose the algorithms of collective calls, for ranks without a library beneath them.
    #[serde(default)]
    pub collectives: Rules,
    /// Factors by which measured and described times are multiplied.
    #[serde(default, skip_serializing_if = "Factors::is_unit")]
    pub factors: Factors,
    /// The clusters of the machine.
    pub site: Vec<Site>,
    /// Costs of messages, by the distance that they go.
    pub level: Levels,
    /// Pairs of sites that have a link of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<SiteLink>,
    /// Algorithms of single calls, before the rules of `collectives`; the first that fits is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collective: Vec<Chosen>,
}

/// A cluster: equal nodes on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Site {
    /// Name of the site in links.
    pub name: String,
    /// Its nodes.
    pub nodes: u32,
    /// Cores of a node, one for each rank.
    pub cores: u32,
    /// Speed of a core: 2 halves the times that were measured on this host.
    #[serde(default = "unit", skip_serializing_if = "is_unit")]
    pub speed: f64,
    /// Standard deviation of the speed, as forecast; for draws.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub speed_deviation: f64,
    /// Links between its nodes, which messages share; without, each message has the network to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// Costs of messages, by the least that their ends have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// Costs from a rank to itself; by default those of the nearest level that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Level>,
    /// Costs between cores of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Level>,
    /// Costs between nodes of a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Level>,
    /// Costs between sites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan: Option<Level>,
}

/// Cost of a message at one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Level {
    /// Time from the end of a send to the arrival of an empty message; LogGP's L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Length>,
    /// Rate at which bytes add to the latency, and keep the sender's interface busy; 1/G. Without a bandwidth, bytes
    /// cost nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Latency and bandwidth by size, in place of the two above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// Time for which a send keeps the sender's core busy; LogGP's o.
    pub send_overhead: Length,
    /// Time for which a receive keeps the receiver's core busy.
    pub receive_overhead: Length,
    /// The least time from one message of a rank to its next one; LogGP's g.
    pub gap: Length,
    /// The longest message that is sent before the receiver asks for it.
    pub eager_limit: EagerLimit,
}

/// The cost of messages from a size on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// The least size; of the first segment `0B`.
    pub from: ByteCount,
    /// The line's value at 0 bytes.
    pub latency: Length,
    /// Its slope; without, bytes cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
}

/// The longest message that is sent before the receiver asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EagerLimit(pub ByteCount);

/// The link between two sites, both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteLink {
    /// The two sites.
    pub between: [String; 2],
    /// One way; added to the latency of level `wan`.
    #[serde(default)]
    pub latency: Length,
    /// Bandwidth of each direction, shared by all messages on it; without one, messages do not disturb each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Standard deviation of the bandwidth, as forecast; for draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_deviation: Option<Bandwidth>,
}

/// Factors by which measured and described times are multiplied; 1 unless given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Factors {
    /// Every latency.
    pub latency: f64,
    /// Every bandwidth.
    pub bandwidth: f64,
    /// Every compute time, beside the speed of the cores.
    pub compute: f64,
}

fn poll() -> Length {
    Length(SimDuration::from_nanos(100))
}

fn unit() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unit(value: &f64) -> bool {
    *value == 1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Factors {
    fn is_unit(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Factors {
    fn default() -> Self {
        Self { latency: 1.0, bandwidth: 1.0, compute: 1.0 }
    }
}

impl Default for EagerLimit {
    /// Returns the eager limit of Open MPI over TCP.
    fn default() -> Self {
        Self(ByteCount::new(64 << 10))
    }
}

impl SiteLink {
    /// Whether it is between these two.
    pub(super) fn joins(&self, a: &str, b: &str) -> bool {
        let [from, to] = &self.between;
        (from == a && to == b) || (from == b && to == a)
    }
}

impl Site {
    /// Nodes as fast as this host, on a network that messages do not share.
    #[must_use]
    pub fn new(name: &str, nodes: u32, cores: u32) -> Self {
        Self { name: name.to_owned(), nodes, cores, speed: 1.0, speed_deviation: 0.0, network: None }
    }
}

impl Description {
    /// A machine of one site.
    #[must_use]
    pub fn of(name: &str, site: Site, level: Levels) -> Self {
        let (mapping, factors) = (Mapping::default(), Factors::default());
        Self {
            format: FORMAT,
            name: name.to_owned(),
            mapping,
            poll: poll(),
            collectives: Rules::default(),
            factors,
            site: vec![site],
            level,
            link: Vec::new(),
            collective: Vec::new(),
        }
    }

    /// Reads a machine file and checks that its parts agree.
    ///
    /// # Errors
    /// [`MachineError`] with the place and what would be right.
    pub fn read(text: &str) -> Result<Self, MachineError> {
        let description: Self = toml::from_str(text)?;
        description.check()?;
        Ok(description)
    }

    /// Checks that the parts agree, as [`read`](Self::read) does; for one that was changed since.
    ///
    /// # Errors
    /// [`MachineError`] with the place and what would be right.
    pub fn check(&self) -> Result<(), MachineError> {
        if self.format != FORMAT {
            return Err(MachineError::Format { given: self.format });
        }
        if self.site.is_empty() {
            return Err(wrong("site", "the machine", "absent", "a table [[site]] with a name, nodes and cores"));
        }
        if self.site.len() > SITES_MAX {
            return Err(wrong("site", "the machine", self.site.len(), "at most 1024 sites"));
        }
        for (key, factor) in [
            ("latency", self.factors.latency),
            ("bandwidth", self.factors.bandwidth),
            ("compute", self.factors.compute),
        ] {
            let is_possible = factor.is_finite() && (factor > 0.0 || (key != "bandwidth" && factor == 0.0));
            if !is_possible {
                return Err(wrong(key, "`[factors]`", factor, "a number above 0"));
            }
        }
        self.site.iter().enumerate().try_for_each(|(idx, site)| self.check_site(idx, site))?;
        let cores = self.sum(|site| u64::from(site.nodes) * u64::from(site.cores));
        if cores > CORES_MAX {
            return Err(wrong("cores", "all sites", cores, "at most 16777216 in all"));
        }
        let n_links = |site: &Site| site.network.as_ref().map_or(0, |network| network.topology.n_links(site.nodes));
        let links = self.sum(n_links);
        if links > LINKS_MAX {
            return Err(wrong(
                "network",
                "all sites",
                format_args!("of {links} links"),
                "one with at most 4194304 in all",
            ));
        }
        self.check_levels()?;
        self.check_links()?;
        self.choices().map(drop)
    }

    /// Reads the tree files that tables `[[collective]]` name, from the folder of the machine file.
    ///
    /// # Errors
    /// [`MachineError`] where there is none, or one that is wrong.
    pub fn read_trees(&mut self, folder: &Path) -> Result<(), MachineError> {
        Ok(self.collective.iter_mut().try_for_each(|chosen| chosen.read_trees(folder))?)
    }

    /// Returns the rules and tables that choose the algorithms of collective calls.
    pub(super) fn choices(&self) -> Result<Choices, MachineError> {
        if self.collective.len() > CHOSEN_MAX {
            return Err(wrong("collective", "the machine", self.collective.len(), "at most 256 tables"));
        }
        let tables = self.collective.iter().map(Chosen::table).collect::<Result<_, _>>()?;
        Ok(Choices { rules: self.collectives, tables })
    }

    /// Returns the text that describes the algorithms of collective calls in a result.
    #[must_use]
    pub fn algorithms(&self) -> String {
        let named = self.collective.iter().map(Chosen::said).reduce(|before, said| before + "; " + &said);
        named.map_or_else(|| self.collectives.said().to_owned(), |named| named + "; else " + self.collectives.said())
    }

    /// This machine with speeds and bandwidths drawn from normal distributions with their deviations. The same seed
    /// and number give the same machine; what one site gets does not depend on the others.
    #[must_use]
    pub fn drawn(&self, seed: u64, number: u32) -> Self {
        let mut drawn = self.clone();
        let mut stream = 0;
        let mut normal = || -> f64 {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            chance.set_stream(u64::from(number) << 32 | stream);
            stream += 1;
            StandardNormal.sample(&mut chance)
        };
        for site in &mut drawn.site {
            site.speed = (site.speed + site.speed_deviation * normal()).max(site.speed * SHARE_MIN);
        }
        for link in &mut drawn.link {
            let chance = normal();
            if let (Some(mean), Some(deviation)) = (link.bandwidth, link.bandwidth_deviation) {
                let mean = mean.bits_per_sec() as f64;
                let bits_per_sec = (mean + deviation.bits_per_sec() as f64 * chance).max(mean * SHARE_MIN).max(1.0);
                link.bandwidth = Bandwidth::new(bits_per_sec as u64);
            }
        }
        drawn
    }

    /// Returns the description as text that [`read`](Self::read) reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("text, numbers and tables can all be written as TOML")
    }

    /// Returns remarks on what is allowed and costs something, a sentence each; none for most machines.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let Levels { core, node, cluster, wan } = &self.level;
        let levels = [("core", core), ("node", node), ("cluster", cluster), ("wan", wan)];
        let without_lookahead =
            levels.into_iter().filter(|(_, level)| level.as_ref().is_some_and(Level::may_be_immediate));
        let remark = |(name, _): (&str, _)| {
            format!(
                "level `{name}` has neither a latency nor a send overhead: without lookahead, its ranks go on one after the \
                 other, whatever the protocol and the number of workers"
            )
        };
        let is_changed = !self.factors.is_unit();
        let factors = "the times of the result are not those of this file: it has factors other than 1";
        without_lookahead.map(remark).chain(is_changed.then(|| factors.to_owned())).collect()
    }

    /// Cores of the machine, each of which takes a rank.
    #[must_use]
    pub fn n_slots(&self) -> u32 {
        // [`check`] keeps the sum below 2^24.
        self.site.iter().map(|site| site.nodes * site.cores).sum()
    }

    fn sum(&self, of_site: impl Fn(&Site) -> u64) -> u64 {
        self.site.iter().map(of_site).fold(0, u64::saturating_add)
    }

    fn check_site(&self, idx: usize, site: &Site) -> Result<(), MachineError> {
        let place = || format!("site `{}`", site.name);
        if self.site[..idx].iter().any(|other| other.name == site.name) {
            return Err(wrong("name", "a site", format_args!("`{}`", site.name), "a name that no other site has"));
        }
        if site.nodes == 0 {
            return Err(wrong("nodes", place(), 0, "1 or more"));
        }
        if site.cores == 0 {
            return Err(wrong("cores", place(), 0, "1 or more"));
        }
        if !(site.speed.is_finite() && site.speed > 0.0) {
            return Err(wrong("speed", place(), site.speed, "a number above 0, where 1 is this host"));
        }
        if !(site.speed_deviation.is_finite() && site.speed_deviation >= 0.0) {
            return Err(wrong("speed-deviation", place(), site.speed_deviation, "0 or more"));
        }
        site.network.as_ref().map_or(Ok(()), |network| network.check(&site.name, site.nodes))
    }

    fn check_levels(&self) -> Result<(), MachineError> {
        let Levels { core, node, cluster, wan } = &self.level;
        let needed = [
            ("node", node, self.site.iter().any(|site| site.cores > 1), "nodes with several cores"),
            ("cluster", cluster, self.site.iter().any(|site| site.nodes > 1), "sites with several nodes"),
            ("wan", wan, self.site.len() > 1, "several sites"),
        ];
        for (name, level, is_needed, because) in needed {
            if is_needed && level.is_none() {
                return Err(MachineError::Level { level: name, because });
            }
        }
        let named = [("core", core), ("node", node), ("cluster", cluster), ("wan", wan)];
        named
            .into_iter()
            .filter_map(|(name, level)| Some((name, level.as_ref()?)))
            .try_for_each(|(name, level)| level.check(name))
    }

    fn check_links(&self) -> Result<(), MachineError> {
        for (idx, link) in self.link.iter().enumerate() {
            let [from, to] = &link.between;
            let is_known = |name: &String| self.site.iter().any(|site| site.name == *name);
            let is_same = |other: &SiteLink| other.joins(from, to);
            if from == to || !is_known(from) || !is_known(to) || self.link[..idx].iter().any(is_same) {
                return Err(MachineError::Link { between: link.between.clone() });
            }
        }
        Ok(())
    }
}

impl Level {
    fn may_be_immediate(&self) -> bool {
        let is_none = |latency: Option<Length>| latency.unwrap_or_default() == Length::default();
        let first = self.segments.first().map(|segment| segment.latency);
        self.send_overhead == Length::default() && is_none(self.latency.or(first))
    }

    fn check(&self, name: &'static str) -> Result<(), MachineError> {
        let has = match (self.latency, self.bandwidth, self.segments.first()) {
            (None, _, None) => "neither",
            (None, None, Some(_)) => return self.check_segments(name),
            (Some(_), _, None) => return Ok(()),
            _ => "both",
        };
        Err(MachineError::Cost { level: name, has })
    }

    fn check_segments(&self, name: &'static str) -> Result<(), MachineError> {
        let place = || format!("`[level.{name}]`");
        if self.segments[0].from != ByteCount::default() {
            return Err(wrong(
                "segments",
                place(),
                format_args!("from {} on", self.segments[0].from),
                "a first segment from 0B",
            ));
        }
        match self.segments.windows(2).find(|pair| pair[0].from >= pair[1].from) {
            Some(pair) => {
                let given = format!("from {}, then from {}", pair[0].from, pair[1].from);
                Err(wrong("segments", place(), given, "segments by size, the least first"))
            }
            None => Ok(()),
        }
    }
}
