//! Causes of detours, by what the kernel counted.
//!
//! Waiting in the scheduler's queue is measured in nanoseconds and therefore believed when it explains a good part of
//! the detour. A count is believed when it moved by more than it does in as much time without a detour, which readings
//! at random moments tell. The kernel says nothing of how long an interrupt took, so a detour with one is blamed on it,
//! not measured to be of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counter::Lines;

/// A count may move so much by chance once in twenty detours.
const CHANCE: f64 = 0.05;
/// Waiting explains a detour when it is at least this share of it.
const EXPLAINING_RATIO: f64 = 0.25;

/// Cause of lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Another thread had the core.
    Switch,
    /// The hypervisor did not run this core.
    Steal,
    /// An interrupt, or several.
    Interrupt,
    /// The work that interrupts leave to be done after them.
    SoftInterrupt,
    /// None of them as far as the kernel tells.
    Unattributed,
    /// Nobody looked: readings would have taken too much of the time.
    Unread,
}

/// Movement of the counts between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Look {
    /// The detour after which was looked; `None` at a random moment.
    pub detour: Option<usize>,
    /// Time of the reading, in nanoseconds of the run's clock.
    pub at_ns: u64,
    /// Time since the last look ended, in nanoseconds.
    pub window_ns: u64,
    /// Part of that time in which this thread did not run, by its processor time, in nanoseconds.
    pub off_core_ns: u64,
    /// Part of that time in which this thread waited for the core; `None` if the kernel does not report it.
    pub run_delay_ns: Option<u64>,
    /// Number of times that this thread lost the core to another.
    pub involuntary: u64,
    /// Ticks stolen.
    pub steal_ticks: u64,
    /// Interrupts.
    pub interrupts: Lines,
    /// Soft interrupts.
    pub soft_interrupts: Lines,
}

/// Movement of each count without a detour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Usual {
    moves: BTreeMap<(bool, Box<str>), u64>,
    watched_ns: u64,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// The cause.
    pub cause: Cause,
    /// Counts or threads that are the evidence.
    pub evidence: Vec<String>,
}

impl Usual {
    /// Computes the usual movement from the looks without a detour.
    pub(crate) fn of<'a>(looks: impl IntoIterator<Item = &'a Look>) -> Self {
        let mut usual = Self::default();
        for look in looks.into_iter().filter(|look| look.detour.is_none()) {
            usual.watched_ns += look.window_ns;
            let moves = look
                .interrupts
                .iter()
                .map(|line| (false, line))
                .chain(look.soft_interrupts.iter().map(|line| (true, line)));
            for (is_soft, (label, by)) in moves {
                *usual.moves.entry((is_soft, label.clone())).or_default() += by;
            }
        }
        usual
    }

    /// Returns those of `moved` that moved more than in as long a time without a detour; all without any such time.
    fn unusual(&self, is_soft: bool, moved: &[(Box<str>, u64)], window_ns: u64) -> Vec<String> {
        let is_unusual = |label: &str, by: u64| {
            if self.watched_ns == 0 {
                return true;
            }
            let seen = self.moves.get(&(is_soft, Box::from(label))).copied().unwrap_or(0);
            // Half a move more, so that one which was never seen is not held to be impossible.
            let expected = (seen as f64 + 0.5) * window_ns as f64 / self.watched_ns as f64;
            chance_of_at_least(by, expected) < CHANCE
        };
        moved.iter().filter(|(label, by)| is_unusual(label, *by)).map(|(label, _)| label.to_string()).collect()
    }
}

/// Poisson's: that `count` or more happen where `expected` do in the mean.
fn chance_of_at_least(count: u64, expected: f64) -> f64 {
    let mut term = (-expected).exp();
    let mut fewer = 0.0;
    for k in 0..count.min(10_000) {
        fewer += term;
        term *= expected / (k + 1) as f64;
    }
    (1.0 - fewer).max(0.0)
}

