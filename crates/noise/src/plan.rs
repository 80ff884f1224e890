//! Plans of runs, as people write them, and the errors in them.
//!
//! Reading does not look at the machine; `check` does, by what it is told of it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mpi_run::ClockQuality;
use serde::{Deserialize, Serialize};
use units::{Rank, span};

/// Quanta or iterations of one rank or core that are kept: at 4 bytes for each quantum, or 8 for each iteration, 16 or
/// 32 MiB.
pub(crate) const N_KEPT_MAX: u64 = 1 << 22;
/// A quantum is at least so many looks at the clock, or steps of it, long; the looks then take no more than a twentieth
/// of it.
const QUANTUM_LOOKS_MIN: f64 = 20.0;
/// Quanta of a run that can be told anything of.
const N_QUANTA_MIN: u128 = 100;
/// The highest number that a core may have.
const CPU_MAX: u32 = 1 << 16;

/// Fixed work between two allreduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A length of time, by calibration.
    Span(Duration),
    /// The mean length of an allreduce.
    Allreduce,
}

/// Noise to be made: `length` of spinning every `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Length of each pulse.
    pub length: Duration,
    /// Time from the beginning of a pulse to that of the next.
    pub period: Duration,
}

/// Method by which a core is watched (Sottile and Minnich 2004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Time that the same work takes, again and again (FWQ).
    FixedWork,
    /// Amount of work that is done in the same time, again and again (FTQ).
    FixedTime,
}

/// A run on all ranks together.
#[derive(Clone, Debug, PartialEq)]
pub struct JointPlan {
    /// One part of the run for each.
    pub works: Vec<Work>,
    /// Length of each part.
    pub time: Duration,
    /// Thresholds, ascending; the mean allreduce latency is always one more.
    pub thresholds: Vec<Duration>,
    /// Noise to be made.
    pub injection: Option<Injection>,
    /// Ranks on which noise is made; all ranks if none is named.
    pub injected_ranks: Vec<Rank>,
    /// Whether ranks only work, without an allreduce.
    pub is_apart: bool,
}

/// A run on the cores of one host, without MPI.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalPlan {
    /// Length of the run; the methods share it evenly.
    pub time: Duration,
    /// Length of a quantum.
    pub quantum: Duration,
    /// Methods, in this order.
    pub methods: Vec<Method>,
    /// Cores, one thread on each.
    pub cpus: Vec<u32>,
    /// Noise to be made on each of them.
    pub injection: Option<Injection>,
    /// Whether kernel events are traced where that is allowed.
    pub is_traced: bool,
}

/// Errors of a plan.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A text that is not a length of time.
    #[error(transparent)]
    Span(#[from] span::SpanError),
    /// A length of time that is zero.
    #[error("{what} is 0: it must be longer")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// Work that does not fit into the run.
    #[error("{what} of {} is longer than the run of {}: lengthen --time or shorten it", span::format(*given), span::format(*time))]
    LongerThanRun {
        /// The item that is too long.
        what: &'static str,
        /// The length of the item.
        given: Duration,
        /// The length of the run.
        time: Duration,
    },
    /// More than is kept.
    #[error(
        "a run of {} in pieces of {} has {n} pieces, but at most {N_KEPT_MAX} are kept: shorten --time or lengthen the pieces",
        span::format(*time), span::format(*piece)
    )]
    TooMany {
        /// The length of the run.
        time: Duration,
        /// Quantum or work.
        piece: Duration,
        /// The number of pieces.
        n: u128,
    },
    /// Too few quanta.
    #[error("a run of {} has {n} quanta of {}, but at least {N_QUANTA_MIN} are needed: lengthen --time or shorten --quantum", span::format(*time), span::format(*quantum))]
    TooFew {
        /// The time of one method.
        time: Duration,
        /// The length of each quantum.
        quantum: Duration,
        /// The number of quanta.
        n: u128,
    },
    /// Thresholds out of order.
    #[error("threshold {} does not exceed the one before it, {}: thresholds must ascend", span::format(*given), span::format(*before))]
    NotAscending {
        /// The one.
        given: Duration,
        /// The other.
        before: Duration,
    },
    /// Noise that is not of the form.
    #[error("`{given}` is not noise that can be made: write its length and its period, as in 100us/10ms")]
    Injection {
        /// The noise as given.
        given: String,
    },
    /// Noise that leaves no time for anything else.
    #[error("noise of {} every {} leaves less than half of the core: its period must be at least twice its length", span::format(*length), span::format(*period))]
    InjectionTooDense {
        /// The length of a pulse.
        length: Duration,
        /// The period of the pulses.
        period: Duration,
    },
    /// A rank that is not there.
    #[error("there is no rank {given} to make noise on: ranks are 0 to {}", n_ranks - 1)]
    NoSuchRank {
        /// The rank as given.
        given: Rank,
        /// The number of ranks.
        n_ranks: u32,
    },
    /// A text that is not a list of cores.
    #[error("`{given}` is not a list of cores: write numbers and ranges, as in 0,2-3")]
    Cpus {
        /// The text as given.
        given: String,
    },
    /// A core that this process may not use.
    #[error("core {given} is not allowed here: this process may run on {}", listed(allowed))]
    CpuNotAllowed {
        /// The core as given.
        given: u32,
        /// All that are.
        allowed: Vec<u32>,
    },
    /// A quantum that the clock cannot tell.
    #[error(
        "a quantum of {} is too short for this clock, whose step is {resolution_ns} ns and whose reading takes {cost_ns:.0} ns: use at least {}",
        span::format(*quantum), span::format(*needed)
    )]
    QuantumTooShort {
        /// The quantum as given.
        quantum: Duration,
        /// Resolution of the clock, in nanoseconds.
        resolution_ns: u64,
        /// Cost of a clock reading, in nanoseconds.
        cost_ns: f64,
        /// The shortest.
        needed: Duration,
    },
}

