//! The best time of several runs: what other programs on the machine take away only ever makes a run longer.

use std::hint::black_box;

const N_RUNS: usize = 7;

/// A run is made of as many calls as take this long, so that the clock's own cost does not count.
const RUN_SECONDS_MIN: f64 = 0.05;

/// Seconds that one call takes.
pub fn best_seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut n_calls = 1_u32;
    loop {
        let seconds = seconds_of(n_calls, &mut work);
        if seconds >= RUN_SECONDS_MIN {
            let further = (1..N_RUNS).map(|_| seconds_of(n_calls, &mut work));
            return further.fold(seconds, f64::min) / f64::from(n_calls);
        }
        n_calls *= 2;
    }
}

fn seconds_of<T>(n_calls: u32, work: &mut impl FnMut() -> T) -> f64 {
    let start = clock::instant();
    (0..n_calls).for_each(|_| drop(black_box(work())));
    start.elapsed().as_secs_f64()
}
