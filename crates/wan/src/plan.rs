//! A file that describes sites, their hosts, and the links between them: `docs/formats/wan.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use netmodel::{Description, DescriptionError, Link};
use serde::Deserialize;
use units::Bandwidth;

/// Greatest number of sites of one emulation, and of hosts of a site: each is a number in the addresses.
const SITES_MAX: usize = 64;
const HOSTS_MAX: usize = 128;
/// First two bytes of the subnets: each site has one of its own in the range that RFC 2544 sets aside for measurements.
const NET: [u8; 2] = [198, 18];
/// The gateway's number in each subnet.
const GATEWAY: u8 = 254;

/// Sites, hosts and links, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Seed of all chance of the emulation.
    pub seed: u64,
    /// Sites in the order of the file.
    pub sites: Vec<Site>,
    /// Links, one for each direction, in the order of the file.
    pub links: Vec<LinkPlan>,
    /// Folder of the trace files.
    folder: PathBuf,
}

/// A cluster: hosts that reach each other at once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Site {
    /// Name by which links refer to it.
    pub name: String,
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// Bandwidth of each host's link to its site's switch, each way; if absent, as much as this machine can.
    pub lan_bandwidth: Option<Bandwidth>,
}

/// One direction between two sites.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// Position of the site where it begins.
    pub from: usize,
    /// Position of the site where it ends.
    pub to: usize,
    /// Description of the link.
    pub description: Description,
}

/// The reason why a file is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Text that is not TOML, or not of this format.
    #[error("the file is no description of sites and links")]
    Syntax(#[source] Box<toml::de::Error>),
    /// A file of a later format.
    #[error("the file has format {given}; this program reads format 1")]
    Format {
        /// Format as given.
        given: u32,
    },
    /// A link that is not described as one.
    #[error("the link from `{from}` to `{to}` cannot be read")]
    LinkSyntax {
        /// Site as given.
        from: String,
        /// Site as given.
        to: String,
        /// The cause.
        source: Box<toml::de::Error>,
    },
    /// A link that makes no sense.
    #[error("the link from `{from}` to `{to}` cannot be")]
    Link {
        /// Site as given.
        from: String,
        /// Site as given.
        to: String,
        /// The cause.
        source: Box<DescriptionError>,
    },
    /// A name that is no host's or site's.
    #[error("`{given}` is no name: it has 1 to 40 lower-case letters, digits and hyphens, and begins with a letter")]
    Name {
        /// Name as given.
        given: String,
    },
    /// A name that occurs twice.
    #[error("there are two {what}s called `{name}`")]
    Twice {
        /// Site or host.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A number that is too low or too high.
    #[error("{place} has {found} {what}; it must have 1 to {most}")]
    Number {
        /// Place of the number.
        place: String,
        /// Things that are counted.
        what: &'static str,
        /// Number that was found.
        found: usize,
        /// Greatest number.
        most: usize,
    },
    /// A site that is not known.
    #[error("a link names the site `{given}`; there are {known}")]
    Site {
        /// Name as given.
        given: String,
        /// The sites' names.
        known: String,
    },
    /// A link to where it begins, or a second one.
    #[error("there must be one link from `{from}` to `{to}`, between two different sites")]
    Pair {
        /// Site as given.
        from: String,
        /// Site as given.
        to: String,
    },
    /// A link without a way back.
    #[error("the link from `{from}` to `{to}` has no way back: describe the link from `{to}` to `{from}` too")]
    NoWayBack {
        /// Site where it begins.
        from: String,
        /// Site where it ends.
        to: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default, rename = "site")]
    sites: Vec<Site>,
    #[serde(default, rename = "link")]
    links: Vec<LinkEntry>,
}

#[derive(Deserialize)]
struct LinkEntry {
    from: String,
    to: String,
    #[serde(flatten)]
    description: toml::Table,
}

fn default_seed() -> u64 {
    1
}