impl Method {
    /// Returns the name of the method in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FixedWork => "fixed work",
            Self::FixedTime => "fixed time",
        }
    }
}

impl FromStr for Work {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text.trim() {
            "allreduce" => Ok(Self::Allreduce),
            other => Ok(Self::Span(span::parse(other)?)),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Span(length) => f.write_str(&span::format(*length)),
            Self::Allreduce => f.write_str("allreduce"),
        }
    }
}

impl FromStr for Injection {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (length, period) = text.split_once('/').ok_or_else(|| PlanError::Injection { given: text.to_owned() })?;
        Ok(Self { length: span::parse(length)?, period: span::parse(period)? })
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} every {}", span::format(self.length), span::format(self.period))
    }
}

impl Injection {
    fn check(&self, time: Duration) -> Result<(), PlanError> {
        positive("the length of the noise", self.length)?;
        let Self { length, period } = *self;
        if period < 2 * length {
            return Err(PlanError::InjectionTooDense { length, period });
        }
        fits("the period of the noise", period, time)
    }
}

impl JointPlan {
    /// Whether it can be done on so many ranks.
    ///
    /// # Errors
    /// [`PlanError`]: what of it makes no sense.
    pub fn check(&self, n_ranks: u32) -> Result<(), PlanError> {
        positive("--time", self.time)?;
        for work in &self.works {
            let Work::Span(length) = *work else { continue };
            positive("--work", length)?;
            fits("work", length, self.time)?;
            few_enough(self.time, length)?;
        }
        self.thresholds.iter().try_for_each(|threshold| positive("a threshold", *threshold))?;
        if let Some(pair) = self.thresholds.windows(2).find(|pair| pair[1] <= pair[0]) {
            return Err(PlanError::NotAscending { given: pair[1], before: pair[0] });
        }
        if let Some(&given) = self.injected_ranks.iter().find(|&&rank| rank >= n_ranks) {
            return Err(PlanError::NoSuchRank { given, n_ranks });
        }
        self.injection.map_or(Ok(()), |injection| injection.check(self.time))
    }
}

impl LocalPlan {
    /// Returns the length of each method's part.
    #[must_use]
    pub fn time_of_method(&self) -> Duration {
        self.time / u32::try_from(self.methods.len().max(1)).unwrap_or(u32::MAX)
    }

    /// Whether it can be done with these cores and this clock.
    ///
    /// # Errors
    /// [`PlanError`]: what of it makes no sense.
    pub fn check(&self, allowed: &[u32], clock: &ClockQuality) -> Result<(), PlanError> {
        positive("--time", self.time)?;
        positive("--quantum", self.quantum)?;
        let time = self.time_of_method();
        fits("a quantum", self.quantum, time)?;
        few_enough(time, self.quantum)?;
        let n = pieces(time, self.quantum);
        if n < N_QUANTA_MIN {
            return Err(PlanError::TooFew { time, quantum: self.quantum, n });
        }
        let needed =
            Duration::from_nanos((QUANTUM_LOOKS_MIN * (clock.resolution_ns as f64).max(clock.cost_ns)).ceil() as u64);
        if self.quantum < needed {
            let ClockQuality { resolution_ns, cost_ns } = *clock;
            return Err(PlanError::QuantumTooShort { quantum: self.quantum, resolution_ns, cost_ns, needed });
        }
        if let Some(&given) = self.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(PlanError::CpuNotAllowed { given, allowed: allowed.to_vec() });
        }
        self.injection.map_or(Ok(()), |injection| injection.check(time))
    }
}

