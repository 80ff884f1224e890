//! Sorts of growing size that come to the end of their memory: how long they take, what memory does, and what opening a
//! file costs.

use picture::Scale;
use text::figure::{counted, format, percent, span_ns};

use crate::answer::names;
use crate::{Answer, Break, Growth, Lines};

/// A sort that was watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// Number of ranks.
    pub n_ranks: u64,
    /// All numbers together.
    pub size_bytes: u64,
    /// Time from when all ranks were there until the output was closed, or the reason why the sort did not come so
    /// far.
    pub took_ns: Result<u64, Lost>,
    /// Pages read in, of memory that is no file's.
    pub n_page_ins: u64,
    /// Pages written out, likewise.
    pub n_page_outs: u64,
    /// Pages that were used again before they left, likewise.
    pub n_reactivations: u64,
    /// All faults.
    pub n_faults: u64,
}

/// The reason why a sort did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It took too long, and was given up.
    GivenUp,
    /// The kernel killed a rank for want of memory, whatever room there was in swap.
    Killed,
}

const MIB: f64 = 1024.0 * 1024.0;

impl Sort {
    fn mib_per_rank(&self) -> f64 {
        self.size_bytes as f64 / MIB / self.n_ranks as f64
    }

    /// Returns the number of events that swapping causes.
    fn n_swaps(&self) -> u64 {
        self.n_page_ins + self.n_page_outs + self.n_reactivations
    }
}

