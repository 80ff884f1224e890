//! Phases of a program, as it marks them by `MPI_Pcontrol`.

use serde::{Deserialize, Serialize};

use crate::RankWait;
use crate::record::SweepRun;

/// Totals of one rank in a phase: all stretches after a call of `MPI_Pcontrol` with one level, up to the next call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseTotals {
    /// Level with which the phase begins; none before the first call.
    pub level: Option<i64>,
    /// Wall time.
    pub run_seconds: f64,
    /// Time in which the rank was blocked in MPI.
    pub blocked_seconds: f64,
    /// User time.
    pub user_seconds: f64,
    /// System time.
    pub system_seconds: f64,
    /// Time in which the rank was ready to run and had no core, if the kernel counts it.
    pub ready_seconds: Option<f64>,
    /// Time that the hypervisor took from all cores of the host, if the kernel counts it.
    pub stolen_seconds: Option<f64>,
    /// Seconds for which 0, 1, 2 … ranks of the host could compute, if this rank reports them.
    pub tlp_seconds: Option<Vec<f64>>,
}

/// Returns the phases between marks, each with the totals up to it, and the end; none without marks.
pub(crate) fn phases(marks: &[(i64, PhaseTotals)], end: &PhaseTotals) -> Vec<PhaseTotals> {
    let Some((_, first)) = marks.first() else { return Vec::new() };
    let mut found = vec![first.clone()];
    let ends = marks.iter().skip(1).map(|(_, totals)| totals).chain([end]);
    for ((level, begin), end) in marks.iter().zip(ends) {
        let stretch = end.combined(begin, |end, begin| end - begin);
        match found.iter_mut().find(|phase| phase.level == Some(*level)) {
            Some(known) => *known = known.combined(&stretch, |known, stretch| known + stretch),
            None => found.push(PhaseTotals { level: Some(*level), ..stretch }),
        }
    }
    found
}

impl PhaseTotals {
    /// Combines each total with that of another; a total that either lacks is not known.
    fn combined(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let known = |a: Option<f64>, b: Option<f64>| Some(combine(a?, b?));
        let tlp = self.tlp_seconds.as_ref().zip(other.tlp_seconds.as_ref());
        Self {
            level: self.level,
            run_seconds: combine(self.run_seconds, other.run_seconds),
            blocked_seconds: combine(self.blocked_seconds, other.blocked_seconds),
            user_seconds: combine(self.user_seconds, other.user_seconds),
            system_seconds: combine(self.system_seconds, other.system_seconds),
            ready_seconds: known(self.ready_seconds, other.ready_seconds),
            stolen_seconds: known(self.stolen_seconds, other.stolen_seconds),
            tlp_seconds: tlp.map(|(a, b)| a.iter().zip(b).map(|(a, b)| combine(*a, *b)).collect()),
        }
    }
}

impl SweepRun {
    /// Returns the levels of the phases that all ranks have, in their order.
    #[must_use]
    pub fn phase_levels(&self) -> Vec<Option<i64>> {
        let Some(first) = self.ranks.first() else { return Vec::new() };
        let has = |rank: &RankWait, level| rank.phases.iter().any(|phase| phase.level == level);
        let levels = first.phases.iter().map(|phase| phase.level);
        levels.filter(|level| self.ranks.iter().all(|rank| has(rank, *level))).collect()
    }

    /// Returns the run as if it were one phase only. Calls are not known by phase.
    #[must_use]
    pub fn in_phase(&self, level: Option<i64>) -> Self {
        let rank = |rank: &RankWait| {
            let phase = rank.phases.iter().find(|phase| phase.level == level)?.clone();
            Some(RankWait {
                run_seconds: phase.run_seconds,
                blocked_seconds: phase.blocked_seconds,
                call_seconds: f64::NAN,
                user_seconds: phase.user_seconds,
                system_seconds: phase.system_seconds,
                ready_seconds: phase.ready_seconds,
                stolen_seconds: phase.stolen_seconds,
                tlp_seconds: phase.tlp_seconds,
                phases: Vec::new(),
                ..rank.clone()
            })
        };
        let ranks = self.ranks.iter().filter_map(rank).collect();
        Self { ranks, calls: Vec::new(), ..self.clone() }
    }
}