/// Reads a list of cores as the kernel and people write it: `0,2-3`. Ascending, each once.
///
/// # Errors
/// [`PlanError::Cpus`] for anything else, an empty list and ranges that run backwards among it.
pub fn cpus(text: &str) -> Result<Vec<u32>, PlanError> {
    let wrong = || PlanError::Cpus { given: text.to_owned() };
    let number = |part: &str| part.trim().parse::<u32>().ok().filter(|cpu| *cpu <= CPU_MAX).ok_or_else(wrong);
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn positive(what: &'static str, given: Duration) -> Result<(), PlanError> {
    if given.is_zero() { Err(PlanError::Zero { what }) } else { Ok(()) }
}

fn fits(what: &'static str, given: Duration, time: Duration) -> Result<(), PlanError> {
    if given > time { Err(PlanError::LongerThanRun { what, given, time }) } else { Ok(()) }
}

fn few_enough(time: Duration, piece: Duration) -> Result<(), PlanError> {
    let n = pieces(time, piece);
    if n > u128::from(N_KEPT_MAX) { Err(PlanError::TooMany { time, piece, n }) } else { Ok(()) }
}

fn pieces(time: Duration, piece: Duration) -> u128 {
    time.as_nanos() / piece.as_nanos().max(1)
}

fn listed(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const CLOCK: ClockQuality = ClockQuality { resolution_ns: 20, cost_ns: 25.0 };

    fn joint_plan() -> JointPlan {
        JointPlan {
            works: vec![Work::Span(MS), Work::Allreduce],
            time: 20_000 * MS,
            thresholds: vec![2 * MS, 5 * MS, 10 * MS],
            injection: None,
            injected_ranks: Vec::new(),
            is_apart: false,
        }
    }

    fn local() -> LocalPlan {
        LocalPlan {
            time: 10_000 * MS,
            quantum: MS / 10,
            methods: vec![Method::FixedWork, Method::FixedTime],
            cpus: vec![0],
            injection: None,
            is_traced: true,
        }
    }

    #[track_caller]
    fn check_refused(checked: Result<(), PlanError>, words: &str) {
        let error = checked.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn the_defaults_can_be_done() {
        assert_eq!(joint_plan().check(1), Ok(()));
        assert_eq!(local().check(&[0, 1], &CLOCK), Ok(()));
    }

    #[test]
    fn a_joint_plan_that_makes_no_sense_is_refused_in_words() {
        let injection = |length, period| Some(Injection { length, period });
        check_refused(JointPlan { time: Duration::ZERO, ..joint_plan() }.check(1), "--time is 0");
        check_refused(JointPlan { works: vec![Work::Span(Duration::ZERO)], ..joint_plan() }.check(1), "--work is 0");
        check_refused(
            JointPlan { time: MS / 2, ..joint_plan() }.check(1),
            "work of 1ms is longer than the run of 500us",
        );
        check_refused(JointPlan { works: vec![Work::Span(MS / 1000)], ..joint_plan() }.check(1), "20000000 pieces");
        check_refused(JointPlan { thresholds: vec![5 * MS, 2 * MS], ..joint_plan() }.check(1), "threshold 2ms");
        check_refused(JointPlan { thresholds: vec![5 * MS, 5 * MS], ..joint_plan() }.check(1), "threshold 5ms");
        check_refused(JointPlan { thresholds: vec![Duration::ZERO], ..joint_plan() }.check(1), "a threshold is 0");
        check_refused(JointPlan { injected_ranks: vec![0, 4], ..joint_plan() }.check(4), "no rank 4");
        check_refused(JointPlan { injection: injection(6 * MS, 10 * MS), ..joint_plan() }.check(1), "at least twice");
        check_refused(JointPlan { injection: injection(Duration::ZERO, MS), ..joint_plan() }.check(1), "is 0");
    }

    #[test]
    fn what_makes_no_sense_on_a_host_is_refused_in_words() {
        check_refused(
            LocalPlan { cpus: vec![0, 7], ..local() }.check(&[0, 1], &CLOCK),
            "core 7 is not allowed here: this process may run on 0,1",
        );
        check_refused(
            LocalPlan { quantum: MS / 10_000, time: 10 * MS, ..local() }.check(&[0], &CLOCK),
            "use at least 500ns",
        );
        check_refused(LocalPlan { quantum: MS * 100, ..local() }.check(&[0], &CLOCK), "has 50 quanta");
        check_refused(
            LocalPlan { quantum: MS / 1000, time: 60_000 * MS, ..local() }.check(&[0], &CLOCK),
            "30000000 pieces",
        );
        // The clock whose step is a tick of the timer.
        let tick = ClockQuality { resolution_ns: 4_000_000, cost_ns: 30.0 };
        check_refused(local().check(&[0], &tick), "use at least 80ms");
    }

    #[test]
    fn works_noise_and_cores_are_read_as_people_write_them() {
        assert_eq!("10ms".parse(), Ok(Work::Span(10 * MS)));
        assert_eq!("allreduce".parse(), Ok(Work::Allreduce));
        assert!("-1ms".parse::<Work>().is_err());
        assert_eq!("100us/10ms".parse(), Ok(Injection { length: MS / 10, period: 10 * MS }));
        assert!("100us".parse::<Injection>().unwrap_err().to_string().contains("100us/10ms"));
        assert_eq!(cpus("0,2-3\n"), Ok(vec![0, 2, 3]));
        assert_eq!(cpus("3,1,1-2"), Ok(vec![1, 2, 3]));
        for refused in ["", "a", "3-1", "1,", "0-4294967295", "-1"] {
            assert!(cpus(refused).is_err(), "{refused} was taken");
        }
    }
}
