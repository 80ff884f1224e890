//! Cores that a task may run on.
//!
//! Format: "List format" of `Documentation/admin-guide/cputopology.rst`, as in `Cpus_allowed_list` of
//! `/proc/PID/status`, which has in it what the task's cpuset leaves of its own mask.

use std::{collections::BTreeMap, ops::RangeInclusive};

use crate::file::{fields, lines, number};

/// Cores by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoreSet(Vec<RangeInclusive<u64>>);

impl CoreSet {
    /// Parses the text of a `status`.
    pub(crate) fn parse_status(text: &[u8]) -> Option<CoreSet> {
        let line = lines(text).find_map(|line| line.strip_prefix(b"Cpus_allowed_list:"))?;
        CoreSet::parse(fields(line.trim_ascii()).next()?)
    }

    /// `0-3,8`.
    fn parse(text: &[u8]) -> Option<CoreSet> {
        let range = |text: &[u8]| {
            let mut ends = text.splitn(2, |&byte| byte == b'-');
            let first = number(ends.next()?)?;
            Some(first..=ends.next().map_or(Some(first), number)?)
        };
        text.split(|&byte| byte == b',').map(range).collect::<Option<_>>().map(CoreSet)
    }

    /// Returns for each core that is online, in their order, whether the set has it; none if it has all or none of
    /// them.
    ///
    /// The kernel lets a task run anywhere that has none of its cores left.
    pub(crate) fn among(&self, online: &BTreeMap<u64, f64>) -> Option<Vec<bool>> {
        let is_in: Vec<bool> = online.keys().map(|core| self.0.iter().any(|range| range.contains(core))).collect();
        (is_in.contains(&true) && is_in.contains(&false)).then_some(is_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn online(cores: &[u64]) -> BTreeMap<u64, f64> {
        cores.iter().map(|&core| (core, 1.0)).collect()
    }

    #[test]
    fn a_list_has_ranges_and_single_cores() {
        let set = CoreSet::parse_status(b"Name:\ta\nCpus_allowed:\t10b\nCpus_allowed_list:\t0-1,3,8\n").unwrap();
        assert_eq!(set.among(&online(&[0, 2, 3, 9])), Some(vec![true, false, true, false]));
    }

    #[test]
    fn all_that_are_online_and_none_of_them_is_no_limit() {
        let set = CoreSet::parse(b"0-127").unwrap();
        assert_eq!(set.among(&online(&[0, 1, 5])), None);
        assert_eq!(CoreSet::parse(b"4").unwrap().among(&online(&[0, 1])), None);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in
            [&b"Cpus_allowed_list:\t\n"[..], b"Cpus_allowed_list:\t0-x\n", b"Cpus_allowed_list:\t-1\n", b"Name:\ta\n"]
        {
            assert_eq!(CoreSet::parse_status(text), None);
        }
    }
}
