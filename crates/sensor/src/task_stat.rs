//! `stat` of a process or thread: its name, its state, and what it has used.
//!
//! Format: `Documentation/filesystems/proc.rst`, table 1-4. Not parsed by the `procfs` crate, which allocates for a
//! line of which ten fields are wanted.

use crate::file::{fields, number};

/// `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The fields of a `stat` that somebody reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TaskStat<'t> {
    /// The name, at most 15 bytes that the task itself chose: any but 0.
    pub name: &'t [u8],
    /// `R` for one that runs or is ready, `S` for one that sleeps, and so on.
    pub state: u8,
    /// Whether it is a thread of the kernel's own.
    pub is_kernel: bool,
    /// Time in programs and in the kernel of all threads of its process, in the kernel's ticks.
    pub used_ticks: u64,
    pub nice: i8,
    /// The number of threads of the task's process.
    pub n_threads: u64,
    /// When it was started, in the kernel's ticks since the host was: tells it from another with its number.
    pub started_ticks: u64,
    /// Resident memory, in pages.
    pub resident_pages: u64,
    /// The core that it ran on last.
    pub core: u64,
    pub policy: u64,
}

impl TaskStat<'_> {
    /// Parses the text of the file.
    pub(crate) fn parse(text: &[u8]) -> Option<TaskStat<'_>> {
        // The name may contain blanks and parentheses; nothing after it does.
        let name_at = text.iter().position(|&byte| byte == b'(')? + 1;
        let name_end = text.iter().rposition(|&byte| byte == b')')?;
        let mut rest = fields(text[name_end + 1..].trim_ascii_end());
        // Field 3 is the first after the name. `nth` counts from the one taken last.
        Some(TaskStat {
            name: text.get(name_at..name_end)?,
            state: *rest.next()?.first()?,
            is_kernel: number(rest.nth(9 - 4)?)? & KERNEL_THREAD != 0,
            used_ticks: number(rest.nth(14 - 10)?)?.checked_add(number(rest.next()?)?)?,
            nice: std::str::from_utf8(rest.nth(19 - 16)?).ok()?.parse().ok()?,
            n_threads: number(rest.next()?)?,
            started_ticks: number(rest.nth(22 - 21)?)?,
            resident_pages: number(rest.nth(24 - 23)?)?,
            core: number(rest.nth(39 - 25)?)?,
            policy: number(rest.nth(41 - 40)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] = b"4242 (a) R 1 (b) S 1 4242 4200 34816 4242 4194304 1133 0 0 0 1234 66 7 8 30 10 3 0 98765 \
        242819072 1024 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 5 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_name_may_look_like_the_fields_after_it() {
        let expected = TaskStat {
            name: b"a) R 1 (b",
            state: b'S',
            is_kernel: false,
            used_ticks: 1300,
            nice: 10,
            n_threads: 3,
            started_ticks: 98_765,
            resident_pages: 1024,
            core: 5,
            policy: 0,
        };
        assert_eq!(TaskStat::parse(STAT), Some(expected));
    }

    #[test]
    fn brackets_the_wrong_way_round_are_refused() {
        assert_eq!(TaskStat::parse(b"1 )( S 1 2 3"), None);
    }
}
