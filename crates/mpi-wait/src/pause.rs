//! Waiting until a test succeeds, with the core given up in between.

use std::time::Duration;

use clock::monotonic_ns;
use mpi_trace::{WaitMode, WaitState};

use crate::bell::{RankBell, WokenBy};
use crate::job::WaitJob;
use crate::wake::EnteredCall;

/// Time for which a rank with a core of its own tests, and yields to others, before it sleeps. Waking a sleeper takes
/// 10 to 50 us, a tenth of it.
const SPIN_NS: u64 = 500_000;
/// Number of tests of ranks that share cores: whoever is waited for may be waiting for this very core.
const N_TESTS_CROWDED: u32 = 4;
/// Number of times that a rank yields its core before it sleeps.
const N_YIELDS: u32 = 2;
/// First and last limit of a sleep, which is to end by a ring, and the factor between one limit and the next: 31 ranks
/// that wait in vain wake 62 times a second by the last, which takes 0.3 % of a core.
const SLEEP_MIN: Duration = Duration::from_millis(1);
const SLEEP_MAX: Duration = Duration::from_millis(500);
const SLEEP_FACTOR: u32 = 4;
/// The same if a message from another host may end the wait, of which nobody rings.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(1);
const NAP_FACTOR: u32 = 2;
/// Hints that a rank gives for each stage once all members have come to a collective call. Long messages go in pieces,
/// each of which is a stage.
const N_HINTS_TOGETHER: u32 = 8;
/// Ranks that a hint wakes, each of which hints in turn, and that a rank wakes when it leaves the call. If all were
/// woken, a barrier of 32 ranks on two cores would take thousands of switches.
const N_RUNG: usize = 2;
const N_RUNG_LAST: usize = 4;

/// A wait.
pub(crate) struct BlockedCall<'a> {
    /// The rank's state meanwhile.
    pub(crate) state: WaitState,
    /// Whether a rank that does not ring may end it.
    pub(crate) is_far: bool,
    pub(crate) entered: Option<EnteredCall<'a>>,
}

/// A stretch of time in which this rank counts as blocked.
pub(crate) struct BlockedStretch<'a> {
    job: &'a WaitJob,
    began_ns: u64,
}

impl<'a> BlockedStretch<'a> {
    pub(crate) fn begin(job: &'a WaitJob, state: WaitState) -> Self {
        let began_ns = monotonic_ns();
        if let Some(page) = job.own_page() {
            page.set_state(job.members.own, state);
            page.count(false, began_ns);
        }
        Self { job, began_ns }
    }

    /// Returns for how long the rank was blocked.
    pub(crate) fn end(self) -> u64 {
        let now = monotonic_ns();
        let blocked_ns = now.saturating_sub(self.began_ns);
        if let Some(page) = self.job.own_page() {
            page.count(true, now);
            page.set_state(self.job.members.own, WaitState::RUNNING);
            page.add_blocked(self.job.members.own, blocked_ns);
        }
        blocked_ns
    }
}

/// Waits until a test succeeds, and returns for how long the rank was blocked.
pub(crate) fn until(job: &WaitJob, waiting: &BlockedCall<'_>, mut test: impl FnMut() -> bool) -> u64 {
    let mut blocked_ns = 0;
    if !test() {
        let blocked = BlockedStretch::begin(job, waiting.state);
        match job.mode {
            WaitMode::Block => sleep_until(job, waiting, &mut test),
            _ => {
                while !test() {
                    std::thread::yield_now();
                }
            }
        }
        blocked_ns = blocked.end();
    }
    if let Some(entered) = waiting.entered.filter(|_| job.mode == WaitMode::Block) {
        // Its last messages of this call are sent now.
        job.ring_next(&entered, N_RUNG_LAST);
    }
    blocked_ns
}

