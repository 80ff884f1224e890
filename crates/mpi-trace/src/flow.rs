//! Who needs whose data in a collective call.

use serde::{Deserialize, Serialize};

use crate::Operation;

/// Which way data go in a collective call that returns when its own part is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// From all to all: nobody returns before the last has called.
    All,
    /// From all to the operation's root: all others may return early.
    ToRoot,
    /// From the operation's root to all: it may return early itself.
    FromRoot,
}

impl Flow {
    /// Each.
    pub const EACH: [Self; 3] = [Self::All, Self::ToRoot, Self::FromRoot];

    /// As it follows the name of a tree; nothing where all wait for all.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::ToRoot => ", to a root",
            Self::FromRoot => ", from a root",
        }
    }

    /// Whether what all ranks bring is joined, so that somebody is the last to bring it.
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
    /// Which way its data go; none of what is not collective, returns at once, or goes only to some.
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
