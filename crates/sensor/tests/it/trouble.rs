//! Files that are missing or cannot be understood.

use std::error::Error;

use sensor::{Host, OpenError, ReadError};
use signal::Readings;

use crate::scene::{Written, read};

const LOAD: &[u8] = b"0.10 0.20 0.30 1/2 3\n";
const MEMORY: &[u8] = b"MemAvailable: 1 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";

#[test]
fn a_root_without_proc_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let OpenError::NoProc { path } = Host::open(root.path()).unwrap_err() else { unreachable!("the only variant") };
    assert_eq!(path, root.path().join("proc"));
}

#[test]
fn a_file_that_cannot_be_understood_costs_only_its_own_signals() {
    let files = Written::new(&[("proc/loadavg", LOAD), ("proc/meminfo", MEMORY)]);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    files.write("proc/loadavg", b"0.10 many 0.30 1/2 3\n");
    let values = read(&mut host, &mut readings, 0);
    assert_eq!(values.keys().collect::<Vec<_>>(), ["memory.available", "swap.free", "swap.used"]);
    assert_eq!(host.n_errors(), 1);
    let error = host.last_error().unwrap().to_string();
    assert!(error.contains("loadavg") && error.contains("0.10 many 0.30"), "{error}");

    files.write("proc/loadavg", LOAD);
    assert_eq!(read(&mut host, &mut readings, 1)["load.1m"], 0.1);
    assert_eq!(host.n_errors(), 1);
}