impl Verdict {
    /// Judges a detour of `length_ns` by the look right after it.
    ///
    /// `is_interrupt_time_known`: whether the kernel takes interrupts out of a thread's processor time, so that time
    /// off the core is not only stolen.
    #[must_use]
    pub(crate) fn of(look: &Look, length_ns: f64, usual: &Usual, is_interrupt_time_known: bool) -> Self {
        let explaining = EXPLAINING_RATIO * length_ns;
        let waited = look.run_delay_ns.unwrap_or(look.off_core_ns) as f64;
        if look.involuntary > 0 && waited >= explaining
            || look.run_delay_ns.is_some_and(|delay| delay as f64 >= explaining)
        {
            return Self::by(Cause::Switch, [format!("waited {:.1} us for the core", waited / 1e3)]);
        }
        if look.steal_ticks > 0 {
            return Self::by(Cause::Steal, [format!("{} stolen ticks", look.steal_ticks)]);
        }
        let off_core = look.off_core_ns.saturating_sub(look.run_delay_ns.unwrap_or(0)) as f64;
        if off_core >= explaining && look.involuntary == 0 && !is_interrupt_time_known {
            return Self::by(
                Cause::Steal,
                [format!("off the core for {:.1} us without another thread", off_core / 1e3)],
            );
        }
        let soft = usual.unusual(true, &look.soft_interrupts, look.window_ns);
        let hard = usual.unusual(false, &look.interrupts, look.window_ns);
        match (soft.is_empty(), hard.is_empty()) {
            (false, _) => Self::by(Cause::SoftInterrupt, soft.into_iter().chain(hard)),
            (true, false) => Self::by(Cause::Interrupt, hard),
            (true, true) => Self::by(Cause::Unattributed, []),
        }
    }

    /// Builds a verdict from a cause and its evidence.
    pub(crate) fn by(cause: Cause, evidence: impl IntoIterator<Item = String>) -> Self {
        Self { cause, evidence: evidence.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ticking(detour: Option<usize>, window_ns: u64, n_ticks: u64) -> Look {
        Look { detour, window_ns, run_delay_ns: Some(0), interrupts: vec![("LOC".into(), n_ticks)], ..Look::default() }
    }

    fn verdict(look: &Look, usual: &Usual) -> Cause {
        Verdict::of(look, 50_000.0, usual, false).cause
    }

    #[test]
    fn a_tick_that_comes_anyway_explains_nothing() {
        // Every 4 ms, with a detour or without.
        let controls: Vec<Look> = (0..50).map(|_| ticking(None, 8 * MS, 2)).collect();
        let usual = Usual::of(&controls);
        assert_eq!(verdict(&ticking(Some(1), 8 * MS, 2), &usual), Cause::Unattributed);
        assert_eq!(verdict(&ticking(Some(1), 8 * MS, 9), &usual), Cause::Interrupt);
    }

    #[test]
    fn a_tick_that_comes_with_detours_only_explains_them() {
        let controls: Vec<Look> = (0..50).map(|_| Look { interrupts: vec![], ..ticking(None, 2 * MS, 0) }).collect();
        let usual = Usual::of(&controls);
        assert_eq!(verdict(&ticking(Some(1), 4 * MS, 1), &usual), Cause::Interrupt);
        let mut soft = ticking(Some(1), 4 * MS, 1);
        soft.soft_interrupts = vec![("TIMER".into(), 1)];
        let told = Verdict::of(&soft, 50_000.0, &usual, false);
        assert_eq!((told.cause, told.evidence), (Cause::SoftInterrupt, vec!["TIMER".to_owned(), "LOC".to_owned()]));
        assert_eq!(verdict(&ticking(Some(1), MS, 1), &Usual::default()), Cause::Interrupt);
    }

    #[test]
    fn waiting_for_the_core_is_a_switch() {
        let look = Look { run_delay_ns: Some(48_000), off_core_ns: 49_000, involuntary: 1, ..ticking(Some(0), MS, 1) };
        assert_eq!(verdict(&look, &Usual::default()), Cause::Switch);
        let untold = Look { run_delay_ns: None, ..look.clone() };
        assert_eq!(verdict(&untold, &Usual::default()), Cause::Switch);
        // A wait that is too short for the detour is not its cause.
        let short = Look { run_delay_ns: Some(2_000), off_core_ns: 2_000, ..look };
        assert_eq!(verdict(&short, &Usual::default()), Cause::Interrupt);
    }

    #[test]
    fn time_off_the_core_without_another_thread_is_stolen_unless_interrupts_are_taken_out_of_it() {
        let look = Look { off_core_ns: 50_000, ..ticking(Some(0), MS, 1) };
        assert_eq!(verdict(&look, &Usual::default()), Cause::Steal);
        assert_eq!(Verdict::of(&look, 50_000.0, &Usual::default(), true).cause, Cause::Interrupt);
        let ticks = Look { steal_ticks: 2, ..ticking(Some(0), MS, 0) };
        assert_eq!(verdict(&ticks, &Usual::default()), Cause::Steal);
    }

    #[test]
    fn chances_are_poissons() {
        // R: ppois(c(0, 2), c(1, 1), lower.tail = FALSE) gives 0.6321206, 0.0803014.
        assert!((chance_of_at_least(1, 1.0) - 0.632_120_6).abs() < 1e-7);
        assert!((chance_of_at_least(3, 1.0) - 0.080_301_4).abs() < 1e-7);
        assert_eq!(chance_of_at_least(0, 5.0), 1.0);
    }
}