impl Plan {
    /// Reads and checks the text of a file; traces are looked for from `folder` on.
    ///
    /// # Errors
    /// [`PlanError`] with the first fault. Files of traces are read by [`link`](Self::link).
    pub fn parse(text: &str, folder: &Path) -> Result<Self, PlanError> {
        let file: File = toml::from_str(text).map_err(|error| PlanError::Syntax(Box::new(error)))?;
        if file.format != 1 {
            return Err(PlanError::Format { given: file.format });
        }
        check_sites(&file.sites)?;
        let links = file.links.into_iter().map(|entry| link(entry, &file.sites)).collect::<Result<Vec<_>, _>>()?;
        let plan = Self { seed: file.seed, sites: file.sites, links, folder: folder.to_owned() };
        plan.check_pairs()?;
        Ok(plan)
    }

    /// Builds a plan of sites and links that need no check, and no files.
    pub(crate) fn of(sites: Vec<Site>, links: Vec<LinkPlan>) -> Self {
        Self { seed: default_seed(), sites, links, folder: PathBuf::new() }
    }

    fn check_pairs(&self) -> Result<(), PlanError> {
        let mut pairs = BTreeSet::new();
        for link in &self.links {
            if link.from == link.to || !pairs.insert((link.from, link.to)) {
                let (from, to) = self.ends(link);
                return Err(PlanError::Pair { from, to });
            }
        }
        match self.links.iter().find(|link| !pairs.contains(&(link.to, link.from))) {
            Some(link) => {
                let (from, to) = self.ends(link);
                Err(PlanError::NoWayBack { from, to })
            }
            None => Ok(()),
        }
    }

    /// Returns the link at a position, ready to carry.
    ///
    /// # Errors
    /// [`PlanError::Link`] if its description contradicts itself, or its trace cannot be read.
    pub fn link(&self, at: usize) -> Result<Link, PlanError> {
        let link = &self.links[at];
        let read = |path: &Path| std::fs::read_to_string(self.folder.join(path));
        link.description.link(link_seed(self.seed, at), read).map_err(|source| {
            let (from, to) = self.ends(link);
            PlanError::Link { from, to, source: Box::new(source) }
        })
    }

    /// Returns all links, ready to carry.
    ///
    /// # Errors
    /// As [`link`](Self::link).
    pub fn all_links(&self) -> Result<Vec<Link>, PlanError> {
        (0..self.links.len()).map(|at| self.link(at)).collect()
    }

    /// Returns the names of the sites where a link begins and ends.
    #[must_use]
    pub fn ends(&self, link: &LinkPlan) -> (String, String) {
        (self.sites[link.from].name.clone(), self.sites[link.to].name.clone())
    }

    /// Returns the address of a host of a site.
    #[must_use]
    pub fn address(&self, site: usize, host: usize) -> Ipv4Addr {
        Self::in_subnet(site, host as u8 + 1)
    }

    pub(crate) fn gateway_address(site: usize) -> Ipv4Addr {
        Self::in_subnet(site, GATEWAY)
    }

    pub(crate) fn subnet(site: usize) -> String {
        format!("{}/24", Self::in_subnet(site, 0))
    }

    fn in_subnet(site: usize, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(NET[0], NET[1], site as u8 + 1, number)
    }

    /// Returns the site of an address, if it is one of an emulation's.
    pub(crate) fn site_of(address: [u8; 4]) -> Option<usize> {
        let [a, b, site, _] = address;
        ([a, b] == NET).then_some(usize::from(site).checked_sub(1)?)
    }

    /// Returns the lines of a file of hosts: the address and name of each.
    #[must_use]
    pub fn hosts_file(&self) -> String {
        let mut text = "127.0.0.1 localhost\n".to_owned();
        for (at, site) in self.sites.iter().enumerate() {
            for (host, name) in site.hosts.iter().enumerate() {
                text += &format!("{} {name}\n", self.address(at, host));
            }
        }
        text
    }
}

/// Returns the seed of all chance of a link, by its position: each direction has chance of its own.
pub(crate) fn link_seed(seed: u64, at: usize) -> u64 {
    seed.wrapping_mul(1_000_003).wrapping_add(at as u64)
}

