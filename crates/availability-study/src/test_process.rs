//! A test process: spins, and tells what its CPU clock had over the wall clock. The child's half and the parent's.

use std::{
    ffi::OsString,
    hint, io,
    io::Read,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use crate::journal::{Mark, Outcome, Spun};

/// Empty turns between two looks at the clocks: some microseconds, of which the look is a small part.
const TURNS_PER_LOOK: u32 = 10_000;

/// Beyond so many times what it was to take, and then some, a test process is taken for lost.
const LATE: u32 = 2;
const LATE_AND: Duration = Duration::from_secs(20);

/// Program of a test process: an executable that, with these arguments and those of [`Assignment::to_arguments`],
/// calls [`spin`] and writes what it gives to standard output as JSON.
#[derive(Clone, Debug)]
pub struct TestProgram {
    /// The executable.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// Assignment of a test process.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The moments at which it looks at both clocks, ascending; it ends at the last.
    pub marks: Vec<Duration>,
    /// Number of threads that spin. At least 1.
    pub n_threads: u32,
    /// The CPU time whose wall time it notes.
    pub demand: Duration,
}

impl Assignment {
    /// Returns the arguments of a command: `--mark 10s --threads 1 --demand 3s`.
    #[must_use]
    pub fn to_arguments(&self) -> Vec<OsString> {
        let marks = self.marks.iter().flat_map(|mark| ["--mark".to_owned(), units::span::format(*mark)]);
        let threads = ["--threads".to_owned(), self.n_threads.to_string()];
        let demand = ["--demand".to_owned(), units::span::format(self.demand)];
        marks.chain(threads).chain(demand).map(OsString::from).collect()
    }

    fn span(&self) -> Duration {
        self.marks.last().copied().unwrap_or_default()
    }
}

/// Spins as assigned, in this process, whose CPU clock it reads: nothing else may be going on in it.
///
/// Time counts from the call, so that the start of the process is on neither clock.
#[must_use]
pub fn spin(assignment: &Assignment) -> Spun {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 1..assignment.n_threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    turn();
                }
            });
        }
        let spun = watch_clocks(assignment);
        is_over.store(true, Ordering::Relaxed);
        spun
    })
}

fn watch_clocks(assignment: &Assignment) -> Spun {
    let (start, used_before) = (clock::instant(), used());
    let mut spun = Spun { marks: Vec::new(), reached_seconds: None };
    while let Some(wanted) = assignment.marks.get(spun.marks.len()) {
        turn();
        let (passed, used) = (start.elapsed(), used().saturating_sub(used_before));
        if used >= assignment.demand && spun.reached_seconds.is_none() {
            spun.reached_seconds = Some(passed.as_secs_f64());
        }
        if passed >= *wanted {
            spun.marks.push(Mark {
                wanted_seconds: wanted.as_secs_f64(),
                passed_seconds: passed.as_secs_f64(),
                used_seconds: used.as_secs_f64(),
            });
        }
    }
    spun
}

fn turn() {
    (0..TURNS_PER_LOOK).for_each(|step| _ = hint::black_box(step));
}

/// Returns the CPU time that all threads of this process had.
fn used() -> Duration {
    let clock = clock_gettime(ClockId::ProcessCPUTime);
    // A clock that only counts is never negative.
    Duration::new(clock.tv_sec.unsigned_abs(), clock.tv_nsec.unsigned_abs() as u32)
}

/// A test process that runs. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    started: Instant,
    lost_after: Duration,
}

impl Running {
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(program: &TestProgram, assignment: &Assignment) -> io::Result<Running> {
        let mut command = Command::new(&program.program);
        command.args(&program.arguments).args(assignment.to_arguments());
        // Keys pressed at the terminal are for the study, which ends its tests itself.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let started = clock::instant();
        let child = command.spawn()?;
        Ok(Running { child, started, lost_after: assignment.span() * LATE + LATE_AND })
    }

    /// Returns the outcome of the test process, once the process has ended.
    pub(crate) fn poll(&mut self) -> Option<Outcome> {
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(self.heard()),
            Ok(Some(status)) => Some(failed(format!("the test process ended before its time: {status}"))),
            Ok(None) if self.started.elapsed() > self.lost_after => {
                Some(failed(format!("the test process did not end within {}", units::span::format(self.lost_after))))
            }
            Ok(None) => None,
            Err(error) => Some(failed(format!("cannot wait for the test process: {error}"))),
        }
    }

    /// Reads the output of the process. It is shorter than a pipe holds, so that the process could end before anybody
    /// read.
    fn heard(&mut self) -> Outcome {
        let mut text = String::new();
        let read = self.child.stdout.take().map_or(Ok(0), |mut stdout| stdout.read_to_string(&mut text));
        match read.map_err(serde_json::Error::io).and_then(|_| serde_json::from_str(&text)) {
            Ok(spun) => Outcome::Done(spun),
            Err(error) => failed(format!("the test process said nothing to be understood: {error}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(reason: String) -> Outcome {
    Outcome::Failed { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_are_read_at_every_mark() {
        let marks = vec![Duration::from_millis(20), Duration::from_millis(50)];
        let assignment = Assignment { marks, n_threads: 1, demand: Duration::from_millis(5) };
        let spun = spin(&assignment);
        assert_eq!(spun.marks.len(), 2);
        for (mark, wanted) in spun.marks.iter().zip([0.02, 0.05]) {
            assert!(mark.wanted_seconds == wanted && mark.passed_seconds >= wanted, "{mark:?}");
            // Other tests of this process run beside it on the same CPU clock, so no upper bound holds here.
            assert!(mark.used_seconds > 0.0, "{mark:?}");
        }
        assert!(spun.marks[1].used_seconds >= spun.marks[0].used_seconds);
        assert!(spun.reached_seconds.is_some_and(|reached| reached > 0.0));
    }

    #[test]
    fn a_process_that_is_killed_is_a_failed_test() {
        let program = TestProgram { program: "/bin/sh".into(), arguments: ["-c", "kill -9 $$"].map(Into::into).into() };
        check_failed(&program, "ended before its time: signal: 9");
    }

    #[test]
    fn a_process_that_talks_nonsense_is_a_failed_test() {
        let program = TestProgram { program: "/bin/echo".into(), arguments: vec!["hello".into()] };
        check_failed(&program, "nothing to be understood");
    }

    #[track_caller]
    fn check_failed(program: &TestProgram, expected: &str) {
        let assignment = Assignment { marks: vec![Duration::ZERO], n_threads: 1, demand: Duration::ZERO };
        let mut running = Running::start(program, &assignment).unwrap();
        let outcome = loop {
            if let Some(outcome) = running.poll() {
                break outcome;
            }
            thread::yield_now();
        };
        assert!(matches!(&outcome, Outcome::Failed { reason } if reason.contains(expected)), "{outcome:?}");
    }
}