/// The numbers of ranks, ascending.
fn all_ranks(sorts: &[Sort]) -> Vec<u64> {
    let mut ranks: Vec<u64> = sorts.iter().map(|sort| sort.n_ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// A line for each number of ranks, of those sorts for which there is a value.
fn lines(sorts: &[Sort], point: impl Fn(&Sort) -> Option<(f64, f64)>) -> Vec<(String, Vec<(f64, f64)>)> {
    let line =
        |n: u64| (counted(n, "rank"), sorts.iter().filter(|sort| sort.n_ranks == n).filter_map(&point).collect());
    all_ranks(sorts).into_iter().map(line).collect()
}

/// Time by size and ranks (figures 7.2 and 7.3).
#[must_use]
pub fn sort_times(sorts: &[Sort], conditions: String) -> Answer {
    let row = |sort: &Sort| {
        vec![
            sort.n_ranks.to_string(),
            format(sort.size_bytes as f64, "bytes"),
            std::format!("{:.1}", sort.mib_per_rank()),
            match sort.took_ns {
                Ok(ns) => span_ns(ns as f64),
                Err(Lost::GivenUp) => "given up".to_owned(),
                Err(Lost::Killed) => "killed".to_owned(),
            },
        ]
    };
    let jump = |n_ranks: u64| {
        let ranks = counted(n_ranks, "rank");
        let own = sorts.iter().filter(|sort| sort.n_ranks == n_ranks);
        let times: Vec<(f64, f64)> =
            own.filter_map(|sort| Some((sort.mib_per_rank(), sort.took_ns.ok()? as f64))).collect();
        Some(match Growth::of(&times)?.break_at {
            Some(found) => std::format!("with {ranks} the time jumps {:.1} times {}", found.jump, between(found)),
            None => std::format!("with {ranks} the time does not jump"),
        })
    };
    let n_lost = |why| sorts.iter().filter(|sort| sort.took_ns == Err(why)).count();
    let mut verdict: Vec<String> = all_ranks(sorts).into_iter().filter_map(jump).collect();
    verdict.push(match (n_lost(Lost::GivenUp), n_lost(Lost::Killed)) {
        (0, 0) => "every sort came to its end".to_owned(),
        (0, n) => std::format!("in {} the kernel killed a rank for want of memory, where the largest one of the report brought its system down", counted(n as u64, "sort")),
        (n, 0) => std::format!("given up: {}", counted(n as u64, "sort")),
        (given_up, killed) => std::format!("given up: {}; in {killed} the kernel killed a rank for want of memory", counted(given_up as u64, "sort")),
    });
    let picture = Lines {
        title: "Time of a sort by size and ranks",
        caption: "memory is limited for each rank, and what does not fit is swapped",
        x: ("MiB", Scale::Linear),
        y: ("s", Scale::Logarithmic),
        lines: lines(sorts, |sort| Some((sort.size_bytes as f64 / MIB, sort.took_ns.ok()? as f64 / 1e9))),
    };
    Answer {
        title: "A sort by size and ranks (figures 7.2 and 7.3)".into(),
        conditions,
        columns: names(&["ranks", "size", "MiB for each", "took"]),
        rows: sorts.iter().map(row).collect(),
        verdict: verdict.join("; "),
        pictures: vec![("sort-time".into(), picture.picture())],
    }
}

fn between(found: Break) -> String {
    std::format!("between {:.0} and {:.0} MiB for each", found.last_size, found.first_size)
}

/// Returns what memory does against size, by an exponential and by whether that breaks (figures 7.17 and 7.18, table
/// 7-8).
#[must_use]
pub fn swapping(sorts: &[Sort], conditions: String) -> Answer {
    let row = |sort: &Sort| {
        vec![
            sort.n_ranks.to_string(),
            std::format!("{:.1}", sort.mib_per_rank()),
            sort.n_faults.to_string(),
            sort.n_page_ins.to_string(),
            sort.n_page_outs.to_string(),
            sort.n_reactivations.to_string(),
        ]
    };
    let of_ranks = |n_ranks: u64| {
        let ranks = counted(n_ranks, "rank");
        let own: Vec<&Sort> = sorts.iter().filter(|sort| sort.n_ranks == n_ranks && sort.took_ns.is_ok()).collect();
        let counts: Vec<(f64, f64)> =
            own.iter().map(|sort| (sort.mib_per_rank(), (sort.n_swaps() + sort.n_faults) as f64)).collect();
        let growth = Growth::of(&counts)?;
        let fit = std::format!(
            "with {ranks} an exponential explains {} of the variance of all events (published: more than 99 % with three nodes)",
            percent(growth.all.r_squared)
        );
        let all = growth.break_at.map_or_else(
            || "does not break".to_owned(),
            |found| std::format!("breaks {}, where the trend before has {:.1} times less", between(found), found.jump),
        );
        // Pages that ranks share are reactivated with any memory.
        let n_swapped = |sort: &Sort| (sort.n_page_ins + sort.n_page_outs) as f64;
        let swaps: Vec<(f64, f64)> = own.iter().map(|sort| (sort.mib_per_rank(), n_swapped(sort))).collect();
        let of_swaps = Growth::of(&swaps)?.break_at.map(|found| {
            let n = |size: f64| swaps.iter().find(|(own, _)| *own >= size).map_or(0.0, |(_, n)| *n);
            std::format!(
                "; page-ins and page-outs break {}, from {} to {}",
                between(found),
                n(found.last_size),
                n(found.first_size)
            )
        });
        Some(std::format!("{fit}, and {all}{}", of_swaps.unwrap_or_default()))
    };
    let picture = Lines {
        title: "Events of virtual memory by size and ranks",
        caption: "all faults, and what swapping does",
        x: ("MiB for each rank", Scale::Linear),
        y: ("events", Scale::Logarithmic),
        lines: lines(sorts, |sort| {
            sort.took_ns.is_ok().then(|| (sort.mib_per_rank(), (sort.n_swaps() + sort.n_faults) as f64))
        }),
    };
    let verdicts: Vec<String> = all_ranks(sorts).into_iter().filter_map(of_ranks).collect();
    Answer {
        title: "What memory does by size (figures 7.17 and 7.18, table 7-8)".into(),
        conditions,
        columns: names(&["ranks", "MiB for each", "faults", "page-ins", "page-outs", "reactivations"]),
        rows: sorts.iter().map(row).collect(),
        verdict: if verdicts.is_empty() { "too few sizes to tell".into() } else { verdicts.join("; ") },
        pictures: vec![("memory".into(), picture.picture())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_where_memory_ends_is_found_in_time_and_events() {
        let sort = |mib: u64| {
            let is_over = mib >= 10;
            Sort {
                n_ranks: 1,
                size_bytes: mib << 20,
                took_ns: if mib < 13 { Ok(mib * if is_over { 9_000 } else { 1_000 }) } else { Err(Lost::Killed) },
                n_page_ins: if is_over { 20_000 } else { 0 },
                n_page_outs: if is_over { 19_000 } else { 0 },
                n_reactivations: 0,
                n_faults: 256 * mib,
            }
        };
        let sorts: Vec<Sort> = (4..=13).map(sort).collect();
        let times = sort_times(&sorts, String::new());
        assert!(
            times.verdict.contains("between 9 and 10 MiB") && times.verdict.contains("in 1 sort the kernel killed"),
            "{}",
            times.verdict
        );
        let memory = swapping(&sorts, String::new());
        assert!(
            memory.verdict.contains("breaks between 9 and 10 MiB") && memory.verdict.contains("from 0 to 39000"),
            "{}",
            memory.verdict
        );
    }
}
