//! Communication of a program at 1:1, by the totals of its calls.

use serde::{Deserialize, Serialize};

use crate::{CallWait, RankWait};

/// Messages below this size are small (the paper's limit).
const SMALL_BYTES: f64 = 1e3;
/// Messages above this size are large (the paper's limit).
const LARGE_BYTES: f64 = 1e6;
/// Calls per rank and second from which they are many. The paper gives no number; a classic time slice of 10 ms holds
/// one of so many.
const MANY_PER_SECOND: f64 = 100.0;

/// Calls that send a message and return when its buffer is free.
const BLOCKING_SENDS: [&str; 6] =
    ["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Sendrecv", "MPI_Sendrecv_replace"];
/// Calls that begin to send a message.
const ASYNC_SENDS: [&str; 6] =
    ["MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend", "MPI_Isendrecv", "MPI_Isendrecv_replace"];
/// Collectives that no rank leaves before all ranks have entered, without the `v` or `w` at their end.
const GLOBAL: [&str; 6] = ["Barrier", "Allreduce", "Alltoall", "Allgather", "Reduce_scatter", "Reduce_scatter_block"];
/// All other collectives.
const ROOTED: [&str; 6] = ["Bcast", "Reduce", "Gather", "Scatter", "Scan", "Exscan"];

/// Size class of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSize {
    /// Size below 1 KB.
    Small,
    /// Size between.
    Medium,
    /// Size above 1 MB.
    Large,
}

/// Number and size of messages, or of parts in collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageTraffic {
    /// Calls of a rank in a second.
    pub per_rank_second: f64,
    /// Mean number of bytes in a call.
    pub mean_bytes: f64,
}

/// Communication of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommunicationProfile {
    /// Mean run time of a rank.
    pub run_seconds: f64,
    /// Share of the run time in calls of MPI.
    pub communication_ratio: f64,
    /// Share of the run time in which a rank was blocked.
    pub blocked_ratio: f64,
    /// Messages from one rank to another.
    pub messages: MessageTraffic,
    /// Share of these messages that are sent by non-blocking calls.
    pub async_ratio: f64,
    /// Collective calls.
    pub collectives: MessageTraffic,
    /// Share of the time in MPI that is in collective calls.
    pub collective_ratio: f64,
    /// Share of the time in MPI that is in small collectives which all ranks must have entered.
    pub small_global_ratio: f64,
}

impl CommunicationProfile {
    /// Adds up ranks and calls of one or several runs at 1:1; `None` without ranks.
    #[must_use]
    pub fn of(ranks: &[RankWait], calls: &[CallWait]) -> Option<Self> {
        let rank_seconds: f64 = ranks.iter().map(|rank| rank.run_seconds).sum();
        if rank_seconds <= 0.0 {
            return None;
        }
        let call_seconds: f64 = ranks.iter().map(|rank| rank.call_seconds).sum();
        let blocked: f64 = ranks.iter().map(|rank| rank.blocked_seconds).sum();
        let sends = |call: &&CallWait| is_blocking_send(&call.call) || is_async_send(&call.call);
        let count = |calls: &[&CallWait]| calls.iter().map(|call| call.calls).sum::<u64>() as f64;
        let seconds = |calls: &[&CallWait]| calls.iter().fold(0.0, |sum, call| sum + call.seconds);
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let messages: Vec<&CallWait> = calls.iter().filter(sends).collect();
        let asynchronous: Vec<&CallWait> = calls.iter().filter(|call| is_async_send(&call.call)).collect();
        let collectives: Vec<&CallWait> = calls.iter().filter(|call| is_collective(&call.call)).collect();
        let is_small = |call: &CallWait| size_of(ratio(call.bytes as f64, call.calls as f64)) == MessageSize::Small;
        let small_global: Vec<&CallWait> =
            calls.iter().filter(|call| is_global(&call.call) && is_small(call)).collect();
        let traffic = |calls: &[&CallWait]| MessageTraffic {
            per_rank_second: count(calls) / rank_seconds,
            mean_bytes: ratio(calls.iter().map(|call| call.bytes).sum::<u64>() as f64, count(calls)),
        };
        Some(Self {
            run_seconds: rank_seconds / ranks.len() as f64,
            communication_ratio: call_seconds / rank_seconds,
            blocked_ratio: blocked / rank_seconds,
            messages: traffic(&messages),
            async_ratio: ratio(count(&asynchronous), count(&messages)),
            collectives: traffic(&collectives),
            collective_ratio: ratio(seconds(&collectives), call_seconds),
            small_global_ratio: ratio(seconds(&small_global), call_seconds),
        })
    }
}

