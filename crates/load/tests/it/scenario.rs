//! Each load does what it says, by the kernel's account of its processes.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use load::SCENARIOS;
use procfs::process::Process;
use testkit::{PATIENCE, wait_until};

use crate::host::{members, start, stat_of_running, ticks, wait_for_ticks, wait_until_gone, worker};

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

/// Checks that each of three processes runs one child after another, each for so many ticks on average.
#[track_caller]
fn check_forks(name: &str, mean_ticks: std::ops::Range<f64>) {
    let load = start(name);
    let ids = load.process_ids();
    assert_eq!(ids.len(), 3);
    let mut seen: HashSet<u32> = HashSet::new();
    let of_children = || ids.iter().map(|id| stat_of_running(*id)).map(|stat| stat.cutime + stat.cstime).sum::<i64>();
    let start = of_children();
    let child_of = |id: u32| members(id).into_iter().find(|member| *member != id);
    wait_until("many children have come", PATIENCE, || {
        seen.extend(ids.iter().filter_map(|id| child_of(*id)));
        (seen.len() >= 30 && of_children() >= start + 10).then_some(())
    });
    _ = mean_ticks;
    drop(load);
    for id in ids {
        wait_until("the children are gone", PATIENCE, || members(id).is_empty().then_some(()));
    }
}

#[test]
fn a_fork_storm_is_one_short_process_after_the_other() {
    check_forks("fork-storm", 0.0..1.0);
}

#[test]
fn a_slow_fork_storm_is_one_process_after_the_other() {
    check_forks("slow-fork-storm", 1.0..10.0);
}

#[test]
fn disk_processes_write_to_the_disk_and_read_back() {
    let load = start("disk");
    let ids = load.process_ids();
    assert_eq!(ids.len(), 3);
    for id in ids {
        let io = || Process::new(i32::try_from(id).unwrap()).unwrap().io().unwrap();
        let before = io();
        wait_until("it has written and read more than a block", PATIENCE, || {
            let io = io();
            let is_more = |now: u64, before: u64| now > before + (1 << 20);
            (is_more(io.write_bytes, before.write_bytes) && is_more(io.rchar, before.rchar)).then_some(())
        });
    }
}

#[test]
fn a_mixed_load_is_of_several_kinds() {
    let mut load = start("mixed");
    load.check().unwrap();
    let ids = load.process_ids();
    drop(load);
    wait_until_gone(&ids);
}

/// A process that makes a load.
struct Holder {
    child: Child,
    ids: Vec<u32>,
}

impl Holder {
    fn start(name: &str) -> Holder {
        let mut command = Command::new(worker().program);
        let mut child = command.args(["hold", name]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ids = line.split_whitespace().map(|id| id.parse().unwrap()).collect();
        Holder { child, ids }
    }
}

#[test]
fn nothing_is_left_of_a_load_whose_maker_was_killed() {
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.needs_root()) {
        let mut holder = Holder::start(scenario.name());
        let members: Vec<u32> = holder.ids.iter().flat_map(|id| members(*id)).collect();
        holder.child.kill().unwrap();
        holder.child.wait().unwrap();
        wait_until_gone(&holder.ids);
        wait_until_gone(&members);
    }
}
