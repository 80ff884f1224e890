//! `foretop dedup plan`, by the published tables.

use std::process::{Command, Output};

fn plan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretop-dedup")).arg("plan").args(arguments).output().unwrap()
}

#[test]
fn a_plan_has_the_published_figures_and_the_formulas() {
    let output = plan(&["--data", "100GB", "--redundancy", "75%"]);
    let told = String::from_utf8(output.stdout).unwrap();
    for row in ["published defaults", "2.28", "1.90", "84", "one level, 160 bits", "1.14", "2.16 %", "1.56 %"] {
        assert!(told.contains(row), "there is no {row} in\n{told}");
    }
    // A quarter of it is new, and remembered with its anchors.
    for line in ["23.3 GiB of 100GB, 4.0:1", "24.4 GiB to remember"] {
        assert!(told.contains(line), "there is no {line} in\n{told}");
    }
}

#[test]
fn a_plan_for_little_has_no_impossible_figures() {
    let told = String::from_utf8(plan(&["--data", "1MB", "--redundancy", "99.999%"]).stdout).unwrap();
    // There are 31,250 segments in all.
    assert!(told.contains("1.00 KiB of index") && told.contains(" 31250 "), "{told}");
}

#[test]
fn a_plan_without_anything_new_is_refused() {
    for arguments in [["--data", "1GB", "--redundancy", "100%"], ["--data", "0B", "--redundancy", "50%"]] {
        assert_eq!(plan(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}
