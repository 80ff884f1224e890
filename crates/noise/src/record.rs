//! The records of a noise run, as they stand in its result file (docs/formats/mpi-results.md).

use serde::{Deserialize, Serialize};
use statistics::digest::Summary;
use units::Rank;

use super::cause::Cause;
use super::injector::Injected;
use super::plan::{Injection, Method};
use super::spectrum::Peak;
use super::train::Train;

/// Kinds of records.
pub mod kind {
    /// [`super::Allreduce`].
    pub const ALLREDUCE: &str = "noise.allreduce";
    /// [`super::Part`].
    pub const PART: &str = "noise.part";
    /// [`super::Late`].
    pub const LATE: &str = "noise.late";
    /// [`super::RankTimes`].
    pub const RANK: &str = "noise.rank";
    /// [`super::NodeLate`].
    pub const NODE: &str = "noise.node";
    /// [`super::Core`].
    pub const CORE: &str = "noise.core";
    /// [`super::CauseShare`].
    pub const CAUSE: &str = "noise.cause";
    /// [`super::DetourSeen`].
    pub const DETOUR: &str = "noise.detour";
    /// [`super::Envelope`].
    pub const ENVELOPE: &str = "noise.envelope";
    /// [`super::SpectrumSeen`].
    pub const SPECTRUM: &str = "noise.spectrum";
    /// [`super::TrainSeen`].
    pub const TRAIN: &str = "noise.train";
    /// [`super::InjectedNoise`].
    pub const INJECTED: &str = "noise.injected";
    /// [`super::Note`].
    pub const NOTE: &str = "noise.note";
}

/// Length of an allreduce when nothing is computed between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allreduce {
    /// Mean over all ranks and calls, in nanoseconds.
    pub mean_ns: f64,
    /// The middle rank's median, in nanoseconds.
    pub median_ns: f64,
    /// Calls that were timed.
    pub n_calls: u64,
}

/// One part of a run: iterations of the same work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The work as asked for: `1ms`, `allreduce`.
    pub work: String,
    /// Calibrated length of the work, in nanoseconds.
    pub work_ns: u64,
    /// Iterations made.
    pub n_iterations: u64,
    /// Time of all iterations, in the mean over ranks, in nanoseconds.
    pub run_ns: u64,
    /// Time that it was to take, in nanoseconds.
    pub target_ns: u64,
    /// Whether it ended because no more iterations are kept.
    pub is_cut: bool,
    /// Share by which the work took longer, or shorter when negative, when it was calibrated again, on the rank where
    /// that was worst.
    pub drift_ratio: f64,
    /// Times that were longer than the 4.29 s that are kept.
    pub n_saturated: u64,
    /// Whether there was no allreduce after the work, so that no rank waited for another.
    #[serde(default)]
    pub is_apart: bool,
}

impl Part {
    /// Returns the rows that its iterations consist of.
    pub fn rows(&self) -> impl Iterator<Item = Row> + use<> {
        let is_apart = self.is_apart;
        Row::ALL.into_iter().filter(move |row| !is_apart || *row != Row::Communication)
    }
}

/// Component of an iteration that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// The fixed work.
    Computation,
    /// The allreduce.
    Communication,
    /// Both.
    Iteration,
}

/// A row of Table 14 under one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// The work of the part.
    pub work: String,
    /// The component whose times are counted.
    pub row: Row,
    /// Mean over all ranks and iterations, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of the same, in nanoseconds.
    pub deviation_ns: f64,
    /// Excess of a rank's time over its own median that makes the time late, in nanoseconds.
    pub threshold_ns: f64,
    /// Whether that is the mean latency of an allreduce.
    pub is_allreduce: bool,
    /// Iterations in which at least one rank's time was late.
    pub n_late: u64,
    /// Their share.
    pub late_ratio: f64,
    /// Time that ranks took for these iterations beyond their medians, in the mean over ranks, in nanoseconds.
    /// Of whole iterations only: what one rank loses in the one part, others do in the other.
    pub lost_ns: Option<f64>,
    /// Lost time by the time of the run.
    pub lost_ratio: Option<f64>,
}

/// One rank's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// The work of the part.
    pub work: String,
    /// The rank.
    pub rank: Rank,
    /// The host on which the rank ran.
    pub host: String,
    /// Times of the fixed work.
    pub computation: Summary,
    /// Times of the allreduce.
    pub communication: Summary,
    /// Times of both.
    pub iteration: Summary,
    /// Exact medians, which lateness is told from, in nanoseconds.
    pub medians_ns: [f64; 3],
    /// Share by which the work took longer when it was calibrated again, at the worst.
    pub drift_ratio: f64,
    /// Share of the part in which the rank was ready to run, and others had its core; `None` where the kernel does not
    /// tell.
    pub waited_ratio: Option<f64>,
}

/// Late iterations of one host: those in which at least one of its ranks was late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLate {
    /// The work of the part.
    pub work: String,
    /// The host.
    pub host: String,
    /// Ranks on it.
    pub n_ranks: u32,
    /// The component whose times are counted.
    pub row: Row,
    /// Threshold, in nanoseconds.
    pub threshold_ns: f64,
    /// Late iterations.
    pub n_late: u64,
}

