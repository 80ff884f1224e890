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

/// How long an allreduce takes when nothing is computed between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allreduce {
    /// Over all ranks and calls, in nanoseconds.
    pub mean_ns: f64,
    /// The middle rank's median, in nanoseconds.
    pub median_ns: f64,
    /// Calls that were timed.
    pub n_calls: u64,
}

/// One part of a run: iterations of the same work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// As asked for: `1ms`, `allreduce`.
    pub work: String,
    /// Calibrated length of the work, in nanoseconds.
    pub work_ns: u64,
    /// Iterations made.
    pub n_iterations: u64,
    /// Time of all iterations, in the mean over ranks, in nanoseconds.
    pub run_ns: u64,
    /// How long it was to take, in nanoseconds.
    pub target_ns: u64,
    /// Whether it ended because no more iterations are kept.
    pub is_cut: bool,
    /// By what share the work took longer, or shorter when negative, when it was calibrated again on the rank where that was worst.
    pub drift_ratio: f64,
    /// Times that were longer than the 4.29 s that are kept.
    pub n_saturated: u64,
    /// Whether there was no allreduce after the work, so that no rank waited for another.
    #[serde(default)]
    pub is_apart: bool,
}

impl Part {
    /// What its iterations consist of.
    pub fn rows(&self) -> impl Iterator<Item = Row> + use<> {
        let is_apart = self.is_apart;
        Row::ALL.into_iter().filter(move |row| !is_apart || *row != Row::Communication)
    }
}

/// What is counted of an iteration.
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
    /// Of which part.
    pub work: String,
    /// Which times.
    pub row: Row,
    /// Over all ranks and iterations, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of the same, in nanoseconds.
    pub deviation_ns: f64,
    /// How far above its own median a rank's time is to be, in nanoseconds.
    pub threshold_ns: f64,
    /// Whether that is the mean latency of an allreduce.
    pub is_allreduce: bool,
    /// Iterations in which at least one rank's was.
    pub n_late: u64,
    /// Their share.
    pub late_ratio: f64,
    /// How much longer than at their medians ranks took for these iterations, in the mean over ranks, in nanoseconds. Of whole
    /// iterations only: what one rank loses in the one part, others do in the other.
    pub lost_ns: Option<f64>,
    /// That by the time of the run.
    pub lost_ratio: Option<f64>,
}

/// One rank's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Of which part.
    pub work: String,
    /// Whose.
    pub rank: Rank,
    /// Where it ran.
    pub host: String,
    /// Of the fixed work.
    pub computation: Summary,
    /// Of the allreduce.
    pub communication: Summary,
    /// Of both.
    pub iteration: Summary,
    /// Exact medians, which lateness is told from, in nanoseconds.
    pub medians_ns: [f64; 3],
    /// By what share the work took longer when it was calibrated again, at the worst.
    pub drift_ratio: f64,
    /// Share of the part in which the rank was ready to run, and others had its core; `None` where the kernel does not tell.
    pub waited_ratio: Option<f64>,
}

/// Late iterations of one host: those in which at least one of its ranks was late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLate {
    /// Of which part.
    pub work: String,
    /// The host.
    pub host: String,
    /// Ranks on it.
    pub n_ranks: u32,
    /// Which times.
    pub row: Row,
    /// In nanoseconds.
    pub threshold_ns: f64,
    /// Late iterations.
    pub n_late: u64,
}

/// What one core showed by one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Which.
    pub cpu: u32,
    /// How it was watched.
    pub method: Method,
    /// In nanoseconds.
    pub quantum_ns: f64,
    /// Quanta measured.
    pub n_quanta: u64,
    /// What an undisturbed quantum took, or lost, in nanoseconds.
    pub centre_ns: f64,
    /// Standard deviation of that, in nanoseconds.
    pub spread_ns: f64,
    /// The shortest detour that was told, in nanoseconds.
    pub limit_ns: f64,
    /// Below this, the clock or the unit of work tells nothing, in nanoseconds.
    pub clock_limit_ns: f64,
    /// Time in quanta, in nanoseconds.
    pub observed_ns: u64,
    /// Time between quanta in which counters were read, in nanoseconds.
    pub blind_ns: u64,
    /// Detours.
    pub n_detours: u64,
    /// Time they took, in nanoseconds.
    pub lost_ns: f64,
    /// That by the time in quanta.
    pub lost_ratio: f64,
    /// Detours in a second of quanta.
    pub detours_per_sec: f64,
    /// Their lengths.
    pub lengths: Summary,
    /// Share of quanta in stretches where the core worked more slowly, for whatever reason.
    pub slow_ratio: f64,
    /// What that cost, in nanoseconds; no part of `lost_ns`.
    pub slow_ns: f64,
    /// Why nothing can be said of detours; the figures on them are then 0.
    pub not_measurable: Option<String>,
}

/// Detours of one cause on one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// Which core.
    pub cpu: u32,
    /// Who took the time.
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
    /// On which core.
    pub cpu: u32,
    /// When its quantum began, in nanoseconds since the run began.
    pub at_ns: u64,
    /// How long it was, in nanoseconds.
    pub length_ns: f64,
    /// Who took the time.
    pub cause: Cause,
    /// What says so.
    pub evidence: Vec<String>,
    /// How long before its end counters were last read, in nanoseconds: what they say is of that time. 0 where events of
    /// the kernel were traced, or nobody looked.
    pub window_ns: u64,
}

/// What quanta took over time, a few hundred stretches of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// `core 0, fixed-work` or `work 1ms, latest rank`.
    pub name: String,
    /// What is shown, with its unit.
    pub what: String,
    /// Middle of each stretch in seconds; the shortest and the longest in it, in nanoseconds.
    pub points: Vec<(f64, f64, f64)>,
}

/// How lost time is spread over frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpectrumSeen {
    /// On which core.
    pub cpu: u32,
    /// How it was watched.
    pub method: Method,
    /// Of the series that was transformed, in nanoseconds.
    pub step_ns: f64,
    /// Hertz, and squared nanoseconds lost per step.
    pub points: Vec<(f64, f64)>,
    /// Paces that stand out.
    pub peaks: Vec<Peak>,
}

/// Detours at even distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSeen {
    /// Where: `core 0` or `rank 3, work 1ms`.
    pub place: String,
    /// What.
    pub train: Train,
}

/// Noise that was made, and whether it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InjectedNoise {
    /// Where: `core 0` or `rank 3, work 1ms`.
    pub place: String,
    /// Of a pulse, as asked for, in nanoseconds.
    pub length_ns: u64,
    /// From one pulse to the next, as asked for, in nanoseconds.
    pub period_ns: u64,
    /// What was made.
    pub injected: Injected,
    /// The train that is nearest to it, when it was found at all.
    pub recovered: Option<Recovered>,
}

/// How well noise was recovered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// The train's period by what was asked for, less 1.
    pub period_error_ratio: f64,
    /// The train's length by what was asked for, less 1.
    pub length_error_ratio: f64,
}

/// What is to be known to read the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// A sentence.
    pub text: String,
}

impl Row {
    /// All, as in Table 14.
    pub const ALL: [Self; 3] = [Self::Computation, Self::Communication, Self::Iteration];

    /// As people call it.
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
    /// With the train, of those found at the place, whose period and length are nearest to what was asked for, if both are within a factor
    /// of two.
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
