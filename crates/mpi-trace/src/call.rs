//! The MPI calls that move data or wait for it.

use std::str::FromStr;

use crate::Mode;

/// A rank's call, as far as it matters to an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Sends, or sends and receives.
    Send(Mode),
    /// Receives, or announces a receive.
    Receive,
    /// Waits for messages that are under way, or tests for them.
    Wait,
    /// Does something with all ranks.
    Collective(Collective),
    /// Waits for all ranks.
    Barrier,
}

/// A collective operation of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// A part for each from one.
    Scatter,
    /// A part from each to one.
    Gather,
    /// A part from each to all.
    Allgather,
    /// A part from each to each.
    Alltoall,
    /// A sum to all.
    Allreduce,
    /// The same for all from one.
    Broadcast,
    /// A sum to one.
    Reduce,
    /// A part of a sum to each.
    ReduceScatter,
    /// Sums of all ranks before, to each.
    Scan,
}

/// A name that is not one of a call that moves data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{given}` is not a call that moves data: MPI_Send, isend, recv, sendrecv, waitall, alltoall, allreduce, barrier and their like"
)]
pub struct UnknownCall {
    /// Name as given.
    pub given: String,
}

impl Collective {
    /// Returns the name as MPI has it, without its prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::Allreduce => "allreduce",
            Self::Broadcast => "bcast",
            Self::Reduce => "reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::Scan => "scan",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        // Without the letters for parts of several sizes and for calls that return at once.
        let plain = [
            "scatter",
            "gather",
            "allgather",
            "alltoall",
            "allreduce",
            "bcast",
            "reduce",
            "reduce_scatter",
            "scan",
            "exscan",
        ];
        let name =
            name.strip_prefix('i').filter(|rest| plain.iter().any(|plain| rest.starts_with(plain))).unwrap_or(name);
        Some(match name {
            "scatter" | "scatterv" => Self::Scatter,
            "gather" | "gatherv" => Self::Gather,
            "allgather" | "allgatherv" => Self::Allgather,
            "alltoall" | "alltoallv" | "alltoallw" => Self::Alltoall,
            "allreduce" => Self::Allreduce,
            "bcast" => Self::Broadcast,
            "reduce" => Self::Reduce,
            "reduce_scatter" | "reduce_scatter_block" => Self::ReduceScatter,
            "scan" | "exscan" => Self::Scan,
            _ => return None,
        })
    }
}

impl FromStr for Call {
    type Err = UnknownCall;

    /// Parses a name with or without `MPI_` in front, in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_prefix("mpi_").unwrap_or(&lower);
        match name {
            "send" | "bsend" | "rsend" | "sendrecv" | "sendrecv_replace" => Ok(Self::Send(Mode::Blocking)),
            "ssend" => Ok(Self::Send(Mode::Synchronous)),
            "isend" | "ibsend" | "irsend" | "issend" => Ok(Self::Send(Mode::NonBlocking)),
            "recv" | "irecv" => Ok(Self::Receive),
            "wait" | "waitall" | "waitany" | "waitsome" | "test" | "testall" | "testany" | "testsome" | "probe"
            | "iprobe" => Ok(Self::Wait),
            "barrier" | "ibarrier" => Ok(Self::Barrier),
            _ => Collective::of_name(name).map(Self::Collective).ok_or_else(|| UnknownCall { given: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_any_of_their_names() {
        assert_eq!("MPI_Isend".parse(), Ok(Call::Send(Mode::NonBlocking)));
        assert_eq!("ssend".parse(), Ok(Call::Send(Mode::Synchronous)));
        assert_eq!("MPI_IRECV".parse(), Ok(Call::Receive));
        for name in ["alltoall", "MPI_Alltoallv", "ialltoallw", "MPI_Ialltoall"] {
            assert_eq!(name.parse(), Ok(Call::Collective(Collective::Alltoall)), "{name}");
        }
        assert_eq!("ireduce_scatter_block".parse(), Ok(Call::Collective(Collective::ReduceScatter)));
        assert_eq!("mpi_exscan".parse(), Ok(Call::Collective(Collective::Scan)));
    }

    #[test]
    fn calls_that_move_nothing_are_none() {
        for name in ["MPI_Comm_rank", "", "MPI_", "sendd", "ii", "ialltoallx"] {
            assert!(name.parse::<Call>().is_err(), "{name} was taken");
        }
    }
}
