//! Jobs of MPI programs on the node's host, and what is seen inside their collective operations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Rank, Timestamp};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Answer of `GET /api/v1/mpi/jobs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiJobs {
    /// The host's name.
    pub host: String,
    /// Jobs, those that run first, and of these the youngest first.
    pub jobs: Vec<MpiJob>,
}

/// A job, as it looks from this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiJob {
    /// The job's name in paths.
    pub job: String,
    /// Name by which the program was called; `null` if no rank has recorded it.
    pub program: Option<String>,
    /// Name that the MPI library gives itself; `null` if no rank has recorded it.
    pub library: Option<String>,
    /// Ranks of the whole job.
    pub n_ranks: u32,
    /// Ranks that recorded something on this host, in ascending order.
    pub ranks: Vec<Rank>,
    /// Moment when the first of its rings was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// Whether a process of it still runs here.
    pub is_running: bool,
    /// Trees that collective operations go over, by name.
    pub trees: Vec<String>,
    /// Records that were ever written here.
    pub n_records: u64,
    /// One sentence for each thing that is not as it should be, such as a broken ring or tree file.
    pub problems: Vec<String>,
}

/// Answer of `GET /api/v1/mpi/jobs/{job}`: what was seen since somebody looks at the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiJobDetail {
    /// The job, as in the list.
    #[serde(flatten)]
    pub about: MpiJob,
    /// Time for which the job has been watched. Figures are of this time, and of what rings held when it began.
    pub watched_seconds: f64,
    /// Records written in a second, over the last seconds.
    pub records_per_second: f64,
    /// Calls of the program in a second, over the last seconds.
    pub calls_per_second: f64,
    /// Records that were read.
    pub n_read: u64,
    /// Records that were overwritten before they were read, or of no use.
    pub n_lost: u64,
    /// Records that were left out because there were too many to read them all.
    pub n_left_out: u64,
    /// Calls by operation, those that took most time first.
    pub operations: Vec<MpiOperation>,
    /// Calls of each rank.
    pub by_rank: Vec<MpiRank>,
    /// Analyses of collective operations, tree by tree.
    pub analyses: Vec<MpiAnalysis>,
}

/// Calls of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiOperation {
    /// Name of the operation as in C: `MPI_Allreduce`.
    pub operation: String,
    /// Number of calls.
    pub n_calls: u64,
    /// Calls that returned an error.
    pub n_failed: u64,
    /// Calls in a second, over the last seconds.
    pub calls_per_second: f64,
    /// Share of all threads' time that was spent in it, in [0, 1].
    pub time_ratio: f64,
    /// Mean duration of a call.
    pub mean_seconds: f64,
    /// The longest call.
    pub max_seconds: f64,
    /// Size of all messages together.
    pub size_bytes: u64,
}

/// Calls of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiRank {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Number of calls.
    pub n_calls: u64,
    /// Share of its threads' time that was spent in MPI, in [0, 1].
    pub time_ratio: f64,
}

/// Analysis of collective operations over one tree whose data go the same way. Means are of all calls that were seen
/// whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiAnalysis {
    /// The tree's name.
    pub tree: String,
    /// Direction of the data. If calls go one way only, the parts of the other way are 0.
    pub flow: MpiFlow,
    /// Calls that figures are of.
    pub n_calls: u64,
    /// Calls seen whole, by operation.
    pub operations: BTreeMap<String, u64>,
    /// Calls that were not seen whole, or not yet.
    pub n_incomplete: u64,
    /// Calls whose times contradict each other.
    pub n_disordered: u64,
    /// Mean cost of the slowest path of a call, without waiting for late ranks.
    pub slowest_seconds: f64,
    /// The one that keeps the others waiting, in words; `null` if nobody stands out.
    pub culprit: Option<String>,
    /// The heaviest path of the last-arrival graph, from a root on.
    pub last_arrivals: Vec<MpiLastArrival>,
    /// Nodes, as in the tree file.
    pub nodes: Vec<MpiTreeNode>,
    /// Paths by rank.
    pub paths: Vec<MpiPath>,
    /// Paths that behave alike, the slowest first.
    pub groups: Vec<MpiGroup>,
    /// Hints about parts that take much of a path, the largest share first.
    pub hints: Vec<MpiHint>,
    /// Stages whose mean in one of the last 30 seconds was above what its forecast allowed, each with the last time:
    /// the furthest above first, waits for others after all else.
    pub slow: Vec<MpiSlow>,
}

