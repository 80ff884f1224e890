//! What only root can have, or whoever has the right to it: real-time priority and control groups.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use testkit::{PATIENCE, wait_until};
use workload::{ControlGroup, Load, ShortGroup};

use crate::host::{start, stat_of_running, ticks, wait_for_ticks, wait_until_gone};
use crate::scenario::Holder;

#[test]
#[ignore = "needs root; run by make test"]
fn a_real_time_process_computes_first_in_first_out() {
    let load = start("real-time");
    let ids = load.process_ids();
    assert_eq!(ids.len(), 1);
    wait_for_ticks(&ids, 3);
    let stat = stat_of_running(ids[0]);
    // 1 is SCHED_FIFO.
    assert_eq!((stat.policy, stat.rt_priority), (Some(1), Some(1)));
    drop(load);
    wait_until_gone(&ids);
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_group_limited_to_half_a_core_gives_half_a_core() {
    let load = start("limited-to-half");
    let group = load.group().unwrap();
    assert!(load.process_ids().is_empty() && members(group).is_empty());
    let inside = group.enter().unwrap();
    assert_eq!(members(group), [std::process::id()]);
    inside.leave().unwrap();
    check_limit(&load, 0.5);
    check_removed(load);
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_limited_spinner_shares_the_limit_with_whoever_comes() {
    let load = start("limited-with-spinner");
    let group = load.group().unwrap();
    assert_eq!(members(group), load.process_ids());
    wait_for_ticks(&load.process_ids(), 3);
    check_limit(&load, 1.5);
    check_removed(load);
}

/// Checks that the limit is `cores`, and that two processes that come to those in the group keep it.
#[track_caller]
fn check_limit(load: &Load, cores: f64) {
    let group = load.group().unwrap();
    assert_eq!(limit(group), cores);
    let guests = [start("one-spinner"), start("one-spinner")];
    let ids: Vec<u32> = guests.iter().flat_map(Load::process_ids).collect();
    ids.iter().for_each(|id| group.adopt(*id).unwrap());
    let all = members(group);
    let used = || all.iter().map(|id| ticks(*id)).sum::<u64>() as f64;
    // The periods that pass, by the kernel's own count, tell how much the group can have.
    let (periods, before) = (n_periods(group), used());
    let passed = wait_until("some periods have passed", PATIENCE, || {
        let passed = n_periods(group) - periods;
        (passed >= 20).then_some(passed)
    });
    // A period is 10 ticks. Two periods' worth may be left over from before, or be counted late.
    let most = (passed + 2) as f64 * 10.0 * cores;
    assert!(used() - before <= most, "{} of {most} ticks", used() - before);
}

/// How many cores the group may use, by the files of either version.
fn limit(group: &ControlGroup) -> f64 {
    let read = |name: &str| fs::read_to_string(group.directory().join(name));
    let text = read("cpu.max")
        .or_else(|_| Ok::<_, io::Error>(read("cpu.cfs_quota_us")? + &read("cpu.cfs_period_us")?))
        .unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers[0] / numbers[1]
}

fn n_periods(group: &ControlGroup) -> u64 {
    let text = fs::read_to_string(group.directory().join("cpu.stat")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("nr_periods ")).expect("the kernel counts it");
    line.parse().unwrap()
}

fn members(group: &ControlGroup) -> Vec<u32> {
    let text = fs::read_to_string(group.directory().join("cgroup.procs")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Checks that the group goes with its load.
#[track_caller]
fn check_removed(load: Load) {
    let directory = load.group().unwrap().directory().to_owned();
    assert!(directory.exists());
    drop(load);
    assert!(!directory.exists());
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_process_that_stays_in_the_group_keeps_it_until_it_leaves() {
    let load = start("limited-to-half");
    let directory = load.group().unwrap().directory().to_owned();
    let inside = load.group().unwrap().enter().unwrap();
    drop(load);
    assert!(directory.exists(), "this process is in it");
    drop(inside);
    wait_until_removed(&directory);
}

#[test]
#[ignore = "needs root; run by make test"]
fn nothing_is_left_of_a_privileged_load_whose_maker_was_killed() {
    for name in ["real-time", "limited-to-half", "limited-with-spinner"] {
        let holder = Holder::start(name);
        let (ids, group) = holder.kill();
        wait_until_gone(&ids);
        assert_eq!(group.is_some(), name.starts_with("limited"));
        group.iter().for_each(|directory: &PathBuf| wait_until_removed(directory));
    }
}

fn wait_until_removed(directory: &Path) {
    wait_until("the group is removed", PATIENCE, || (!directory.exists()).then_some(()));
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_user_without_the_right_is_told_so() {
    // Where everybody may run it, wherever it was built.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("load");
    fs::copy(env!("CARGO_BIN_EXE_workload-for-tests"), &program).unwrap();
    for (name, error) in [("real-time", "NotPermitted { step: RealTime"), ("limited-to-half", "Group {")] {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let output = Command::new("setpriv").args(nobody).arg(&program).args(["hold", name]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(error), "{said}");
    }
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_program_in_a_memory_group_is_limited_and_the_group_goes() {
    let group = ShortGroup::of_memory(32 << 20).unwrap();
    let directory = group.directory().to_owned();
    let said = group.command("cat").arg("/proc/self/cgroup").output().unwrap();
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert!(String::from_utf8(said.stdout).unwrap().contains(name));
    // 64 MiB do not fit, and without swap nothing makes room.
    let copied = group.command("sh").args(["-c", "x=$(head -c 67108864 /dev/zero | tr '\\0' x); echo ${#x}"]).output();
    let copied = String::from_utf8(copied.unwrap().stdout).unwrap();
    let has_swap = fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1;
    assert!(has_swap || (!copied.starts_with("67108864") && group.n_killed() > 0), "{copied}");
    drop(group);
    assert!(!directory.exists());
}
