//! The timer of a mirror: deadlines that do not drift.

use std::time::Duration;

use tokio::time::Instant;

use super::{Core, Handler};

/// The number of ticks that are handled before other work has its turn, if ticks come as often as they can.
const N_IN_A_ROW: u32 = 64;

/// Ticks that are further behind than this are left out: a suspended machine does not make up for a night.
const BEHIND_MAX: Duration = Duration::from_secs(1);

pub(super) async fn run<H: Handler>(core: Core<H>, mut period: Duration) {
    let mut next = Instant::now();
    loop {
        if period.is_zero() {
            core.borrow_mut().work(|handler, outputs| (0..N_IN_A_ROW).for_each(|_| handler.tick(outputs)));
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep_until(next).await;
            let now = Instant::now();
            if now.duration_since(next) > BEHIND_MAX {
                next = now;
            }
            let mut n_due = 0;
            while next <= now && n_due < N_IN_A_ROW {
                next += period;
                n_due += 1;
            }
            core.borrow_mut().work(|handler, outputs| (0..n_due).for_each(|_| handler.tick(outputs)));
        }
        let changed = core.borrow_mut().handler.period();
        if let Some(changed) = changed.filter(|changed| *changed != period) {
            period = changed;
            next = Instant::now() + period;
        }
    }
}
