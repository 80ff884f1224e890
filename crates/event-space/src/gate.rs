//! When monitors run: whenever they like, or when the ranks of their host have something else to do than to be
//! disturbed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mpi_job::Segment;
use rustix::thread::futex;

/// The way in which monitors and collectives share a host (section 4.1 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Monitors run whenever they like.
    Off,
    /// Monitors run after the host's contribution has been sent to another: while its ranks wait for the result.
    /// Strategy 1.
    Sent,
    /// Monitors run after all ranks of the host have been let go: the result is passed on undisturbed. Strategy 2.
    #[default]
    Released,
}

/// A place where monitors wait for their moment.
pub trait Gate: Send {
    /// Returns at the next moment of this kind, or after `limit`: a program that makes no collective call must not stop
    /// its monitors.
    fn wait(&self, strategy: Strategy, limit: Duration);
}

/// The gate of this host's ranks: a segment of the job's folder, with a counter and the number of those who wait for
/// each moment.
pub struct HostGate(Segment);

impl HostGate {
    /// Words of its segment.
    pub const N_WORDS: usize = 16;

    /// Makes a gate in this segment.
    ///
    /// # Panics
    /// When it has fewer than [`HostGate::N_WORDS`].
    #[must_use]
    pub fn new(segment: Segment) -> Self {
        assert!(segment.words().len() >= Self::N_WORDS, "a gate has {} words", Self::N_WORDS);
        Self(segment)
    }

    /// The counter that moves, and how many wait for it.
    fn words(&self, strategy: Strategy) -> Option<&[AtomicU32; 2]> {
        let at = match strategy {
            Strategy::Off => return None,
            Strategy::Sent => 0,
            Strategy::Released => 8,
        };
        // SAFETY: two counters of 32 bits lie in one aligned word of 64, which nobody accesses as a whole.
        Some(unsafe { &*self.0.words()[at..].as_ptr().cast::<[AtomicU32; 2]>() })
    }
}

impl Gate for HostGate {
    fn wait(&self, strategy: Strategy, limit: Duration) {
        let Some([moved, waiting]) = self.words(strategy) else { return };
        let before = moved.load(Ordering::SeqCst);
        // Whoever opens the gate sets this to zero and then moves the counter, so that a monitor that was killed costs
        // one wake-up.
        waiting.fetch_add(1, Ordering::SeqCst);
        let limit = futex::Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // Woken, too late, or interrupted: in each case the monitor looks what there is.
        let _either_way = futex::wait(moved, futex::Flags::empty(), before, Some(&limit));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    fn segment(path: &Path) -> Segment {
        Segment::open(path, mpi_job::Access::ReadWrite).unwrap()
    }

    /// Opens the gate as the engine does; a monitor that counted itself but does not sleep yet sees that the counter
    /// moved. Returns the number of monitors that were woken.
    fn open(gate: &HostGate) -> usize {
        let [moved, waiting] = gate.words(Strategy::Released).unwrap();
        if waiting.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        waiting.store(0, Ordering::SeqCst);
        moved.fetch_add(1, Ordering::SeqCst);
        futex::wake(moved, futex::Flags::empty(), i32::MAX as u32).unwrap()
    }

    fn until_somebody_waits(gate: &HostGate) {
        while gate.words(Strategy::Released).unwrap()[1].load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_monitor_waits_until_its_gate_opens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate");
        Segment::create(&path, HostGate::N_WORDS, |_| Ok(())).unwrap();
        let engine = HostGate::new(segment(&path));
        std::thread::scope(|scope| {
            let monitor =
                scope.spawn(|| HostGate::new(segment(&path)).wait(Strategy::Released, Duration::from_secs(600)));
            until_somebody_waits(&engine);
            open(&engine);
            monitor.join().unwrap();
        });
        let [moved, _] = engine.words(Strategy::Released).unwrap();
        let [sent, _] = engine.words(Strategy::Sent).unwrap();
        assert_eq!((sent.load(Ordering::SeqCst), moved.load(Ordering::SeqCst)), (0, 1));
        // Neither without a strategy nor after the limit does it wait.
        engine.wait(Strategy::Off, Duration::from_secs(600));
        engine.wait(Strategy::Sent, Duration::from_millis(1));
    }

    /// The process that the next test kills; it says where the gate is.
    #[test]
    fn waits_for_ever_at_a_gate_that_is_given() {
        let Some(path) = std::env::var_os("FORETOP_TEST_GATE") else { return };
        HostGate::new(segment(Path::new(&path))).wait(Strategy::Released, Duration::MAX);
    }

    #[test]
    fn a_monitor_that_is_killed_at_its_gate_costs_the_program_one_wake_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate");
        Segment::create(&path, HostGate::N_WORDS, |_| Ok(())).unwrap();
        let engine = HostGate::new(segment(&path));
        let mut monitor = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "gate::tests::waits_for_ever_at_a_gate_that_is_given"])
            .env("FORETOP_TEST_GATE", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until_somebody_waits(&engine);
        monitor.kill().unwrap();
        monitor.wait().unwrap();
        let [moved, waiting] = engine.words(Strategy::Released).unwrap();
        assert_eq!((open(&engine), waiting.load(Ordering::SeqCst)), (0, 0), "nobody is left to be woken");
        // From then on the engine sees that nobody waits, until somebody does.
        assert_eq!((open(&engine), moved.load(Ordering::SeqCst)), (0, 1));
        std::thread::scope(|scope| {
            let next = scope.spawn(|| HostGate::new(segment(&path)).wait(Strategy::Released, Duration::from_secs(600)));
            until_somebody_waits(&engine);
            open(&engine);
            next.join().unwrap();
        });
    }
}
