//! The arm that reads /proc, on a made-up tree and on this host.

use std::fs;
use std::path::Path;

use kernel::{Account, Arm, Error, FromProc, find};

#[test]
fn vm_counts_of_proc_stand_under_all_faults_and_internal() {
    let root = tempfile::tempdir().unwrap();
    let write = |fault| {
        let text = format!("pgfault {fault}\npgmajfault 3\npgactivate 7\npswpout 0\n");
        fs::write(root.path().join("vmstat"), text).unwrap();
    };
    write(100);
    let vm = find("vm").unwrap();
    let mut arm = FromProc::new(root.path(), vm);
    let mut account = Account::begin(vm, arm.read().unwrap());
    write(150);
    let summary = account.advance(arm.read().unwrap()).unwrap();
    assert_eq!(summary.points[18].all.count, Some(50));
    assert_eq!((summary.points[18].all.time_ns, summary.points[0].all.count), (None, None));
    assert!(summary.contradictions.is_empty());
}

#[test]
fn a_file_without_the_line_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("stat"), "cpu 1 2 3\n").unwrap();
    let error = FromProc::new(root.path(), find("task").unwrap()).read().unwrap_err();
    assert!(matches!(&error, Error::Malformed { what: "processes", .. }), "{error}");
}

#[test]
fn every_subsystem_has_counts_without_root() {
    // What MPI programs call stands in their rings.
    for subsystem in kernel::all().iter().copied().filter(|subsystem| subsystem.name != "mpi") {
        let reading = FromProc::new(Path::new("/proc"), subsystem).read().unwrap();
        assert!(!reading.cells.is_empty(), "{}", subsystem.name);
    }
}
