//! `foretop sim machine`.

use crate::{done, refused};

#[test]
fn a_machine_is_shown_with_what_its_messages_cost() {
    let shown = done(&["machine", "show", "examples/sim/two-sites.toml"]);
    assert!(shown.starts_with("two sites, 32 ranks\n"), "{shown}");
    let wan = shown.lines().find(|line| line.starts_with("wan")).unwrap();
    assert!(wan.contains("0 to 16") && wan.contains("64KiB") && wan.contains("10.1 ms"), "{shown}");
}

#[test]
fn a_machine_that_makes_no_sense_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.toml");
    std::fs::write(
        &file,
        "format = 1\n[[site]]\nname = \"a\"\nnodes = 1\ncores = 2\n[level.node]\nlatency = \"-1us\"\n",
    )
    .unwrap();
    let told = refused(2, &["machine", "check", file.to_str().unwrap()]);
    assert!(told.contains("line 7, column 11") && told.contains("negative") && told.lines().count() == 1, "{told}");
    let told = refused(2, &["machine", "show", "examples/sim/two-sites.toml", "--ranks", "33"]);
    assert!(told.contains("33 ranks are more than the machine's 32 cores"), "{told}");
    let told = refused(1, &["machine", "check", "/nowhere/machine.toml"]);
    assert!(told.contains("cannot read the machine"), "{told}");
}

#[test]
fn what_costs_time_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.toml");
    std::fs::write(&file, "format = 1\n[[site]]\nname = \"a\"\nnodes = 1\ncores = 2\n[level.node]\nlatency = \"0s\"\n")
        .unwrap();
    let told = done(&["machine", "check", file.to_str().unwrap()]);
    assert!(told.starts_with("note: level `node`") && told.contains("up to 2 ranks"), "{told}");
}