impl MessageTraffic {
    /// Returns the size class of the mean.
    #[must_use]
    pub fn size(&self) -> MessageSize {
        size_of(self.mean_bytes)
    }

    /// Whether there are many.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.per_rank_second >= MANY_PER_SECOND
    }
}

impl MessageSize {
    /// Returns the word for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

fn size_of(bytes: f64) -> MessageSize {
    match bytes {
        bytes if bytes < SMALL_BYTES => MessageSize::Small,
        bytes if bytes > LARGE_BYTES => MessageSize::Large,
        _ => MessageSize::Medium,
    }
}

fn is_blocking_send(call: &str) -> bool {
    BLOCKING_SENDS.contains(&call)
}

fn is_async_send(call: &str) -> bool {
    // Persistent sends count when they are started.
    ASYNC_SENDS.contains(&call) || call == "MPI_Start"
}

/// Returns the collective that a function is a kind of: `Alltoall` for `MPI_Ialltoallv`; `None` of other functions.
fn collective(call: &str) -> Option<&'static str> {
    let name = call.strip_prefix("MPI_")?.to_lowercase();
    // No collective begins with an `i` of its own.
    let blocking = name.strip_prefix('i').unwrap_or(&name);
    let is_kind =
        |kind: &str| blocking.strip_prefix(&kind.to_lowercase()).is_some_and(|rest| ["", "v", "w"].contains(&rest));
    GLOBAL.iter().chain(&ROOTED).copied().find(|kind| is_kind(kind))
}

pub(crate) fn is_collective(call: &str) -> bool {
    collective(call).is_some()
}

/// Whether no rank leaves the function before all ranks have entered.
pub(crate) fn is_global(call: &str) -> bool {
    collective(call).is_some_and(|kind| GLOBAL.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{call, rank};

    #[test]
    fn collectives_are_known_with_their_variants() {
        for global in ["MPI_Allreduce", "MPI_Alltoallv", "MPI_Ialltoallw", "MPI_Ibarrier", "MPI_Reduce_scatter_block"] {
            assert!(is_global(global), "{global}");
        }
        for rooted in ["MPI_Bcast", "MPI_Igatherv", "MPI_Exscan"] {
            assert!(is_collective(rooted) && !is_global(rooted), "{rooted}");
        }
        assert!(!["MPI_Send", "MPI_Irecv", "MPI_I", "MPI_Init"].into_iter().any(is_collective));
    }

    #[test]
    fn a_profile_has_rates_sizes_and_shares() {
        let ranks = [rank(0, 4.0), rank(1, 4.0)];
        let sized = |name: &str, calls, bytes, seconds| CallWait { calls, bytes, ..call(name, seconds) };
        let calls = [
            sized("MPI_Send", 600, 600 * 100, 1.0),
            sized("MPI_Isend", 200, 200 * 100, 0.5),
            sized("MPI_Waitall", 200, 0, 0.5),
            sized("MPI_Alltoall", 8, 8 * 2_000_000, 1.0),
            sized("MPI_Allreduce", 8, 8 * 8, 1.0),
        ];
        let found = CommunicationProfile::of(&ranks, &calls).unwrap();
        assert_eq!((found.run_seconds, found.communication_ratio, found.blocked_ratio), (4.0, 0.5, 0.5));
        assert_eq!((found.messages.per_rank_second, found.messages.mean_bytes), (100.0, 100.0));
        assert!(found.messages.is_many() && found.messages.size() == MessageSize::Small);
        assert_eq!((found.async_ratio, found.collective_ratio, found.small_global_ratio), (0.25, 0.5, 0.25));
        assert!(!found.collectives.is_many());
        assert_eq!(CommunicationProfile::of(&[], &calls), None);
    }
}