fn check_sites(sites: &[Site]) -> Result<(), PlanError> {
    let number = |place: &str, what, found, most| match found {
        1.. if found <= most => Ok(()),
        _ => Err(PlanError::Number { place: place.to_owned(), what, found, most }),
    };
    number("the file", "sites", sites.len(), SITES_MAX)?;
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for site in sites {
        number(&format!("site `{}`", site.name), "hosts", site.hosts.len(), HOSTS_MAX)?;
        for (what, name) in std::iter::once(("site", &site.name)).chain(site.hosts.iter().map(|host| ("host", host))) {
            let is_name = name.len() <= 40
                && name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            if !is_name {
                return Err(PlanError::Name { given: name.clone() });
            }
            // A site may share its name with a host.
            if what == "host" && names.insert(name, what).is_some() {
                return Err(PlanError::Twice { what, name: name.clone() });
            }
        }
    }
    let mut seen = BTreeSet::new();
    match sites.iter().find(|site| !seen.insert(&site.name)) {
        Some(site) => Err(PlanError::Twice { what: "site", name: site.name.clone() }),
        None => Ok(()),
    }
}

fn link(entry: LinkEntry, sites: &[Site]) -> Result<LinkPlan, PlanError> {
    let LinkEntry { from, to, description } = entry;
    let position = |name: &str| {
        sites.iter().position(|site| site.name == name).ok_or_else(|| {
            let known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
            PlanError::Site { given: name.to_owned(), known: known.join(", ") }
        })
    };
    let (from_at, to_at) = (position(&from)?, position(&to)?);
    let description =
        description.try_into().map_err(|source| PlanError::LinkSyntax { from, to, source: Box::new(source) })?;
    Ok(LinkPlan { from: from_at, to: to_at, description })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITES: &str =
        "format = 1\n[[site]]\nname = \"a\"\nhosts = [\"a0\", \"a1\"]\n[[site]]\nname = \"b\"\nhosts = [\"b0\"]\n";

    fn link_text(from: &str, to: &str, more: &str) -> String {
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
    }

    fn told(text: &str) -> String {
        let plan = Plan::parse(text, Path::new("/nonexistent")).and_then(|plan| plan.all_links().map(drop));
        let error = plan.unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {source}")
    }

    #[test]
    fn hosts_have_addresses_by_site() {
        let plan = Plan::parse(SITES, Path::new("")).unwrap();
        assert_eq!(plan.hosts_file(), "127.0.0.1 localhost\n198.18.1.1 a0\n198.18.1.2 a1\n198.18.2.1 b0\n");
        assert_eq!(Plan::site_of([198, 18, 2, 1]), Some(1));
        assert_eq!([Plan::site_of([10, 18, 2, 1]), Plan::site_of([198, 18, 0, 1])], [None, None]);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_told_what_is_wrong() {
        let latency = "latency = \"10ms\"";
        for (text, right) in [
            ("format = 2".to_owned(), "format 1"),
            ("format = 1".to_owned(), "0 sites"),
            (SITES.replace("\"a0\", \"a1\"", ""), "0 hosts"),
            (SITES.replace("b0", "a0"), "two hosts called `a0`"),
            (SITES.replace("name = \"b\"", "name = \"a\""), "two sites called `a`"),
            (SITES.replace("b0", "B 0"), "`B 0` is no name"),
            (SITES.replace("[\"b0\"]", "[\"b0\"]\nlan-bandwidth = 100"), "no description of sites"),
            (format!("{SITES}{}", link_text("a", "c", latency)), "`c`; there are a, b"),
            (format!("{SITES}{}", link_text("a", "b", latency)), "no way back: describe the link from `b` to `a`"),
            (format!("{SITES}{}", link_text("a", "a", latency)), "two different sites"),
            (format!("{SITES}{}", link_text("a", "b", "latency = 10")), "from `a` to `b`"),
            (
                format!("{SITES}{}{}", link_text("a", "b", latency), link_text("b", "a", "")),
                "`latency`, `trace` or `profile`",
            ),
            (
                format!("{SITES}{}{}", link_text("a", "b", latency), link_text("b", "a", "bandwidth = \"0Mbit/s\"")),
                "above 0",
            ),
            (format!("{SITES}{}{}", link_text("a", "b", latency), link_text("b", "a", "trace = \"gone\"")), "`gone`"),
        ] {
            assert!(told(&text).contains(right), "{text}: {}", told(&text));
        }
    }
}
