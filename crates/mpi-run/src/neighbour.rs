//! Other users of a host's processors during a run: counts of the kernel for each other process, at its beginning and
//! its end.
//!
//! Processes that ended before the second look are not seen, and neither are other guests of the machine.

use std::collections::{BTreeMap, BTreeSet};

use clock::Stopwatch;
use procfs::process::all_processes;
use procfs::ticks_per_second;
use serde::{Deserialize, Serialize};

use crate::header::host_name;

/// Share of a core below which a process takes less from a run than a run varies by.
const CORE_RATIO_MIN: f64 = 0.05;

/// Number of processes that are reported: those that had the most.
const N_TOLD: usize = 5;

/// A process's number, and when it began, in ticks since the host did: numbers are used again.
type Identity = (i32, u64);

/// Another process on a host with ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Name of the host.
    pub host: String,
    /// Process number on that host.
    pub pid: i32,
    /// Name by which the kernel calls the process: at most 15 characters, whatever they are.
    pub name: String,
    /// Its processor time by that of the run: 1 is a core for all of the time.
    pub core_ratio: f64,
}

/// Counts from the beginning of a run on.
#[derive(Debug)]
pub struct Neighbours {
    clock: Stopwatch,
    own: BTreeSet<i32>,
    before: BTreeMap<Identity, u64>,
}

impl Neighbours {
    /// Begins counting; `own` are the processes of the run on this host, which are nobody's neighbours.
    #[must_use]
    pub fn watch(own: impl IntoIterator<Item = i32>) -> Self {
        let before = counted().into_iter().map(|(identity, _, ticks)| (identity, ticks)).collect();
        Self { clock: Stopwatch::start(), own: own.into_iter().collect(), before }
    }

    /// Returns the processes that had more than a twentieth of a core since, the one that had the most first; at most
    /// five.
    #[must_use]
    pub fn found(&self) -> Vec<Neighbour> {
        let span_ticks = self.clock.elapsed_ns() as f64 * ticks_per_second() as f64 / 1e9;
        self.busiest(counted(), span_ticks)
    }

    fn busiest(&self, after: Vec<(Identity, String, u64)>, span_ticks: f64) -> Vec<Neighbour> {
        let of_others = after.into_iter().filter(|((pid, _), ..)| !self.own.contains(pid));
        let neighbour = |(identity, name, ticks): (Identity, String, u64)| {
            let since = ticks.saturating_sub(self.before.get(&identity).copied().unwrap_or(0));
            Neighbour { host: host_name(), pid: identity.0, name, core_ratio: since as f64 / span_ticks.max(1.0) }
        };
        let mut found: Vec<Neighbour> =
            of_others.map(neighbour).filter(|neighbour| neighbour.core_ratio > CORE_RATIO_MIN).collect();
        found.sort_by(|a, b| b.core_ratio.total_cmp(&a.core_ratio));
        found.truncate(N_TOLD);
        found
    }
}

/// Each process with its name and the ticks that its threads ran; none of those that end while they are read.
fn counted() -> Vec<(Identity, String, u64)> {
    let processes = all_processes().into_iter().flatten();
    let stats = processes.filter_map(|process| process.ok()?.stat().ok());
    stats.map(|stat| ((stat.pid, stat.starttime), stat.comm, stat.utime + stat.stime)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pid: i32, started: u64, ticks: u64) -> (Identity, String, u64) {
        ((pid, started), format!("process-{pid}"), ticks)
    }

    #[test]
    fn who_worked_during_a_run_is_told_the_busiest_first() {
        let before = BTreeMap::from([((2, 5), 900), ((3, 5), 900), ((4, 5), 900)]);
        let neighbours = Neighbours { clock: Stopwatch::start(), own: BTreeSet::from([1]), before };
        let after = [count(1, 5, 999), count(2, 5, 905), count(3, 5, 950), count(4, 80, 90), count(6, 80, 40)];
        let found = neighbours.busiest(after.to_vec(), 100.0);
        let told: Vec<_> = found.iter().map(|one| (one.pid, one.core_ratio)).collect();
        // Neither a rank nor who had a twentieth; number 4 is another process than it was before.
        assert_eq!(told, [(4, 0.9), (3, 0.5), (6, 0.4)]);
        assert_eq!((found[0].name.as_str(), &found[0].host), ("process-4", &host_name()));
    }

    #[test]
    fn this_process_is_counted() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(counted().iter().any(|((pid, _), ..)| *pid == me));
    }
}