#[test]
fn a_file_that_breaks_off_takes_back_what_it_said() {
    let heading = "a\nb\n";
    let eth = |bytes: u32| format!("{heading}eth0: {bytes} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    let files = Written::new(&[("proc/net/dev", eth(0).as_bytes())]);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    read(&mut host, &mut readings, 0);
    files.write("proc/net/dev", format!("{}eth1: 7 7", eth(10)).as_bytes());
    assert!(read(&mut host, &mut readings, 1).is_empty());
    assert!(matches!(host.last_error(), Some(ReadError::Malformed { .. })));
}

#[test]
fn a_file_that_vanishes_is_an_error_and_may_come_back() {
    let files = Written::new(&[("proc/loadavg", LOAD)]);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    files.remove("proc/loadavg");
    assert!(read(&mut host, &mut readings, 0).is_empty());
    let error = host.last_error().unwrap();
    assert!(matches!(error, ReadError::Unreadable { .. }) && error.source().is_some(), "{error:?}");
    files.write("proc/loadavg", LOAD);
    assert_eq!(read(&mut host, &mut readings, 1).len(), 3);
}

#[test]
fn what_is_not_there_at_first_is_absent_and_not_looked_for_again() {
    let files = Written::new(&[("proc/loadavg", LOAD)]);
    let mut host = Host::open(files.root()).unwrap();
    let absent: Vec<&str> = host.absent().iter().map(|absent| absent.signal).collect();
    assert_eq!(
        absent,
        [
            "cpu.*",
            "pressure.*",
            "memory.*",
            "swap.*",
            "net.*",
            "disk.*",
            "filesystem.*",
            "cgroup.cpu.*",
            "cgroup.memory.*"
        ]
    );
    assert_eq!(host.absent()[2].reason, "the kernel has no `/proc/meminfo`");
    files.write("proc/meminfo", MEMORY);
    assert!(!read(&mut host, &mut Readings::default(), 0).contains_key("memory.available"));
    assert_eq!(host.n_errors(), 0);
}

#[track_caller]
fn check_cgroup_absent(files: &[(&str, &[u8])], reason: &str) {
    let files = Written::new(files);
    files.write("proc/loadavg", LOAD);
    let host = Host::open(files.root()).unwrap();
    let absent: Vec<_> = host.absent().iter().filter(|absent| absent.signal.starts_with("cgroup")).collect();
    assert_eq!(absent.iter().map(|absent| absent.signal).collect::<Vec<_>>(), ["cgroup.cpu.*", "cgroup.memory.*"]);
    assert!(absent.iter().all(|absent| absent.reason == reason), "{absent:?}");
}

#[test]
fn a_host_s_root_cgroup_is_no_container() {
    let files: [(&str, &[u8]); 2] =
        [("proc/self/cgroup", b"2:cpu:/\n0::/\n"), ("sys/fs/cgroup/unified/cpu.stat", b"usage_usec 1\n")];
    check_cgroup_absent(&files, "this process is in no container: its control group is the root of the host");
}

#[test]
fn a_control_group_whose_hierarchy_is_not_mounted_is_not_seen() {
    let reason = "the control group of this process, `/docker/1`, is not among those that it can see";
    check_cgroup_absent(&[("proc/self/cgroup", b"3:memory:/docker/1\n2:cpu:/docker/1\n")], reason);
}

#[test]
fn a_cgroup_outside_the_namespace_is_not_followed() {
    let files: [(&str, &[u8]); 2] = [("proc/self/cgroup", b"0::/../other\n"), ("sys/fs/other/cpu.stat", b"")];
    check_cgroup_absent(&files, "the control group of this process, `/../other`, is not among those that it can see");
}

#[test]
fn a_service_s_cgroup_is_found_beside_version_1() {
    let files: [(&str, &[u8]); 2] = [
        ("proc/self/cgroup", b"2:cpu:/\n0::/system.slice/foretop.service\n"),
        ("sys/fs/cgroup/unified/system.slice/foretop.service/cpu.stat", b"usage_usec 0\n"),
    ];
    let files = Written::new(&files);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    read(&mut host, &mut readings, 0);
    let stat = "sys/fs/cgroup/unified/system.slice/foretop.service/cpu.stat";
    files.write(stat, b"usage_usec 500000\n");
    let values = read(&mut host, &mut readings, 1);
    assert_eq!(values.into_iter().collect::<Vec<_>>(), [("cgroup.cpu.used".to_owned(), 0.5)]);
}

#[test]
fn a_service_whose_memory_is_not_counted_has_none() {
    let stat = "sys/fs/cgroup/system.slice/foretop.service/cpu.stat";
    let files: [(&str, &[u8]); 2] = [("proc/self/cgroup", b"0::/system.slice/foretop.service\n"), (stat, b"")];
    let files = Written::new(&files);
    let host = Host::open(files.root()).unwrap();
    let absent = host.absent().iter().find(|absent| absent.signal.starts_with("cgroup")).unwrap();
    assert_eq!(absent.signal, "cgroup.memory.*");
    assert_eq!(absent.reason, "the kernel does not count memory by control group where this process is");
}

#[test]
fn a_limit_that_makes_no_sense_or_vanishes_is_an_error_and_no_number() {
    let max = "sys/fs/cgroup/box/memory.max";
    let files: [(&str, &[u8]); 5] = [
        ("proc/self/cgroup", b"0::/box\n"),
        (max, b"300\n"),
        ("sys/fs/cgroup/box/memory.current", b"200\n"),
        ("sys/fs/cgroup/box/memory.stat", b"active_file 40\ninactive_file 10\n"),
        ("sys/fs/cgroup/box/memory.events", b"oom_kill 0\n"),
    ];
    let files = Written::new(&files);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    assert_eq!(read(&mut host, &mut readings, 0)["cgroup.memory.available"], 150.0);
    files.write(max, b"-1\n");
    assert!(read(&mut host, &mut readings, 1).is_empty());
    assert!(matches!(host.last_error(), Some(ReadError::Malformed { .. })));
    files.remove(max);
    assert!(read(&mut host, &mut readings, 2).is_empty());
    assert!(matches!(host.last_error(), Some(ReadError::Unreadable { .. })));
    assert_eq!(host.n_errors(), 2);
}
