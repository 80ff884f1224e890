//! Faults of trees.

use units::Rank;

use crate::RANK_MAX;

/// The reason why a file holds nothing usable, or nothing for this job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// No TOML, or a key or value that does not belong there.
    #[error("line {line}: {message}")]
    Syntax {
        /// Number of the line, counted from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// A version that is not known here.
    #[error("this file has format {given}; only format {needed} is known here")]
    Format {
        /// The format in the file.
        given: u32,
        /// The format that is needed.
        needed: u32,
    },
    /// A name that would not do.
    #[error("line {line}: `{}` cannot be the name of a {what}: it is 1 to 255 letters, digits, `.`, `-` and `_`{}",
        given.escape_debug(), if *what == "host" || *what == "cluster" { "" } else { ", and begins with a letter" })]
    Name {
        /// Number of the line, counted from 1.
        line: usize,
        /// The kind of thing that has the name.
        what: &'static str,
        /// The name as given.
        given: String,
    },
    /// A name that is used already.
    #[error("line {line}: there is another {what} `{given}` before this one")]
    Twice {
        /// Number of the line, counted from 1.
        line: usize,
        /// The kind of thing that has the name.
        what: &'static str,
        /// The name as given.
        given: String,
    },
    /// No list of ranks.
    #[error("line {line}: {fault}")]
    Ranks {
        /// Number of the line, counted from 1.
        line: usize,
        /// The fault of the list.
        fault: RanksError,
    },
    /// A rank on two hosts, or twice on one.
    #[error("line {line}: rank {rank} is already on host `{host}`")]
    PlacedTwice {
        /// Number of the line, counted from 1.
        line: usize,
        /// The rank.
        rank: Rank,
        /// The other host of the rank.
        host: String,
    },
    /// A rank on no host.
    #[error("rank {rank} is on no host; ranks 0 to {last} must each be on one")]
    Unplaced {
        /// The rank.
        rank: Rank,
        /// The highest rank of the file.
        last: Rank,
    },
    /// There are no ranks at all.
    #[error("no host has a rank; begin with a table [[host]]")]
    Empty,
    /// A reference to something that is not there.
    #[error("line {line}: there is no {what} `{}`; there {}", given.escape_debug(), listed(known))]
    Unknown {
        /// Number of the line, counted from 1.
        line: usize,
        /// The kind of thing that should be there.
        what: &'static str,
        /// The name as given.
        given: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A contributor that is no rank of the file.
    #[error("line {line}: there is no rank {rank}; the hosts have ranks 0 to {last}")]
    UnknownRank {
        /// Number of the line, counted from 1.
        line: usize,
        /// The rank as given.
        rank: Rank,
        /// The highest rank of the file.
        last: Rank,
    },
    /// A node that nobody contributes to.
    #[error("tree `{tree}`: node `{node}` has no contributors; name ranks or nodes")]
    NoContributors {
        /// The tree.
        tree: String,
        /// The node.
        node: String,
    },
    /// A rank or node that contributes more than once.
    #[error("tree `{tree}`: {contributor} contributes to `{first}` and to `{second}`; it must contribute once")]
    ContributesTwice {
        /// The tree.
        tree: String,
        /// `rank 3` or `` node `a` ``.
        contributor: String,
        /// A node.
        first: String,
        /// A node, perhaps the same.
        second: String,
    },
    /// A rank that contributes nowhere.
    #[error("tree `{tree}`: rank {rank} contributes to no node; each rank must contribute to one")]
    Orphan {
        /// The tree.
        tree: String,
        /// The rank.
        rank: Rank,
    },
    /// Nodes that contribute to each other.
    #[error("tree `{tree}`: node `{node}` contributes to itself{}; a root contributes to no node", by_way_of(way))]
    Cycle {
        /// The tree.
        tree: String,
        /// One of the nodes.
        node: String,
        /// The others, towards where the root should be.
        way: Vec<String>,
    },
    /// Several roots that nothing joins.
    #[error(
        "tree `{tree}`: nodes {} contribute to no node; only a root may, unless the tree has `between = \"all-to-all\"`",
        quoted(roots)
    )]
    Roots {
        /// The tree.
        tree: String,
        /// All nodes without a parent.
        roots: Vec<String>,
    },
    /// More stages than records can number.
    #[error("tree `{tree}` has {given} collectors; the limit is {limit}")]
    TooManyCollectors {
        /// The tree.
        tree: String,
        /// Number of collectors that there would be.
        given: usize,
        /// Largest number of collectors.
        limit: usize,
    },
    /// Longer paths than anybody needs.
    #[error("tree `{tree}` has {given} nodes between a rank and its root; the limit is {limit}")]
    TooDeep {
        /// The tree.
        tree: String,
        /// Number of nodes that there are.
        given: usize,
        /// Largest number of nodes.
        limit: usize,
    },
    /// Made for more ranks or fewer.
    #[error("the trees are for {given} ranks, but the job has {needed}")]
    NRanks {
        /// Number of ranks in the file.
        given: usize,
        /// Number of ranks in the job.
        needed: usize,
    },
    /// Made for another placement.
    #[error("the trees have rank {rank} on host `{given}`, but it runs on `{}`", needed.escape_debug())]
    Host {
        /// The rank.
        rank: Rank,
        /// Host of the rank in the file.
        given: String,
        /// Host of the rank in the job.
        needed: String,
    },
}

/// A text that is no list of ranks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{}` is not a list of ranks: write numbers up to {RANK_MAX} and ranges, as in 0-3,8", given.escape_debug())]
pub struct RanksError {
    /// The text as given.
    pub given: String,
}

/// Names in messages; more would hide the rest of the message.
const N_NAMES_MAX: usize = 8;

fn quoted(names: &[String]) -> String {
    let shown = names.iter().take(N_NAMES_MAX).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let n_others = names.len().saturating_sub(N_NAMES_MAX);
    if n_others > 0 { format!("{shown} and {n_others} others") } else { shown }
}

fn by_way_of(way: &[String]) -> String {
    if way.is_empty() { String::new() } else { format!(", by way of {}", quoted(way)) }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "is none".to_owned() } else { format!("are {}", quoted(known)) }
}
