//! A launcher under a time limit: killed with all its processes if it does not end.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context;
use clock::Stopwatch;
use mpi_job::Process;
use overdecomposition::record::RunEnd;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Interruptions are noticed within this time.
const PACE: Duration = Duration::from_millis(100);
/// Time that a launcher has to end its ranks before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// Limits of a run.
#[derive(Clone, Copy)]
pub struct RunLimits<'a> {
    /// The longest time.
    pub time: Duration,
    /// Files that the output goes to.
    pub outputs: &'a [PathBuf],
    /// The most bytes in these files: a program that prints without end would fill the disk before its time is over.
    pub output_bytes: u64,
}

/// Runs a command to its end or a limit. Returns how it ended and after how many seconds; nothing if an interruption
/// came first. No process is left in any case.
pub fn run(
    mut command: Command,
    limits: RunLimits,
    interrupted: &Receiver<()>,
) -> anyhow::Result<Option<(RunEnd, f64)>> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A group of its own: Ctrl-C at the terminal reaches this process only, which then ends the launcher.
    let mut child = command.process_group(0).spawn().with_context(|| format!("cannot start `{name}`"))?;
    let pid = Pid::from_child(&child);
    let watch = Stopwatch::start();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait().map(|status| (status, watch.elapsed()))));
    loop {
        match ended.recv_timeout(PACE) {
            Ok(done) => {
                let (status, took) = done.context("cannot wait for the launcher")?;
                return Ok(Some((end_of(status), took.as_secs_f64())));
            }
            Err(RecvTimeoutError::Timeout) if interrupted.try_recv().is_ok() => {
                kill(pid, &ended);
                return Ok(None);
            }
            Err(RecvTimeoutError::Timeout) if n_bytes(limits.outputs) > limits.output_bytes => {
                kill(pid, &ended);
                return Ok(Some((RunEnd::Output, watch.elapsed().as_secs_f64())));
            }
            Err(RecvTimeoutError::Timeout) if watch.elapsed() < limits.time => {}
            Err(_) => {
                kill(pid, &ended);
                return Ok(Some((RunEnd::Limit, watch.elapsed().as_secs_f64())));
            }
        }
    }
}

fn n_bytes(outputs: &[PathBuf]) -> u64 {
    outputs.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
}

fn end_of(status: ExitStatus) -> RunEnd {
    match (status.code(), status.signal()) {
        (Some(0), _) => RunEnd::Well,
        (Some(code), _) => RunEnd::Failed(code),
        (None, signal) => RunEnd::Killed(signal.unwrap_or_default()),
    }
}

/// Ends a launcher: by request, and then by force with all processes below it, which may have groups of their own.
fn kill(launcher: Pid, ended: &Receiver<std::io::Result<(ExitStatus, Duration)>>) {
    let below = descendants(launcher.as_raw_nonzero().get().unsigned_abs());
    // Those that are gone already cannot be killed.
    let _ = kill_process_group(launcher, Signal::TERM);
    let is_over = ended.recv_timeout(GRACE).is_ok();
    let _ = kill_process_group(launcher, Signal::KILL);
    for process in below.into_iter().filter(|process| process.is_running()) {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    if !is_over {
        let _ = ended.recv_timeout(GRACE);
    }
}

/// Returns all processes below this one.
fn descendants(root: u32) -> Vec<Process> {
    let Ok(all) = procfs::process::all_processes() else { return Vec::new() };
    let stats: Vec<_> = all.filter_map(|process| process.ok()?.stat().ok()).collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![i32::try_from(root).unwrap_or_default()];
    while let Some(parent) = parents.pop() {
        for stat in stats.iter().filter(|stat| stat.ppid == parent) {
            parents.push(stat.pid);
            found.extend(u32::try_from(stat.pid).map(|pid| Process { pid, started: stat.starttime }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn limits(seconds: u64) -> RunLimits<'static> {
        RunLimits { time: Duration::from_secs(seconds), outputs: &[], output_bytes: u64::MAX }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_that_ends_has_its_status_and_its_time() {
        let (_keep, none) = mpsc::channel();
        assert!(
            matches!(run(shell("exit 0"), limits(3600), &none), Ok(Some((RunEnd::Well, seconds))) if seconds > 0.0)
        );
        assert!(matches!(run(shell("exit 3"), limits(3600), &none), Ok(Some((RunEnd::Failed(3), _)))));
        assert!(matches!(run(shell("kill -9 $$"), limits(3600), &none), Ok(Some((RunEnd::Killed(9), _)))));
        assert!(run(Command::new("/no/such/launcher"), limits(3600), &none).is_err());
    }

    #[test]
    fn a_command_that_prints_without_end_is_killed_before_it_fills_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (_keep, none) = mpsc::channel();
        let path = folder.path().join("output");
        let mut command = shell("while :; do echo more; done");
        command.stdout(std::fs::File::create(&path).unwrap());
        let limits = RunLimits { outputs: &[path], output_bytes: 1_000, ..limits(3600) };
        let ended = run(command, limits, &none).unwrap();
        assert_eq!(ended.map(|(end, _)| end), Some(RunEnd::Output));
    }

    /// A child that ignores requests to end, has left the group of its parent, and writes its number to `child`.
    const STUBBORN: &str = "setsid sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' & wait";

    fn stubborn(folder: &Path) -> Command {
        let _ = std::fs::remove_file(folder.join("child"));
        let mut command = shell(STUBBORN);
        command.current_dir(folder);
        command
    }

    fn child(folder: &Path) -> Option<u32> {
        std::fs::read_to_string(folder.join("child")).ok()?.strip_suffix('\n')?.parse().ok()
    }

    #[track_caller]
    fn check_gone(pid: u32) {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        while !state().is_empty() && !state().contains(") Z ") {
            std::thread::yield_now();
        }
    }

    #[test]
    fn at_an_interruption_processes_below_are_killed_even_in_groups_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, receiver) = mpsc::channel();
        let command = stubborn(folder.path());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while child(folder.path()).is_none() {
                    std::thread::yield_now();
                }
                sender.send(()).unwrap();
            });
            assert!(run(command, limits(3600), &receiver).unwrap().is_none());
        });
        check_gone(child(folder.path()).unwrap());
    }

    #[test]
    fn at_the_limit_processes_below_are_killed_even_in_groups_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (_keep, none) = mpsc::channel();
        // On a busy machine the child may need longer to begin.
        let pid = (0..12).find_map(|power| {
            let ended = run(stubborn(folder.path()), limits(1 << power), &none).unwrap();
            assert_eq!(ended.map(|(end, _)| end), Some(RunEnd::Limit));
            child(folder.path())
        });
        check_gone(pid.unwrap());
    }
}
