//! Counting, for ever or for some CPU time.

use std::{convert::Infallible, hint::black_box, thread, time::Duration};

use rustix::time::{ClockId, clock_gettime};

use crate::{Step, error::Fault};

/// Number of steps counted between two looks at the clock: some microseconds.
const STRIDE: u32 = 2000;

/// Counts in `n_threads` threads, this one included.
pub(super) fn forever(n_threads: usize, ready: impl FnOnce()) -> Result<Infallible, Fault> {
    for _ in 1..n_threads {
        thread::Builder::new().spawn(|| count_for_ever()).map_err(Fault::at(Step::Fork))?;
    }
    ready();
    count_for_ever()
}

fn count_for_ever() -> ! {
    loop {
        count();
    }
}

/// Counts until `clock` shows `until`, or more by less than a stride.
pub(super) fn until(clock: ClockId, until: Duration) {
    while now(clock) < until {
        count();
    }
}

/// Returns the time of a clock of CPU time.
pub(super) fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // The kernel's clocks of CPU time start at zero.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn count() {
    for step in 0..STRIDE {
        black_box(step);
    }
}
