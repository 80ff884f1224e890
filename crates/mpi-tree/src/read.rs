//! Reads a forest from its text: `docs/formats/mpi-tree.md`.

use std::collections::HashMap;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use units::{ByteCount, Rank};

use crate::write::FORMAT;
use crate::{Between, Contributor, Forest, Host, Node, Order, RanksError, Rule, Tree, TreeError, Wake, WordError};

/// The highest rank that there can be: a leaf has a collector of its own, whose number has 16 bits.
pub const RANK_MAX: Rank = 0xffff;
/// Largest length of a name: that of a host's name in the DNS.
const NAME_BYTES_MAX: usize = 255;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default)]
    epoch: u64,
    #[serde(default)]
    host: Vec<HostTable>,
    #[serde(default)]
    tree: Vec<TreeTable>,
    #[serde(default)]
    rule: Vec<RuleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    name: Spanned<String>,
    cluster: Option<Spanned<String>>,
    ranks: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeTable {
    name: Spanned<String>,
    #[serde(default)]
    between: Between,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    node: Vec<NodeTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeTable {
    name: Spanned<String>,
    host: Spanned<String>,
    #[serde(default)]
    wake: Wake,
    contributors: Vec<Spanned<Item>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    operation: Spanned<String>,
    bytes_max: Option<ByteCount>,
    tree: Spanned<String>,
}

/// A value that may stand among contributors.
enum Item {
    Rank(Rank),
    Text(String),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl Visitor<'_> for Items {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rank as 0, a range of ranks as \"0-3\" or a node's name")
            }

            fn visit_i64<E: de::Error>(self, rank: i64) -> Result<Item, E> {
                let rank = Rank::try_from(rank).ok();
                rank.map(Item::Rank).ok_or_else(|| E::custom("a rank is a number from 0"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Item, E> {
                Ok(Item::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Items)
    }
}

/// Line numbers of values in the text.
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn at(&self, start: usize) -> usize {
        1 + self.0.bytes().take(start).filter(|byte| *byte == b'\n').count()
    }

    fn of<T>(&self, value: &Spanned<T>) -> usize {
        self.at(value.span().start)
    }
}

/// Names with their positions, each once.
struct Names<'a> {
    what: &'static str,
    places: HashMap<&'a str, usize>,
    in_order: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn read(
        what: &'static str,
        names: impl Iterator<Item = &'a Spanned<String>>,
        lines: &Lines<'_>,
    ) -> Result<Self, TreeError> {
        let mut read = Self { what, places: HashMap::new(), in_order: Vec::new() };
        for spanned in names {
            check_name(what, spanned, lines)?;
            let name: &str = spanned.get_ref();
            if read.places.insert(name, read.in_order.len()).is_some() {
                return Err(TreeError::Twice { line: lines.of(spanned), what, given: name.to_owned() });
            }
            read.in_order.push(name);
        }
        Ok(read)
    }

    fn find(&self, name: &str, line: usize) -> Result<usize, TreeError> {
        self.places.get(name).copied().ok_or_else(|| TreeError::Unknown {
            line,
            what: self.what,
            given: name.to_owned(),
            known: self.in_order.iter().map(|name| (*name).to_owned()).collect(),
        })
    }
}

impl Forest {
    /// Reads a file's text. What is returned is sound.
    ///
    /// # Errors
    /// The first fault, with its line or the tree and node that have it.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let lines = Lines(text);
        let file: File = toml::from_str(text).map_err(|error| TreeError::Syntax {
            line: error.span().map_or(1, |span| lines.at(span.start)),
            message: error.message().replace('\n', ", "),
        })?;
        if file.format != FORMAT {
            return Err(TreeError::Format { given: file.format, needed: FORMAT });
        }
        let host_names = Names::read("host", file.host.iter().map(|host| &host.name), &lines)?;
        let hosts = hosts(&file.host, &lines)?;
        let tree_names = Names::read("tree", file.tree.iter().map(|tree| &tree.name), &lines)?;
        let mut forest = Self { epoch: file.epoch, hosts, ..Self::default() };
        // Ranks without a host first: whatever else is wrong may be because of them.
        forest.check()?;
        let n_ranks = forest.n_ranks();
        let trees = file.tree.iter().map(|table| tree(table, &host_names, n_ranks, &lines));
        forest.trees = trees.collect::<Result<_, _>>()?;
        forest.rules = file.rule.iter().map(|table| rule(table, &tree_names, &lines)).collect::<Result<_, _>>()?;
        forest.check()?;
        Ok(forest)
    }
}

