//! Flow of data in collective calls: which rank needs the data of which.

use serde::{Deserialize, Serialize};

use crate::Operation;

/// Direction of data in a collective call that returns when its own part is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// All to all: nobody returns before the last has called.
    All,
    /// All to the operation's root: all others may return early.
    ToRoot,
    /// The operation's root to all: it may return early itself.
    FromRoot,
}

impl Flow {
    /// Each direction.
    pub const EACH: [Self; 3] = [Self::All, Self::ToRoot, Self::FromRoot];

    /// Returns the text that follows the name of a tree; empty if all wait for all.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::ToRoot => ", to a root",
            Self::FromRoot => ", from a root",
        }
    }

    /// Whether the data of all ranks are joined, so that one rank is the last to bring them.
    #[must_use]
    pub fn is_joined(self) -> bool {
        self != Self::FromRoot
    }

    /// Whether a result is handed out to all ranks.
    #[must_use]
    pub fn is_handed_out(self) -> bool {
        self != Self::ToRoot
    }
}

impl Operation {
    /// Returns the direction of its data; `None` if the call is not collective, returns at once, or goes only to some.
    #[must_use]
    pub fn flow(self) -> Option<Flow> {
        Some(match self {
            Self::BCAST | Self::SCATTER | Self::SCATTERV => Flow::FromRoot,
            Self::REDUCE | Self::GATHER | Self::GATHERV => Flow::ToRoot,
            Self::BARRIER
            | Self::ALLGATHER
            | Self::ALLGATHERV
            | Self::ALLREDUCE
            | Self::ALLTOALL
            | Self::ALLTOALLV
            | Self::ALLTOALLW
            | Self::REDUCE_SCATTER
            | Self::REDUCE_SCATTER_BLOCK => Flow::All,
            _ => return None,
        })
    }
}
