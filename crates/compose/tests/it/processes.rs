//! Real processes: how they are started again, and that none is left.

use std::path::Path;
use std::time::Duration;

use compose::{ComponentStatus, Plan, RunFolder, State, Supervisor, System};
use testkit::{PATIENCE, wait_until};

use crate::world::{kinds, launcher};

struct Run {
    folder: RunFolder,
    supervisor: Supervisor,
    _parent: tempfile::TempDir,
}

fn start(text: &str) -> Run {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::make_in(parent.path()).unwrap();
    let text = text.replace("DIR", &parent.path().display().to_string());
    let plan = Plan::new(&System::parse(&text, &kinds()).unwrap(), folder.path()).unwrap();
    let supervisor = Supervisor::start(plan, launcher(), &folder.logs()).unwrap();
    Run { folder, supervisor, _parent: parent }
}

impl Run {
    /// Looks after the system until its first component is like this.
    fn wait_for(&mut self, what: &str, is_so: impl Fn(&ComponentStatus) -> bool) -> ComponentStatus {
        wait_until(what, PATIENCE, || {
            self.supervisor.poll(clock::instant());
            Some(self.supervisor.status().swap_remove(0)).filter(&is_so)
        })
    }

    fn wait_for_log(&self, name: &str, text: &str) {
        let path = self.folder.logs().join(format!("{name}.log"));
        wait_until(&format!("{name} says {text}"), PATIENCE, || {
            std::fs::read_to_string(&path).ok().filter(|log| log.contains(text))
        });
    }

    fn pids(&self) -> Vec<u32> {
        self.supervisor.status().iter().filter_map(|status| status.pid).collect()
    }
}

/// Waits until nobody is left of these processes' groups: who was killed runs on until the kernel gets to it.
fn wait_for_end_of_groups(pids: &[u32]) {
    wait_until("the groups are gone", PATIENCE, || pids.iter().copied().all(group_is_gone).then_some(()));
}

/// Whether there is a process in the group that this one leads, itself included.
fn group_is_gone(pid: u32) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    // After the name in parentheses: state, parent, group (proc(5)). A zombie is a process that is gone.
    let fields =
        stats.filter_map(|stat| Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect()));
    let pid = pid.to_string();
    !fields.into_iter().any(|fields: Vec<String>| fields[2] == pid && fields[0] != "Z")
}

#[test]
fn all_end_when_they_are_asked_and_nothing_is_left() {
    let mut run = start("[component.a]\nrun = 'steady'\n[component.b]\nrun = 'steady'\n");
    run.wait_for_log("a", "steady is up");
    run.wait_for_log("b", "steady is up");
    let pids = run.pids();
    assert_eq!(pids.len(), 2);
    run.supervisor.stop(PATIENCE, || false);
    wait_for_end_of_groups(&pids);
    assert!(run.supervisor.failures().is_empty());
}

#[test]
fn one_that_will_not_end_is_killed_with_what_it_started() {
    let mut run = start("[component.a]\nrun = 'stubborn'\n");
    run.wait_for_log("a", "stubborn is up");
    let pids = run.pids();
    run.supervisor.stop(Duration::from_millis(50), || false);
    wait_for_end_of_groups(&pids[..1]);
}

#[test]
fn impatience_ends_the_wait() {
    let mut run = start("[component.a]\nrun = 'stubborn'\n");
    run.wait_for_log("a", "stubborn is up");
    run.supervisor.stop(PATIENCE * 100, || true);
    wait_for_end_of_groups(&run.pids());
}

#[test]
fn one_that_is_killed_is_started_again() {
    let mut run = start("[component.a]\nrun = 'steady'\n");
    run.wait_for_log("a", "steady is up");
    let first = run.pids()[0];
    assert!(std::process::Command::new("kill").args(["-9", &first.to_string()]).status().unwrap().success());
    let status = run.wait_for("it runs again", |status| status.restarts == 1 && status.pid.is_some());
    assert_ne!(status.pid, Some(first));
}

#[test]
fn one_that_fails_again_and_again_has_failed_for_good() {
    let mut run = start("[component.a]\nrun = 'failing'\nrestarts_max = 2\n");
    let status = run.wait_for("it has failed", |status| status.state == State::Failed);
    assert_eq!(status.restarts, 2);
    assert!(run.supervisor.is_over());
    let [(name, words)] = &run.supervisor.failures()[..] else { panic!("one has failed") };
    assert!(name == "a" && words.starts_with("ended with status 3"), "{words}");
    run.wait_for("what it said is told", |status| {
        status.error.as_ref().is_some_and(|error| error.ends_with("it said: there is no such model"))
    });
}

#[test]
fn one_that_comes_to_itself_is_no_failure() {
    let mut run = start("[component.a]\nrun = 'third-time'\nnotes = 'DIR/notes'\n");
    run.wait_for("it runs at the third start", |status| status.restarts == 2 && status.pid.is_some());
    assert!(run.supervisor.failures().is_empty());
}

#[test]
fn one_that_ends_well_is_done_and_is_started_again_where_that_is_asked() {
    let mut run = start("[component.a]\nrun = 'brief'\n");
    run.wait_for("it is done", |status| status.state == State::Done);
    assert!(run.supervisor.is_over() && run.supervisor.failures().is_empty());
    let mut run = start("[component.a]\nrun = 'brief'\nrestart = 'always'\n");
    run.wait_for("it was started again", |status| status.restarts >= 2);
    let mut run = start("[component.a]\nrun = 'failing'\nrestart = 'never'\n");
    assert_eq!(run.wait_for("it has failed", |status| status.state == State::Failed).restarts, 0);
}

#[test]
fn a_program_that_is_not_there_is_told_by_the_component() {
    let parent = tempfile::tempdir().unwrap();
    let folder = RunFolder::make_in(parent.path()).unwrap();
    let plan = Plan::new(&System::parse("[component.a]\nrun = 'steady'\n", &kinds()).unwrap(), folder.path()).unwrap();
    let launcher = compose::Launcher { program: Path::new("/nowhere/foretop").into(), arguments: Vec::new() };
    let error = Supervisor::start(plan, launcher, &folder.logs()).err().unwrap();
    assert_eq!(error.to_string(), "cannot start a");
}