/// Direction of the data in a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub enum MpiFlow {
    /// Data go from all to all, as in an allreduce or a barrier.
    All,
    /// Data go to a root, as in a reduce or a gather.
    ToRoot,
    /// Data go from a root, as in a broadcast or a scatter.
    FromRoot,
}

/// A stage that was slower than expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiSlow {
    /// Part of the path, as in [`MpiStage`].
    pub part: String,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor at the node, if the part is one that each contributor has.
    pub contributor: Option<usize>,
    /// Duration of the stage, as the mean of that second.
    pub mean_seconds: f64,
    /// Expected duration.
    pub expected_seconds: f64,
    /// The most that the forecast allowed, at a confidence of 99.9 %.
    pub upper_seconds: f64,
    /// Time since that second.
    pub ago_seconds: f64,
    /// Whether the stage is a wait for others, which is a consequence of another's slowness.
    pub is_wait: bool,
}

/// An edge of the heaviest path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiLastArrival {
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor at the node.
    pub contributor: usize,
    /// Name of the contributor: a node's name, or `rank 3`.
    pub name: String,
    /// Calls in which it was the last to arrive.
    pub n_last: u64,
    /// Share of these calls among all, in [0, 1].
    pub ratio: f64,
    /// Mean time for which the others at the node waited for the last.
    pub others_waited_seconds: f64,
    /// Whether it was last much more often than if all were alike.
    pub stands_out: bool,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiTreeNode {
    /// Name of the node, as in the tree file.
    pub name: String,
    /// Host of the node.
    pub host: String,
    /// Position of the node that it contributes to; `null` for a root.
    pub parent: Option<usize>,
    /// Time of combining, after the last arrival.
    pub down_seconds: f64,
    /// Time of releasing the first contributor.
    pub up_seconds: f64,
    /// Contributors in the tree's order.
    pub contributors: Vec<MpiContributor>,
}

/// A contributor of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiContributor {
    /// A node's name, or `rank 3`.
    pub name: String,
    /// Position of the node; `null` for a rank.
    pub node: Option<usize>,
    /// Calls in which it was the last to arrive.
    pub n_last: u64,
    /// Share of these calls among all, in [0, 1].
    pub last_ratio: f64,
    /// Time of waiting for the last to arrive.
    pub arrival_wait_seconds: f64,
    /// Time of waiting for its turn to leave.
    pub departure_wait_seconds: f64,
    /// Time to another host and back; `null` if the contributor is on the node's own host.
    pub hop_seconds: Option<f64>,
}

/// A rank's way to its root and back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiPath {
    /// The rank whose path it is.
    pub rank: Rank,
    /// Host that the rank runs on.
    pub host: String,
    /// Mean duration of the rank's call.
    pub total_seconds: f64,
    /// Mean duration without waiting for late ranks.
    pub cost_seconds: f64,
    /// Calls in which no other path cost as much.
    pub n_slowest: u64,
    /// Its parts, from the rank to the root and back.
    pub stages: Vec<MpiStage>,
    /// Its line in the pathmap, waits for late ranks left out: seconds before (below 0) and after the root, and stages
    /// from there.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<f64>>))]
    pub track: Vec<(f64, f64)>,
    /// Line with these waits.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<f64>>))]
    pub track_with_waits: Vec<(f64, f64)>,
    /// Stage between each point of either line and the next: positions among the stages.
    pub track_stages: Vec<usize>,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiStage {
    /// `arrival wait`, `down`, `hop`, `store`, `up` or `departure wait`.
    pub part: String,
    /// Position of the node.
    pub node: usize,
    /// Position of the contributor at the node that the path comes from.
    pub contributor: usize,
    /// Mean duration.
    pub mean_seconds: f64,
}

/// Paths that behave alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiGroup {
    /// Ranks of the paths.
    pub ranks: Vec<Rank>,
    /// The one whose cost is nearest to the group's.
    pub representative: Rank,
    /// Mean of the paths, without waiting for late ranks.
    pub cost_seconds: f64,
    /// Whether slower groups decide how long a call takes.
    pub is_fast: bool,
}

/// A part that takes much of a path, and what may be tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct MpiHint {
    /// Part of the path, as in [`MpiStage`].
    pub part: String,
    /// The node's name.
    pub node: String,
    /// Rank on whose path the part was seen.
    pub rank: Rank,
    /// Its share of that path, in [0, 1].
    pub ratio: f64,
    /// The figures.
    pub evidence: String,
    /// Remedies that may be tried. Only a trial shows what a remedy gains.
    pub remedies: Vec<String>,
}