/// Results of one core by one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// The core.
    pub cpu: u32,
    /// Method by which the core was watched.
    pub method: Method,
    /// Length of a quantum, in nanoseconds.
    pub quantum_ns: f64,
    /// Quanta measured.
    pub n_quanta: u64,
    /// Time that an undisturbed quantum took, or lost, in nanoseconds.
    pub centre_ns: f64,
    /// Standard deviation of that, in nanoseconds.
    pub spread_ns: f64,
    /// The shortest detour that was told, in nanoseconds.
    pub limit_ns: f64,
    /// Limit below which the clock or the unit of work resolves nothing, in nanoseconds.
    pub clock_limit_ns: f64,
    /// Time in quanta, in nanoseconds.
    pub observed_ns: u64,
    /// Time between quanta in which counters were read, in nanoseconds.
    pub blind_ns: u64,
    /// Detours.
    pub n_detours: u64,
    /// Time they took, in nanoseconds.
    pub lost_ns: f64,
    /// Lost time by the time in quanta.
    pub lost_ratio: f64,
    /// Detours in a second of quanta.
    pub detours_per_sec: f64,
    /// Their lengths.
    pub lengths: Summary,
    /// Share of quanta in stretches where the core worked more slowly, for whatever reason.
    pub slow_ratio: f64,
    /// Time that those stretches cost, in nanoseconds; no part of `lost_ns`.
    pub slow_ns: f64,
    /// Reason why detours cannot be measured; the figures on them are then 0.
    pub not_measurable: Option<String>,
}

/// Detours of one cause on one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// The core.
    pub cpu: u32,
    /// The cause of the lost time.
    pub cause: Cause,
    /// Detours.
    pub n_detours: u64,
    /// Time they took, in nanoseconds.
    pub lost_ns: f64,
    /// The commonest evidence, with how often it was there.
    pub evidence: Vec<(String, u64)>,
}

/// One detour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetourSeen {
    /// The core.
    pub cpu: u32,
    /// Start of its quantum, in nanoseconds since the run began.
    pub at_ns: u64,
    /// Length of the detour, in nanoseconds.
    pub length_ns: f64,
    /// The cause of the lost time.
    pub cause: Cause,
    /// Evidence for the cause.
    pub evidence: Vec<String>,
    /// Time from the last reading of the counters to the detour's end, in nanoseconds: the counts are of that time.
    /// 0 if events of the kernel were traced, or the counters were not read.
    pub window_ns: u64,
}

/// Lengths of quanta over time, in a few hundred stretches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// `core 0, fixed-work` or `work 1ms, latest rank`.
    pub name: String,
    /// Quantity that is shown, with its unit.
    pub what: String,
    /// Middle of each stretch in seconds; the shortest and the longest in it, in nanoseconds.
    pub points: Vec<(f64, f64, f64)>,
}

/// Distribution of lost time over frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpectrumSeen {
    /// The core.
    pub cpu: u32,
    /// Method by which the core was watched.
    pub method: Method,
    /// Step of the series that was transformed, in nanoseconds.
    pub step_ns: f64,
    /// Hertz, and squared nanoseconds lost per step.
    pub points: Vec<(f64, f64)>,
    /// Paces that stand out.
    pub peaks: Vec<Peak>,
}

/// Detours at even distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSeen {
    /// The place: `core 0` or `rank 3, work 1ms`.
    pub place: String,
    /// The train.
    pub train: Train,
}

/// Noise that was made, and whether it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InjectedNoise {
    /// The place: `core 0` or `rank 3, work 1ms`.
    pub place: String,
    /// Length of a pulse, as asked for, in nanoseconds.
    pub length_ns: u64,
    /// Time from one pulse to the next, as asked for, in nanoseconds.
    pub period_ns: u64,
    /// The noise that was made.
    pub injected: Injected,
    /// The train that is nearest to it, when it was found at all.
    pub recovered: Option<Recovered>,
}

/// Errors of the recovered noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// The train's period by what was asked for, less 1.
    pub period_error_ratio: f64,
    /// The train's length by what was asked for, less 1.
    pub length_error_ratio: f64,
}

/// Note that is needed to read the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// A sentence.
    pub text: String,
}

impl Row {
    /// All, as in Table 14.
    pub const ALL: [Self; 3] = [Self::Computation, Self::Communication, Self::Iteration];

    /// Returns the name that people use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
            Self::Iteration => "iteration",
        }
    }
}

impl InjectedNoise {
    /// Compares the noise with the train, of those found at the place, whose period and length are nearest to what was
    /// asked for, if both are within a factor of two.
    #[must_use]
    pub fn among(trains: &[Train], place: String, asked: Injection, injected: Injected) -> Self {
        let (period_ns, length_ns) = (asked.period.as_nanos() as u64, asked.length.as_nanos() as u64);
        let of_train = |train: &Train| Recovered {
            period_error_ratio: train.period.value_ns / period_ns as f64 - 1.0,
            length_error_ratio: train.length.value_ns / length_ns as f64 - 1.0,
        };
        let far = |recovered: &Recovered| {
            (1.0 + recovered.period_error_ratio).ln().abs().max((1.0 + recovered.length_error_ratio).ln().abs())
        };
        let near = trains
            .iter()
            .filter(|_| injected.n_pulses > 0)
            .map(of_train)
            .filter(|recovered| far(recovered) < std::f64::consts::LN_2);
        let recovered = near.min_by(|a, b| far(a).total_cmp(&far(b)));
        Self { place, length_ns, period_ns, injected, recovered }
    }
}
