//! Part of a core that a process started at this moment would get: the formulas of the Network Weather Service.
//!
//! R. Wolski, N. Spring and J. Hayes measure it on one processor in two ways, from what `uptime` and
//! `vmstat` say ("Predicting the CPU availability of time-shared Unix systems", section 2.1). Both count on every task
//! getting the same share. Here both are carried over to any number of cores, where a process with one thread can get
//! at most one core.

use std::time::Duration;

/// Over what time the number of running tasks is averaged.
///
/// The paper smooths over "the previous set of measurements", taken every 10 seconds. A time rather than a
/// number of measurements, so that the value does not depend on how often it is read.
const SMOOTHING: Duration = Duration::from_secs(10);

/// The shares of the time of all cores between two reads: the input of equation (2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    /// Programs: `user` and `nice`.
    pub user: f64,
    /// The kernel: `system`, `irq` and `softirq`.
    pub system: f64,
    /// Nothing: `idle` and `iowait`. Time stolen by the hypervisor is in none of the three.
    pub idle: f64,
}

/// Equation (1): the share of one core for a new process, by the load average.
///
/// The paper has `1 / (load + 1)`: the new process is one of `load + 1` that share one processor. On `n` cores the
/// same tasks share `n`, and one of them cannot use more than one: `min(1, n / (load + 1))`. At `n = 1` the
/// fraction is at most 1, since no load is negative, and the equation is the paper's.
///
/// `load` is the 1-minute load average. Between 0 and 1.
pub(crate) fn by_load(load: f64, n_cores: u32) -> f64 {
    (f64::from(n_cores) / (load + 1.0)).min(1.0)
}

/// Equation (2): the share of one core for a new process, by how the cores' time was spent.
///
/// The paper has `idle + user / (rp + 1) + W * system / (rp + 1)`, where `rp` is a smoothed number of running
/// processes and `W` is the share of user time: the new process gets all that is idle, its fair part of what programs
/// have, and of what the kernel has as much as is shared fairly, which the authors found to be in proportion to user
/// time.
///
/// On `n` cores there are `n` times each share to give away, in cores, to the same `rp + 1` processes, and one
/// process cannot use more than one core: `min(1, n * (…))`. At `n = 1` the sum is at most
/// `idle + user + system`, which is at most 1, and the equation is the paper's.
///
/// Between 0 and 1.
pub(crate) fn by_vmstat(split: Split, n_running: f64, n_cores: u32) -> f64 {
    let Split { user, system, idle } = split;
    let weight = user;
    let n_sharing = n_running + 1.0;
    (f64::from(n_cores) * (idle + user / n_sharing + weight * system / n_sharing)).min(1.0)
}

/// The smoothed number of running processes, `rp` of equation (2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Running {
    last: Option<(Duration, f64)>,
}

impl Running {
    /// The smoothed number once `n_running` tasks were counted `at` this moment.
    ///
    /// Exponential in the elapsed time: a count weighs `1 / e` of what it did [`SMOOTHING`] earlier. The first count
    /// stands for all before it.
    pub(crate) fn smooth(&mut self, at: Duration, n_running: f64) -> f64 {
        let smoothed = match self.last {
            None => n_running,
            Some((last_at, last)) => {
                let elapsed = at.saturating_sub(last_at);
                let kept = (-elapsed.as_secs_f64() / SMOOTHING.as_secs_f64()).exp();
                kept * last + (1.0 - kept) * n_running
            }
        };
        self.last = Some((at, smoothed));
        smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_load(load: f64, n_cores: u32, expected: f64) {
        assert_close(by_load(load, n_cores), expected);
    }

    #[track_caller]
    fn check_vmstat((user, system, idle): (f64, f64, f64), n_running: f64, n_cores: u32, expected: f64) {
        assert_close(by_vmstat(Split { user, system, idle }, n_running, n_cores), expected);
    }

    /// The few roundings of one formula on numbers near 1.
    #[track_caller]
    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-15, "{value}, not {expected}");
    }

    #[test]
    fn equation_1_on_one_core_is_the_paper_s() {
        check_load(0.0, 1, 1.0);
        check_load(1.0, 1, 0.5);
        check_load(3.0, 1, 0.25);
    }

    #[test]
    fn equation_1_on_two_cores() {
        check_load(1.0, 2, 1.0);
        check_load(3.0, 2, 0.5);
        check_load(0.3, 2, 1.0);
    }

    #[test]
    fn equation_1_on_64_cores() {
        check_load(63.0, 64, 1.0);
        check_load(127.0, 64, 0.5);
        check_load(255.0, 64, 0.25);
    }

    #[test]
    fn equation_2_on_one_core_is_the_paper_s() {
        check_vmstat((0.0, 0.0, 1.0), 0.0, 1, 1.0);
        // 0.2 + 0.5 / 2 + 0.5 * 0.3 / 2
        check_vmstat((0.5, 0.3, 0.2), 1.0, 1, 0.525);
        // A gateway: all time in the kernel, and none of it is shared.
        check_vmstat((0.0, 1.0, 0.0), 0.0, 1, 0.0);
    }

    #[test]
    fn equation_2_on_two_cores() {
        // 2 * (0 + 1 / 4): three spinning tasks and the new one share two cores.
        check_vmstat((1.0, 0.0, 0.0), 3.0, 2, 0.5);
        // 2 * (0.1 + 0.6 / 4 + 0.6 * 0.2 / 4), with 0.1 stolen
        check_vmstat((0.6, 0.2, 0.1), 3.0, 2, 0.56);
        // One of two cores is idle, and it is all the new task can use.
        check_vmstat((0.5, 0.0, 0.5), 1.0, 2, 1.0);
    }

    #[test]
    fn equation_2_on_64_cores() {
        check_vmstat((1.0, 0.0, 0.0), 63.0, 64, 1.0);
        check_vmstat((1.0, 0.0, 0.0), 127.0, 64, 0.5);
        // 64 * (0.75 / 128 + 0.75 * 0.25 / 128)
        check_vmstat((0.75, 0.25, 0.0), 127.0, 64, 0.46875);
    }

    #[test]
    fn the_running_are_smoothed_over_ten_seconds() {
        let mut running = Running::default();
        assert_close(running.smooth(Duration::from_secs(100), 4.0), 4.0);
        // 4 / e, ten seconds after the count fell to none.
        assert_close(running.smooth(Duration::from_secs(110), 0.0), 4.0 / std::f64::consts::E);
    }

    #[test]
    fn smoothing_does_not_depend_on_how_often_it_is_read() {
        let (mut often, mut once) = (Running::default(), Running::default());
        often.smooth(Duration::ZERO, 8.0);
        once.smooth(Duration::ZERO, 8.0);
        let last = (1..=50).map(|tick| often.smooth(Duration::from_millis(100 * tick), 2.0)).last();
        // 50 roundings on numbers below 8.
        assert!((last.unwrap() - once.smooth(Duration::from_secs(5), 2.0)).abs() < 1e-13);
    }
}
