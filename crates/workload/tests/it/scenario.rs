//! Each load does what it says, by the kernel's account of its processes.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use procfs::process::Process;
use testkit::{PATIENCE, wait_until};
use workload::SCENARIOS;

use crate::host::{
    members, scenario, start, stat, stat_of_running, ticks, wait_for_ticks, wait_until_gone, worker,
    worker_with_scratch_in,
};

#[test]
fn an_idle_load_is_nothing() {
    let mut load = start("idle");
    assert!(load.process_ids().is_empty() && load.group().is_none());
    load.check().unwrap();
}

/// Checks that `name` is `n` processes that compute all the time, in so many threads and with this nice value.
#[track_caller]
fn check_spinners(name: &str, n: usize, n_threads: usize, nice: i64) {
    let mut load = start(name);
    let ids = load.process_ids();
    assert_eq!(ids.len(), n);
    wait_for_ticks(&ids, 3);
    for id in &ids {
        let process = Process::new(i32::try_from(*id).unwrap()).unwrap();
        let threads = || process.tasks().unwrap().flatten().map(|task| task.stat().unwrap());
        let computing = || threads().filter(|thread| thread.state == 'R').count();
        wait_until("all threads compute", PATIENCE, || (computing() == n_threads).then_some(()));
        assert!(threads().all(|thread| thread.nice == nice), "all threads, the one that watches included");
    }
    load.check().unwrap();
    drop(load);
    wait_until_gone(&ids);
}

#[test]
fn niced_spinners_compute_at_nice_19() {
    check_spinners("niced-spinners", 2, 1, 19);
}

#[test]
fn one_spinner_computes_at_the_nice_value_it_was_started_with() {
    check_spinners("one-spinner", 1, 1, own_nice());
}

#[test]
fn two_spinners_are_two() {
    check_spinners("two-spinners", 2, 1, own_nice());
}

#[test]
fn four_spinners_are_four() {
    check_spinners("four-spinners", 4, 1, own_nice());
}

#[test]
fn four_threads_are_of_one_process() {
    check_spinners("four-threads", 1, 4, own_nice());
}

fn own_nice() -> i64 {
    Process::myself().unwrap().stat().unwrap().nice
}

#[test]
fn processes_on_one_core_are_confined_to_the_same_core() {
    let load = start("one-core");
    let ids = load.process_ids();
    wait_for_ticks(&ids, 3);
    let cores: HashSet<_> = ids.iter().map(|id| stat_of_running(*id).processor).collect();
    assert_eq!((ids.len(), cores.len()), (3, 1));
    for id in ids {
        let status = Process::new(i32::try_from(id).unwrap()).unwrap().status().unwrap();
        let allowed: u32 = status.cpus_allowed.unwrap().iter().map(|word| word.count_ones()).sum();
        assert_eq!(allowed, 1);
    }
}

/// Checks that a process computes, and goes to sleep of its own accord many times meanwhile.
#[track_caller]
fn check_works_and_sleeps(id: u32) {
    let sleeps = || {
        let status = Process::new(i32::try_from(id).unwrap()).unwrap().status().unwrap();
        status.voluntary_ctxt_switches.unwrap()
    };
    let (ticks_before, sleeps_before) = (ticks(id), sleeps());
    wait_until("it has worked", PATIENCE, || (ticks(id) >= ticks_before + 30).then_some(()));
    wait_until("it has slept", PATIENCE, || (sleeps() >= sleeps_before + 5).then_some(()));
}

#[test]
fn bursty_processes_work_and_sleep_in_turns() {
    let load = start("bursty");
    assert_eq!(load.process_ids().len(), 3);
    load.process_ids().into_iter().for_each(check_works_and_sleeps);
}

#[test]
fn bursty_processes_beside_a_spinner_still_work_and_sleep() {
    let load = start("bursty-and-spinner");
    let ids = load.process_ids();
    assert_eq!(ids.len(), 3);
    check_works_and_sleeps(ids[0]);
    check_works_and_sleeps(ids[1]);
    wait_for_ticks(&ids[2..], 10);
}

/// Checks that each of three processes runs one child after another, and that one is seen that had so many ticks.
#[track_caller]
fn check_forks(name: &str, n_ticks: u64) {
    let load = start(name);
    let ids = load.process_ids();
    assert_eq!(ids.len(), 3);
    let children_of = |id: u32| members(id).into_iter().filter(move |member| *member != id);
    let (mut seen, mut longest) = (HashSet::new(), 0);
    wait_until("many children have come", PATIENCE, || {
        for child in ids.iter().flat_map(|id| children_of(*id)) {
            seen.insert(child);
            longest = longest.max(stat(child).map_or(0, |stat| stat.utime + stat.stime));
        }
        (seen.len() >= 30 && longest >= n_ticks).then_some(())
    });
    drop(load);
    for id in ids {
        wait_until("the children are gone", PATIENCE, || members(id).is_empty().then_some(()));
    }
}

#[test]
fn a_fork_storm_is_one_short_process_after_the_other() {
    check_forks("fork-storm", 0);
}

#[test]
fn a_slow_fork_storm_is_one_process_of_tens_of_milliseconds_after_the_other() {
    check_forks("slow-fork-storm", 3);
}

#[test]
fn disk_processes_write_to_the_disk_and_read_back() {
    // Where programs are built there is a disk, and not memory.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let load = scenario("disk").start(1, &worker_with_scratch_in(directory.path())).unwrap();
    let ids = load.process_ids();
    assert_eq!(ids.len(), 3);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0, "the files have no names that could stay");
    for id in ids {
        let io = || Process::new(i32::try_from(id).unwrap()).unwrap().io().unwrap();
        let before = io();
        wait_until("it has written and read more than a block", PATIENCE, || {
            let io = io();
            let is_more = |now: u64, before: u64| now > before + (1 << 20);
            (is_more(io.write_bytes, before.write_bytes) && is_more(io.read_bytes, before.read_bytes)).then_some(())
        });
    }
}

/// With this seed the first process of the mixed load comes after 0.37 s.
const SEED_OF_EARLY_CHANGE: u64 = 2;

#[test]
fn the_processes_of_a_mixed_load_come_and_go() {
    let mut load = scenario("mixed").start(SEED_OF_EARLY_CHANGE, &worker()).unwrap();
    let before = load.process_ids();
    wait_until("one has come or gone", PATIENCE, || (load.process_ids() != before).then_some(()));
    load.check().unwrap();
    let ids = load.process_ids();
    drop(load);
    wait_until_gone(&ids);
}

/// A process that makes a load.
pub struct Holder {
    child: Child,
    ids: Vec<u32>,
    group: Option<PathBuf>,
}

impl Holder {
    /// Returns when the load is made.
    pub fn start(name: &str) -> Holder {
        let mut command = Command::new(worker().program);
        let mut child = command.args(["hold", name]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(|line| line.unwrap());
        let ids = lines.next().unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect();
        let group = lines.next().filter(|line| !line.is_empty()).map(PathBuf::from);
        Holder { child, ids, group }
    }

    /// Gives the workers that it had, their children included, and its control group.
    pub fn kill(mut self) -> (Vec<u32>, Option<PathBuf>) {
        let ids = self.ids.iter().flat_map(|id| members(*id)).collect();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (ids, self.group)
    }
}

#[test]
fn nothing_is_left_of_a_load_whose_maker_was_killed() {
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.needs_root()) {
        let (ids, _) = Holder::start(scenario.name()).kill();
        assert!(!ids.is_empty() || ["idle", "mixed"].contains(&scenario.name()));
        wait_until_gone(&ids);
    }
}
