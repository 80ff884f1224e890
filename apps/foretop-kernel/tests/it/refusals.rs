//! What makes no sense is refused with a remedy; what needs no root works without.

use crate::kernel;

#[track_caller]
fn check_refused(arguments: &[&str], parts: &[&str]) {
    let output = kernel(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    for part in parts {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn an_unknown_subsystem_is_refused_with_those_that_there_are() {
    check_refused(&["watch", "vmm", "--source", "proc"], &["`vmm`", "filesystem", "task", "vm"]);
}

#[test]
fn an_agent_does_not_begin_with_points_that_are_none() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "[[point]]\nlabel = \"a\"\ntracepoint = \"t\"\nsize = 9\n").unwrap();
    check_refused(&["agent", "--points", file.path().to_str().unwrap()], &["the point `a`", "give 1 to 4"]);
}

#[test]
fn a_budget_without_sense_is_refused() {
    check_refused(&["watch", "--budget", "120%"], &["120%", "`1%`"]);
}

#[test]
fn size_groups_out_of_order_are_refused() {
    check_refused(&["watch", "fs", "--source", "proc", "--groups", "64,8"], &["`64,8`", "out of order"]);
}

#[test]
fn proc_cannot_tell_a_process_tree_from_the_host() {
    check_refused(&["watch", "fs", "--source", "proc", "--node", "tree:1"], &["/proc cannot tell"]);
}

#[test]
fn rings_of_mpi_programs_tell_whose_they_are_without_root() {
    let arguments = ["--source", "proc", "--node", "tree:1", "--interval", "50 ms", "--for", "50 ms"];
    let output = kernel(&[&["watch", "mpi"], &arguments[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    check_refused(&[&["watch", "mpi", "fs"], &arguments[..]].concat(), &["/proc cannot tell"]);
}

#[test]
fn proc_writes_the_same_tables_without_root() {
    let output = kernel(&["watch", "--source", "proc", "--interval", "50 ms", "--for", "50 ms"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in ["CPU Utilization", "(from /proc)", "VM", "File System", "Task", "/proc lacks", "probes: 0.00 %"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}