fn hosts(tables: &[HostTable], lines: &Lines<'_>) -> Result<Vec<Host>, TreeError> {
    let mut of_rank: HashMap<Rank, &str> = HashMap::new();
    let mut hosts = Vec::with_capacity(tables.len());
    for table in tables {
        let line = lines.of(&table.ranks);
        if let Some(cluster) = &table.cluster {
            check_name("cluster", cluster, lines)?;
        }
        let mut ranks = ranks(table.ranks.get_ref()).map_err(|fault| TreeError::Ranks { line, fault })?;
        for &rank in &ranks {
            if let Some(host) = of_rank.insert(rank, table.name.get_ref()) {
                return Err(TreeError::PlacedTwice { line, rank, host: host.to_owned() });
            }
        }
        ranks.sort_unstable();
        let cluster = table.cluster.as_ref().map(|cluster| cluster.get_ref().clone());
        hosts.push(Host { name: table.name.get_ref().clone(), cluster, ranks });
    }
    Ok(hosts)
}

fn tree(table: &TreeTable, hosts: &Names<'_>, n_ranks: usize, lines: &Lines<'_>) -> Result<Tree, TreeError> {
    let names = Names::read("node", table.node.iter().map(|node| &node.name), lines)?;
    let mut nodes = Vec::with_capacity(table.node.len());
    for node in &table.node {
        let mut contributors = Vec::new();
        for item in &node.contributors {
            let line = lines.of(item);
            let ranks = match item.get_ref() {
                Item::Text(name) if name.starts_with(|first: char| !first.is_ascii_digit()) => {
                    contributors.push(Contributor::Node(names.find(name, line)?));
                    continue;
                }
                Item::Text(range) => ranks(range).map_err(|fault| TreeError::Ranks { line, fault })?,
                Item::Rank(rank) => vec![*rank],
            };
            if let Some(&rank) = ranks.iter().find(|rank| **rank as usize >= n_ranks) {
                return Err(TreeError::UnknownRank { line, rank, last: n_ranks as Rank - 1 });
            }
            contributors.extend(ranks.into_iter().map(Contributor::Rank));
        }
        let host = hosts.find(node.host.get_ref(), lines.of(&node.host))?;
        nodes.push(Node { name: node.name.get_ref().clone(), host, parent: None, contributors, wake: node.wake });
    }
    let mut tree = Tree { name: table.name.get_ref().clone(), nodes, between: table.between, order: table.order };
    tree.adopt();
    Ok(tree)
}

fn rule(table: &RuleTable, trees: &Names<'_>, lines: &Lines<'_>) -> Result<Rule, TreeError> {
    let operation = match table.operation.get_ref().as_str() {
        "*" => None,
        name => Some(name.parse().map_err(|fault: WordError| TreeError::Unknown {
            line: lines.of(&table.operation),
            what: "operation",
            given: fault.given,
            known: fault.known.into_iter().chain(["*"]).map(str::to_owned).collect(),
        })?),
    };
    let tree = trees.find(table.tree.get_ref(), lines.of(&table.tree))?;
    Ok(Rule { operation, bytes_max: table.bytes_max, tree })
}

fn check_name(what: &'static str, name: &Spanned<String>, lines: &Lines<'_>) -> Result<(), TreeError> {
    let given = name.get_ref();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let may_begin = matches!(what, "host" | "cluster") || given.starts_with(|first: char| first.is_ascii_alphabetic());
    if (1..=NAME_BYTES_MAX).contains(&given.len()) && given.bytes().all(fits) && may_begin {
        return Ok(());
    }
    Err(TreeError::Name { line: lines.of(name), what, given: given.clone() })
}

/// Ranks as they are listed, such as `0-3,8`, in the order of the list.
///
/// # Errors
/// A text that is no such list, and one that must have a rank twice since it has more than there can be.
pub fn ranks(text: &str) -> Result<Vec<Rank>, RanksError> {
    let wrong = || RanksError { given: text.to_owned() };
    let number = |part: &str| part.trim().parse::<Rank>().ok().filter(|rank| *rank <= RANK_MAX).ok_or_else(wrong);
    let mut ranks = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || ranks.len() > RANK_MAX as usize {
            return Err(wrong());
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}
