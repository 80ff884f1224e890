//! Work and sleep in turns, as somebody's editor or shell has them.

use std::{convert::Infallible, time::Duration};

use rustix::time::ClockId;

use super::spin;
use crate::{chance::Chance, error::Fault};

/// Mean time that a burst takes of a core.
const WORK: Duration = Duration::from_millis(30);
/// Mean length of the sleep after it.
const REST: Duration = Duration::from_millis(30);

/// Both lengths are exponentially distributed. Work is measured in CPU time, so that it is the same when others run.
pub(super) fn forever(mut chance: Chance, ready: impl FnOnce()) -> Result<Infallible, Fault> {
    ready();
    loop {
        let start = spin::now(ClockId::ThreadCPUTime);
        spin::until(ClockId::ThreadCPUTime, start + chance.around(WORK));
        clock::sleep(chance.around(REST));
    }
}
