//! Waiting until a test succeeds, with the core given up in between.

use std::time::Duration;

use clock::monotonic_ns;
use mpi_trace::{WaitMode, WaitState};

use crate::bell::{RankBell, WokenBy};
use crate::job::WaitJob;
use crate::wake::EnteredCall;

/// Number of tests before a rank with a core of its own sleeps; about 20 us. Waking a sleeper takes as long.
const N_TESTS: u32 = 100;
/// The same for ranks that share cores: whoever is waited for may be waiting for this very core.
const N_TESTS_CROWDED: u32 = 4;
/// Number of times that a rank yields its core before it sleeps, and in a collective call after it was rung: all
/// members are about to pass it then, in several stages.
const N_YIELDS: u32 = 2;
const N_YIELDS_TOGETHER: u32 = 50;
/// First and last limit of a sleep, which is to end by a ring: 31 ranks that wait in vain take 0.3 % of a core by the
/// last.
const SLEEP_MIN: Duration = Duration::from_millis(1);
const SLEEP_MAX: Duration = Duration::from_millis(64);
/// The same if a message from another host may end the wait, of which nobody rings.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(1);

/// A wait.
pub(crate) struct RankWait<'a> {
    /// The rank's state meanwhile.
    pub(crate) state: WaitState,
    /// Whether a rank that does not ring may end it.
    pub(crate) is_far: bool,
    pub(crate) entered: Option<EnteredCall<'a>>,
    /// Whether all members of the collective call are about to pass it.
    pub(crate) is_together: bool,
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
pub(crate) fn until(job: &WaitJob, waiting: &RankWait<'_>, mut test: impl FnMut() -> bool) -> u64 {
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
        job.ring_in_collective(&entered);
    }
    blocked_ns
}

fn sleep_until(job: &WaitJob, waiting: &RankWait<'_>, test: &mut dyn FnMut() -> bool) {
    let n_tests = if job.is_crowded { N_TESTS_CROWDED } else { N_TESTS };
    for _ in 0..n_tests {
        if test() {
            return;
        }
        std::hint::spin_loop();
    }
    // Another thread than the first has no bell.
    let bell = job.own_page().map(|page| RankBell::of(&page, job.members.own));
    let is_far = waiting.is_far || bell.is_none();
    let (mut limit, limit_max) = if is_far { (NAP_MIN, NAP_MAX) } else { (SLEEP_MIN, SLEEP_MAX) };
    let mut n_yields = if waiting.is_together { N_YIELDS_TOGETHER } else { N_YIELDS };
    let mut n_hints = waiting.entered.map_or(0, |entered| n_stages(entered.communicator.others.len()));
    loop {
        for _ in 0..n_yields {
            std::thread::yield_now();
            if test() {
                return;
            }
        }
        let woken = match bell {
            Some(bell) => {
                let armed = bell.arm();
                if test() {
                    return;
                }
                armed.sleep(limit)
            }
            None => {
                clock::sleep(limit);
                WokenBy::Timeout
            }
        };
        if test() {
            return;
        }
        n_yields = 0;
        if woken == WokenBy::Timeout {
            limit = (limit * 2).min(limit_max);
        } else if let Some(entered) = &waiting.entered
            && n_hints > 0
        {
            // The call has stages. What this rank has just sent may be what another one sleeps for.
            n_hints -= 1;
            n_yields = N_YIELDS_TOGETHER;
            job.ring_in_collective(entered);
        }
    }
}

/// Returns the number of stages in which as many other ranks take part in a call, and one more for the way back.
fn n_stages(n_others: usize) -> u32 {
    n_others.checked_ilog2().map_or(0, |stages| stages + 2)
}
