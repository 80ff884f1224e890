//! The share of a core that work of this process gets: measured while it works, and what the host offers while it
//! rests.

use std::path::Path;
use std::time::Duration;

use signal::Readings;

use crate::Host;

/// The signal that says what a process would get.
const AVAILABILITY: &str = "cpu.availability";

/// Work of less time than this says too little of what it gets.
const BUSY_SECONDS_MIN: f64 = 0.3;

/// The share of a core that there is for work of this process.
///
/// While work runs, the host's availability would count the work itself as load.
///
/// # Examples
///
/// ```
/// use std::{path::Path, time::Duration};
///
/// let mut share = sensor::CoreShare::open(Path::new("/"));
/// // Half a second of the processor in 0.8 s of work.
/// assert_eq!(share.read(Duration::from_secs(1), 0.5, 0.8), Some(0.625));
/// ```
pub struct CoreShare {
    host: Option<Host>,
    readings: Readings,
}

impl CoreShare {
    /// Opens the host whose `/proc` is under `root`. If there is no such host, only work measures its share.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self { host: Host::open_availability(root).ok(), readings: Readings::default() }
    }

    /// The share, 0 to 1, since the last call: by work that took `cpu_seconds` of processor time while it was busy for
    /// `busy_seconds`, or else as the host says. `at` is as in [`Host::read`]. `None` if neither says anything.
    pub fn read(&mut self, at: Duration, cpu_seconds: f64, busy_seconds: f64) -> Option<f64> {
        // In any case: what the host says is of the time between two reads.
        let offered = self.offered(at);
        let got = (busy_seconds >= BUSY_SECONDS_MIN).then(|| cpu_seconds / busy_seconds);
        got.or(offered).map(|share| share.clamp(0.0, 1.0))
    }

    /// The share that the host offers.
    pub fn offered(&mut self, at: Duration) -> Option<f64> {
        self.host.as_mut()?.read(at, &mut self.readings);
        self.readings.iter().find(|(signal, _)| &**signal.id() == AVAILABILITY).map(|(_, share)| share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_says_what_it_gets_and_the_host_what_it_would() {
        let folder = tempfile::tempdir().unwrap();
        let mut nowhere = CoreShare::open(folder.path());
        assert_eq!(nowhere.read(Duration::ZERO, 0.2, 0.4), Some(0.5));
        assert_eq!(nowhere.read(Duration::from_secs(1), 0.2, 0.2), None, "too little");
        assert_eq!(nowhere.read(Duration::from_secs(2), 1.1, 1.0), Some(1.0), "clocks are read one after the other");
        let mut here = CoreShare::open(Path::new("/"));
        let mut at = Duration::ZERO;
        // The kernel's counters move a hundred times a second.
        let offered = testkit::wait_until("the host says something", testkit::PATIENCE, || {
            at += Duration::from_secs(1);
            here.read(at, 0.0, 0.0)
        });
        assert!((0.0..=1.0).contains(&offered), "{offered}");
    }
}
