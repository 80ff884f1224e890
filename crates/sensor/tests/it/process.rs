//! Processes of recorded and of made-up hosts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use sensor::{ProcessReading, ProcessScan, ProgramKey, ProgramUsage, ScanReport};

use crate::scene::testdata;

const SECOND: Duration = Duration::from_secs(1);

/// The recorded host after both of its ticks, two seconds apart, and what the second scan said.
fn recorded(budget: Duration) -> (ProcessScan, ScanReport) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let mut scan = ProcessScan::open(&root, budget);
    let mut report = None;
    for tick in ["0", "1"] {
        let _ = fs::remove_file(&root);
        symlink(testdata().join("processes").join(tick), &root).unwrap();
        report = Some(scan.scan(if tick == "0" { 10 * SECOND } else { 12 * SECOND }));
    }
    (scan, report.unwrap())
}

fn process(scan: &ProcessScan, pid: u32) -> ProcessReading {
    scan.processes().find(|process| process.pid == pid).unwrap().clone()
}

#[test]
fn names_and_figures_are_those_of_the_same_process() {
    let (scan, _) = recorded(Duration::MAX);
    let odd = process(&scan, 200);
    assert_eq!((odd.name.as_str(), odd.state, odd.cpu_cores), (") R 1 (", 'S', Some(0.25)));
    assert_eq!(odd.program.container.as_deref(), Some("docker:3f4e0a1b2c3d"));
    let unreadable = process(&scan, 400);
    assert_eq!(unreadable.name, "\\xffodd \n name");
    assert_eq!((unreadable.read_bytes_per_sec, unreadable.swap_bytes), (None, None), "unknown and not 0");
    assert_eq!(unreadable.program.container.as_deref(), Some("kubernetes:3f4e0a1b2c3d"));
    let postgres = process(&scan, 100);
    assert_eq!(postgres.program.unit.as_deref(), Some("postgresql.service"));
    assert_eq!((postgres.cpu_cores, postgres.written_bytes_per_sec), (Some(0.5), Some(1024.0)));
    assert_eq!(postgres.swap_bytes, Some(64 << 10));
    assert_eq!(process(&scan, 7).program.name, "kworker");
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let (scan, report) = recorded(Duration::MAX);
    let another = process(&scan, 300);
    // All that it has used since it began, which was after the scan before.
    assert_eq!((another.name.as_str(), another.cpu_cores), ("another", Some(0.05)));
    assert_eq!(another.read_bytes_per_sec, Some(256.0));
    assert!(scan.processes().all(|process| ![301, 600].contains(&process.pid)), "they are gone");
    assert_eq!((report.n_processes, report.n_left_out), (10, 0));
}

#[test]
fn programs_and_the_short_lived_add_up_to_what_the_cores_did() {
    let (mut scan, report) = recorded(Duration::MAX);
    // 400 ticks of tasks in 2 s, of which 270 by name.
    assert_eq!(report.short_lived_cores, Some(0.65));
    let usage = scan.take_usage();
    assert_eq!(usage.short_lived, Some(Duration::from_millis(1300)));
    let all: Duration = usage.programs.iter().map(|(_, usage)| usage.cpu).sum();
    assert_eq!(all, Duration::from_millis(2700));
    let programs: BTreeMap<ProgramKey, ProgramUsage> =
        usage.programs.iter().map(|(program, usage)| ((**program).clone(), *usage)).collect();
    let postgres =
        ProgramKey { name: "postgres".to_owned(), unit: Some("postgresql.service".to_owned()), container: None };
    let (pages, cpu) = (procfs::page_size(), Duration::from_millis(1400));
    let expected = ProgramUsage { cpu, memory_bytes: 21_500 * pages, read_bytes: Some(0), written_bytes: Some(2048) };
    assert_eq!(programs[&postgres], expected);
    let unreadable = programs.iter().find(|(program, _)| program.name.ends_with("name")).unwrap().1;
    assert_eq!((unreadable.read_bytes, unreadable.written_bytes), (None, None));
    assert_eq!(scan.take_usage().short_lived, Some(Duration::ZERO), "the rest was taken before");
}

#[test]
fn what_a_budget_leaves_out_is_counted() {
    let (scan, report) = recorded(Duration::ZERO);
    assert_eq!(scan.processes().count(), 0);
    assert_eq!((report.n_processes, report.n_left_out), (10, 10));
}

/// Writes a process that has used so many ticks.
fn write(root: &Path, pid: u32, used_ticks: u64) {
    let directory = root.join(format!("proc/{pid}"));
    fs::create_dir_all(&directory).unwrap();
    let zeros = "0 ".repeat(15);
    let stat = format!("{pid} (a) S 1 1 1 0 -1 0 0 0 0 0 {used_ticks} 0 0 0 20 0 1 0 5 {zeros}17 0 0 0");
    fs::write(directory.join("stat"), stat).unwrap();
}

#[test]
fn what_rests_is_read_in_its_turn_and_what_works_each_time() {
    let root = tempfile::tempdir().unwrap();
    (1..=300).for_each(|pid| write(root.path(), pid, 10));
    let mut scan = ProcessScan::open(root.path(), Duration::MAX);
    scan.scan(Duration::ZERO);
    // Twenty of them are read at each scan, and all of them in fifteen.
    (1..=300).for_each(|pid| write(root.path(), pid, 20));
    for at_s in 1..=15 {
        assert_eq!(scan.scan(SECOND * at_s).n_left_out, 0);
    }
    let used: Duration = scan.take_usage().programs.iter().map(|(_, usage)| usage.cpu).sum();
    assert_eq!(used, Duration::from_secs(30));
    // One that works is read at each scan from the one on that found it at work.
    for (at_s, used_ticks) in (16..=40).zip(21..) {
        write(root.path(), 30, used_ticks);
        scan.scan(SECOND * at_s);
    }
    assert_eq!(process(&scan, 30).cpu_cores, Some(0.01));
}

#[test]
fn those_that_may_not_be_seen_are_not_taken_for_short_lived() {
    let root = tempfile::tempdir().unwrap();
    // `hidepid`: the first process is another user's.
    write(root.path(), 30, 10);
    fs::write(root.path().join("proc/stat"), "cpu 100 0 0 0 0 0 0 0 0 0\n").unwrap();
    let mut scan = ProcessScan::open(root.path(), Duration::MAX);
    scan.scan(SECOND);
    fs::write(root.path().join("proc/stat"), "cpu 200 0 0 0 0 0 0 0 0 0\n").unwrap();
    assert_eq!(scan.scan(SECOND * 2).short_lived_cores, None);
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(ProcessScan::open(nothing.path(), Duration::MAX).scan(SECOND).n_processes, 0);
}
