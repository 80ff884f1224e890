//! One task as the scheduler sees it: `stat` and `schedstat` of a process or thread.
//!
//! Formats: [`TaskStat`], and `Documentation/scheduler/sched-stats.rst`.

use crate::file::{fields, number};
use crate::task_stat::TaskStat;

use super::model::FULL_WEIGHT;

/// The kernel's weight of each nice level, -20 first: `sched_prio_to_weight` of `kernel/sched/core.c`. Two levels that
/// follow each other are as 1.25 to 1.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, //
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, //
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, //
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a task that runs only when nothing else does, and of a group of such: `WEIGHT_IDLEPRIO`.
pub(crate) const IDLE_WEIGHT: f64 = 3.0;

/// `include/uapi/linux/sched.h`.
mod policy {
    pub(super) const FIFO: u64 = 1;
    pub(super) const ROUND_ROBIN: u64 = 2;
    pub(super) const IDLE: u64 = 5;
    pub(super) const DEADLINE: u64 = 6;
}

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nature {
    /// When it was started, in the kernel's ticks since the host was: tells it from another with its number.
    pub started_ticks: u64,
    /// The number of threads of the task's process.
    pub n_threads: u64,
    /// The core that it ran on last.
    pub core: u64,
    /// Time in programs and in the kernel of all threads of its process, in the kernel's ticks.
    pub used_ticks: u64,
    /// The scheduling class of the task.
    pub class: Class,
}

/// The scheduling class of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Class {
    /// It shares by weight.
    Fair(f64),
    /// It comes before all that share.
    RealTime,
}

impl Class {
    /// Returns the class for the numbers of the policy and of the nice level.
    pub(crate) fn of(policy: u64, nice: i8) -> Class {
        match policy {
            policy::FIFO | policy::ROUND_ROBIN | policy::DEADLINE => Class::RealTime,
            policy::IDLE => Class::Fair(IDLE_WEIGHT),
            _ => Class::Fair(weight_of(nice)),
        }
    }
}

impl Nature {
    /// Parses the text of `stat`.
    pub(crate) fn parse(text: &[u8]) -> Option<Nature> {
        let TaskStat { started_ticks, n_threads, core, used_ticks, policy, nice, .. } = TaskStat::parse(text)?;
        Some(Nature { started_ticks, n_threads, core, used_ticks, class: Class::of(policy, nice) })
    }
}

/// The weight of a nice level; one out of range counts as the nearest.
pub(crate) fn weight_of(nice: i8) -> f64 {
    let idx = usize::try_from(i16::from(nice) + 20).unwrap_or(0);
    WEIGHTS.get(idx).or(WEIGHTS.last()).map_or(FULL_WEIGHT, |&weight| f64::from(weight))
}

/// The time that a task has used and waited since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// Time on a core.
    pub used_ns: u64,
    /// Time in which it was ready and had none.
    pub waited_ns: u64,
}

impl Spent {
    /// Parses the text of `schedstat`.
    pub(crate) fn parse(text: &[u8]) -> Option<Spent> {
        let mut counts = fields(text.trim_ascii_end()).map(number);
        Some(Spent { used_ns: counts.next()??, waited_ns: counts.next()?? })
    }

    /// Returns the time that was added since `earlier`; none if a count went back.
    pub(crate) fn since(self, earlier: Spent) -> Option<Spent> {
        Some(Spent {
            used_ns: self.used_ns.checked_sub(earlier.used_ns)?,
            waited_ns: self.waited_ns.checked_sub(earlier.waited_ns)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] = b"4242 (a) b (c)) R 1 4242 4200 34816 4242 4194304 1133 0 0 0 1234 66 7 8 30 10 3 0 98765 \
        242819072 1024 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 5 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_stat_line_is_read_past_a_name_with_parentheses() {
        let nature = Nature::parse(STAT).unwrap();
        let class = Class::Fair(110.0);
        assert_eq!(nature, Nature { started_ticks: 98_765, n_threads: 3, core: 5, used_ticks: 1300, class });
    }

    #[track_caller]
    fn check_class(policy: &str, class: Class) {
        let text = String::from_utf8(STAT.to_vec()).unwrap().replace("17 5 0 0 ", &format!("17 5 0 {policy} "));
        assert_eq!(Nature::parse(text.as_bytes()).unwrap().class, class);
    }

    #[test]
    fn the_scheduler_s_classes_are_told_apart() {
        check_class("1", Class::RealTime);
        check_class("2", Class::RealTime);
        check_class("6", Class::RealTime);
        check_class("3", Class::Fair(110.0));
        check_class("5", Class::Fair(3.0));
    }

    #[test]
    fn half_a_line_is_refused() {
        for cut in [0, 10, 40, STAT.len() - 40] {
            assert_eq!(Nature::parse(&STAT[..cut]), None);
        }
        assert_eq!(Spent::parse(b"17\n"), None);
        assert_eq!(Spent::parse(b"17 -1 3\n"), None);
    }

    #[test]
    fn full_priority_weighs_1024_and_each_level_a_quarter_more() {
        assert_eq!((weight_of(0), weight_of(-20), weight_of(19)), (1024.0, 88_761.0, 15.0));
        assert_eq!((weight_of(-128), weight_of(127)), (88_761.0, 15.0));
        for nice in -20..10 {
            let ratio = weight_of(nice) / weight_of(nice + 1);
            // The kernel rounds; below a hundred that shows.
            assert!((ratio - 1.25).abs() < 0.035, "{nice}: {ratio}");
        }
    }

    #[test]
    fn counts_that_go_back_are_another_task_s() {
        let early = Spent::parse(b"100 50 3\n").unwrap();
        let late = Spent::parse(b"175 60 4\n").unwrap();
        assert_eq!(late.since(early), Some(Spent { used_ns: 75, waited_ns: 10 }));
        assert_eq!(early.since(late), None);
    }
}
