//! Faults of machine files.

use super::description::FORMAT;
use crate::collective::ChosenError;

/// The reason why a text is no machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The file's text is not what the format asks for.
    #[error("{place}: {message}")]
    Syntax {
        /// Line and column.
        place: String,
        /// The fault at this place.
        message: String,
    },
    /// Another format.
    #[error("`format` is {given}: this program reads format {FORMAT}")]
    Format {
        /// The format as given.
        given: u32,
    },
    /// A value that is not possible.
    #[error("`{key}` of {place} is {given}: write {right}")]
    Value {
        /// The key.
        key: &'static str,
        /// The place of the value.
        place: String,
        /// The value as given.
        given: String,
        /// The values that would be valid.
        right: &'static str,
    },
    /// A level that messages of this machine need.
    #[error("the machine needs a `[level.{level}]`: it has {because}")]
    Level {
        /// Its name.
        level: &'static str,
        /// The reason why the level is needed.
        because: &'static str,
    },
    /// A level says what a message costs twice, or not at all.
    #[error("`[level.{level}]` needs either a `latency` (and a `bandwidth`) or `segments`, and has {has}")]
    Cost {
        /// Its name.
        level: &'static str,
        /// The forms of cost that the level has: neither or both.
        has: &'static str,
    },
    /// A link between sites that are not there, or one and the same.
    #[error("the link between `{}` and `{}` needs two sites of the machine, each pair once", between[0], between[1])]
    Link {
        /// The two sites as given.
        between: [String; 2],
    },
    /// A topology that does not fit its site's nodes.
    #[error("the network of site `{site}` has room for {room} nodes, and the site has {nodes}: {right}")]
    Network {
        /// The site.
        site: String,
        /// Nodes that the topology has.
        room: u64,
        /// Nodes of the site.
        nodes: u32,
        /// The condition that has to hold.
        right: &'static str,
    },
    /// A site that is not there.
    #[error("the machine has no site `{given}`: it has {known}")]
    Unknown {
        /// The site as given.
        given: String,
        /// The sites of the machine.
        known: String,
    },
    /// An algorithm that a collective call cannot have.
    #[error(transparent)]
    Chosen(#[from] ChosenError),
    /// No ranks.
    #[error("0 ranks are no program: ask for 1 to {slots}, as the machine has {slots} cores")]
    NoRanks {
        /// Cores of the machine.
        slots: u32,
    },
    /// More ranks than cores.
    #[error(
        "{ranks} ranks are more than the machine's {slots} cores: add `nodes` or `cores` to a site, or use at most {slots} ranks"
    )]
    TooSmall {
        /// Ranks asked for.
        ranks: u32,
        /// Cores of the machine.
        slots: u32,
    },
    /// A mapping that is too short, or puts too many ranks on a node.
    #[error("`mapping` does not fit {ranks} ranks: {reason}")]
    Mapping {
        /// Ranks asked for.
        ranks: u32,
        /// The fault.
        reason: String,
    },
}

impl From<toml::de::Error> for MachineError {
    fn from(error: toml::de::Error) -> Self {
        // The rest of its text is a picture of the line.
        let place = error.to_string().lines().next().unwrap_or_default().replace("TOML parse error at ", "");
        Self::Syntax { place, message: error.message().to_owned() }
    }
}

/// A value that is not possible.
pub(super) fn wrong(
    key: &'static str,
    place: impl ToString,
    given: impl ToString,
    right: &'static str,
) -> MachineError {
    MachineError::Value { key, place: place.to_string(), given: given.to_string(), right }
}