fn sleep_until(job: &WaitJob, waiting: &BlockedCall<'_>, test: &mut dyn FnMut() -> bool) {
    if spin(job, test) {
        return;
    }
    // Another thread than the first has no bell.
    let bell = job.own_page().map(|page| RankBell::of(&page, job.members.own));
    let mut limit = if waiting.is_far || bell.is_none() { Limit::NAP } else { Limit::SLEEP };
    let mut hints = waiting.entered.map(|entered| Hints::new(job, entered));
    let mut woken = WokenBy::Timeout;
    loop {
        if let Some(bell) = bell {
            let armed = bell.arm();
            if test() {
                return;
            }
            if let Some(hints) = &mut hints
                && hints.give(woken)
            {
                limit = limit.min(Limit::NAP);
            }
            woken = armed.sleep(limit.now);
        } else {
            clock::sleep(limit.now);
        }
        if test() {
            return;
        }
        if woken == WokenBy::Timeout {
            limit = limit.grown();
        } else if hints.is_some() && yield_for(N_YIELDS, test) {
            return;
        }
    }
}

/// The limit of a sleep, which grows.
#[derive(Clone, Copy)]
struct Limit {
    now: Duration,
    max: Duration,
    factor: u32,
}

impl Limit {
    const SLEEP: Self = Self { now: SLEEP_MIN, max: SLEEP_MAX, factor: SLEEP_FACTOR };
    const NAP: Self = Self { now: NAP_MIN, max: NAP_MAX, factor: NAP_FACTOR };

    fn grown(self) -> Self {
        Self { now: (self.now * self.factor).min(self.max), ..self }
    }

    /// Returns the one that does not grow as far.
    fn min(self, other: Self) -> Self {
        if self.max <= other.max { self } else { other }
    }
}

/// Rings in a collective call, which has stages: what this rank has sent in its tests may be what another one sleeps
/// for, and nobody sees what that was.
struct Hints<'a> {
    job: &'a WaitJob,
    entered: EnteredCall<'a>,
    /// Whether all members have come, so that none has anything else to do before the data are through.
    is_about_to_pass: bool,
    n_left: u32,
}

impl<'a> Hints<'a> {
    fn new(job: &'a WaitJob, entered: EnteredCall<'a>) -> Self {
        let n_left = n_stages(entered.communicator.others.len());
        Self { job, entered, is_about_to_pass: false, n_left }
    }

    /// Rings other members before a sleep, a limited number of times, because ranks that wait for a late one would keep
    /// each other awake. Until all have come, only ranks that were rung ring in turn. Returns whether all have come.
    fn give(&mut self, woken: WokenBy) -> bool {
        if !self.is_about_to_pass && self.job.is_about_to_pass(&self.entered) {
            self.is_about_to_pass = true;
            self.n_left = N_HINTS_TOGETHER * n_stages(self.entered.communicator.others.len());
        }
        if self.n_left > 0 && (self.is_about_to_pass || woken == WokenBy::Rung) {
            self.n_left -= 1;
            self.job.ring_next(&self.entered, N_RUNG);
        }
        self.is_about_to_pass
    }
}

/// Tests for a moment, and returns whether a test succeeded.
fn spin(job: &WaitJob, test: &mut dyn FnMut() -> bool) -> bool {
    if job.is_crowded {
        return (0..N_TESTS_CROWDED).any(|_| test()) || yield_for(N_YIELDS, test);
    }
    // Processes of others may want the core, among them those that this rank waits for.
    let until_ns = monotonic_ns() + SPIN_NS;
    while monotonic_ns() < until_ns {
        if yield_for(1, test) {
            return true;
        }
    }
    false
}

/// Yields the core so many times, and returns whether a test after that succeeded.
fn yield_for(n: u32, test: &mut dyn FnMut() -> bool) -> bool {
    (0..n).any(|_| {
        std::thread::yield_now();
        test()
    })
}

/// Returns the number of stages in which as many other ranks take part in a call, and one more for the way back.
fn n_stages(n_others: usize) -> u32 {
    n_others.checked_ilog2().map_or(0, |stages| stages + 2)
}
