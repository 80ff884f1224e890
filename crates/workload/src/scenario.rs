//! The loads that can be made, by name.

use std::time::Duration;

use crate::{
    Load, LoadError, Worker,
    order::{Task, Terms},
};

/// A load that can be made on this host.
#[derive(Debug)]
pub struct Scenario {
    name: &'static str,
    sentence: &'static str,
    pub(crate) making: Making,
}

/// Composition of a load.
#[derive(Debug)]
pub(crate) enum Making {
    /// These workers, from the beginning to the end.
    Crew(&'static [(Task, Terms)]),
    /// The same in a control group that may use so many cores.
    Limited { cores: f64, crew: &'static [(Task, Terms)] },
    /// Workers that come and go.
    Mixed,
}

const SPIN: (Task, Terms) = (Task::Spin { n_threads: 1 }, Terms::Ordinary);
const NICED: (Task, Terms) = (Task::Spin { n_threads: 1 }, Terms::Niced);
const THREADS: (Task, Terms) = (Task::Spin { n_threads: 4 }, Terms::Ordinary);
const BURST: (Task, Terms) = (Task::Burst, Terms::Ordinary);
const FORKS: (Task, Terms) = (Task::Fork { mean_cpu: Duration::from_millis(1) }, Terms::Ordinary);
const SLOW_FORKS: (Task, Terms) = (Task::Fork { mean_cpu: Duration::from_millis(30) }, Terms::Ordinary);
const DISK: (Task, Terms) = (Task::Disk, Terms::Ordinary);
const CONFINED: (Task, Terms) = (Task::Spin { n_threads: 1 }, Terms::OneCore);
const REAL_TIME: (Task, Terms) = (Task::Spin { n_threads: 1 }, Terms::RealTime);

/// Workers that come and go in the mixed load.
pub(crate) const MIXED_CREW: &[(Task, Terms)] = &[SPIN, SPIN, NICED, BURST, BURST, SLOW_FORKS, DISK];

/// Every load: first those that all schedulers get right, last those that need rights, and the one that changes.
pub static SCENARIOS: &[Scenario] = &[
    crew("idle", "Nothing.", &[]),
    crew("niced-spinners", "Two processes of nice 19 that compute without end.", &[NICED, NICED]),
    crew("one-spinner", "One process that computes without end.", &[SPIN]),
    crew("two-spinners", "Two processes that compute without end.", &[SPIN, SPIN]),
    crew("four-spinners", "Four processes that compute without end.", &[SPIN, SPIN, SPIN, SPIN]),
    crew("four-threads", "One process that computes without end in four threads.", &[THREADS]),
    crew("bursty", "Three processes that compute and sleep in turns, 30 ms each on average.", &[BURST, BURST, BURST]),
    crew(
        "bursty-and-spinner",
        "Two processes that compute and sleep in turns, and one that computes without end.",
        &[BURST, BURST, SPIN],
    ),
    crew("fork-storm", "Three rows of processes that end almost as soon as they have started.", &[FORKS, FORKS, FORKS]),
    crew(
        "slow-fork-storm",
        "Three rows of processes that compute for 30 ms on average.",
        &[SLOW_FORKS, SLOW_FORKS, SLOW_FORKS],
    ),
    crew("disk", "Three processes that write to the disk, wait for it, and read back.", &[DISK, DISK, DISK]),
    crew(
        "one-core",
        "Three processes that compute without end, all on the same core.",
        &[CONFINED, CONFINED, CONFINED],
    ),
    crew("real-time", "One real-time process that computes without end.", &[REAL_TIME]),
    Scenario {
        name: "limited-to-half",
        sentence: "A control group that may use half a core, and nobody else in it.",
        making: Making::Limited { cores: 0.5, crew: &[] },
    },
    Scenario {
        name: "limited-with-spinner",
        sentence: "A control group that may use one and a half cores, and a process in it that computes without end.",
        making: Making::Limited { cores: 1.5, crew: &[SPIN] },
    },
    Scenario {
        name: "mixed",
        sentence: "Processes of many kinds that come and go, for some tens of seconds each.",
        making: Making::Mixed,
    },
];

const fn crew(name: &'static str, sentence: &'static str, crew: &'static [(Task, Terms)]) -> Scenario {
    Scenario { name, sentence, making: Making::Crew(crew) }
}

/// The load of this name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

impl Scenario {
    /// Lower-case words with hyphens between them.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns a sentence on what runs.
    pub fn sentence(&self) -> &'static str {
        self.sentence
    }

    /// Whether it takes root, or a right to real-time priority or a control group that is delegated to this user.
    pub fn needs_root(&self) -> bool {
        match &self.making {
            Making::Crew(crew) => crew.iter().any(|(_, terms)| *terms == Terms::RealTime),
            Making::Limited { .. } => true,
            Making::Mixed => false,
        }
    }

    /// Makes this load, and returns when all of it runs.
    ///
    /// # Errors
    /// When a worker cannot be started or lacks a right, and when there are no control groups for a load that needs
    /// one. Nothing of the load is left then.
    pub fn start(&self, seed: u64, worker: &Worker) -> Result<Load, LoadError> {
        Load::start(&self.making, seed, worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_finds_its_load() {
        for scenario in SCENARIOS {
            assert!(std::ptr::eq(find(scenario.name()).unwrap(), scenario), "two loads are called {}", scenario.name());
        }
        assert!(find("none").is_none());
    }
}
