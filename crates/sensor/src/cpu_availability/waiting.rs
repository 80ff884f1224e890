//! The number of tasks that wait for a core, on average over time.
//!
//! Three sources, the first that there is: the run queues' own sum of waiting (`/proc/schedstat`); for how much of the
//! time some task waited (pressure) times how many did in those moments that were looked at; and the moments alone. A
//! moment alone is a poor witness, since programs that wake up by the clock wake up when the sensor does.
//!
//! Pressure is counted on each core by itself, and what the kernel says is the mean over the cores that had something
//! to do (`collect_percpu_times` of `kernel/sched/psi.c`): with a task waiting on each of two cores all the time it is
//! 1.

use std::{path::Path, time::Duration};

use crate::file::{KernelFile, fields, lines, number};

use super::recent::Recent;

/// Tasks waiting for a core.
#[derive(Debug)]
pub(crate) struct Waiting {
    schedstat: Option<KernelFile>,
    last_at: Option<Duration>,
    last_waited_ns: Option<u64>,
    last_stalled_us: Option<u64>,
    /// Seconds that tasks waited, summed over all of them.
    waited: Recent<1>,
    /// Seconds in which some task waited.
    stalled: Recent<1>,
    /// The number of tasks beyond the number of cores at the moments looked at, and whether there were any.
    beyond: Recent<2>,
}

impl Waiting {
    pub(crate) fn open(root: &Path) -> Waiting {
        Waiting {
            schedstat: KernelFile::open(root, "proc/schedstat").ok(),
            last_at: None,
            last_waited_ns: None,
            last_stalled_us: None,
            waited: Recent::new(),
            stalled: Recent::new(),
            beyond: Recent::new(),
        }
    }

    /// Takes in one moment: `n_running` tasks ran or waited on `n_cores`, and up to it some task had waited for
    /// `stalled_us` since the host started, if that is known.
    pub(crate) fn read(
        &mut self,
        at: Duration,
        n_running: u64,
        n_cores: u32,
        stalled_us: Option<u64>,
        text: &mut Vec<u8>,
    ) {
        let span = self.last_at.replace(at).map_or(Duration::ZERO, |last_at| at.saturating_sub(last_at));
        let n_beyond = n_running.saturating_sub(u64::from(n_cores)) as f64;
        let is_beyond = f64::from(u8::from(n_beyond > 0.0));
        self.beyond.add(span, [n_beyond, is_beyond].map(|count| count * span.as_secs_f64()));

        let text = self.schedstat.as_ref().and_then(|file| file.read(text).ok());
        let waited_ns = text.and_then(sum_of_waiting);
        if let Some(grown) = grown(&mut self.last_waited_ns, waited_ns) {
            self.waited.add(span, [grown * 1e-9]);
        }
        if let Some(grown) = grown(&mut self.last_stalled_us, stalled_us) {
            self.stalled.add(span, [grown * 1e-6]);
        }
    }

    /// Returns the number of tasks that waited for a core on average, if `n_busy` cores had something to do.
    pub(crate) fn mean(&self, n_busy: f64) -> f64 {
        let [n_beyond, share_beyond] = self.beyond.rates().unwrap_or_default();
        match (self.waited.rates(), self.stalled.rates()) {
            (Some([waited]), _) => waited,
            (None, Some([stalled])) => stalled.min(1.0) * (n_beyond / share_beyond.max(f64::EPSILON)).max(n_busy),
            (None, None) => n_beyond,
        }
    }
}

/// Returns the growth of a counter since it was read last; none after a reset.
fn grown(last: &mut Option<u64>, count: Option<u64>) -> Option<f64> {
    let last = std::mem::replace(last, count)?;
    Some(count?.checked_sub(last)? as f64)
}

/// The time that tasks waited on all run queues, in nanoseconds: the eighth number of each core's line.
///
/// Format: `Documentation/scheduler/sched-stats.rst`, versions 15 to 17.
fn sum_of_waiting(text: &[u8]) -> Option<u64> {
    let cores = lines(text).filter(|line| line.starts_with(b"cpu"));
    let waited: Option<Vec<u64>> = cores.map(|line| number(fields(line).nth(8)?)).collect();
    waited.filter(|waited| !waited.is_empty())?.into_iter().try_fold(0, u64::checked_add)
}
