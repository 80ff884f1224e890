//! The program by itself: `foretop` starts it, so it calls itself `foretop`. Its commands are tested through `foretop`.
#![forbid(unsafe_code)]

use std::process::Command;

fn output_of(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_foretop-tools")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn usage_and_errors_name_the_program_that_people_type() {
    let (status, help, _) = output_of(&["stream", "--help"]);
    assert!(status == Some(0) && help.contains("Usage: foretop stream"), "{help}");
    let (status, _, error) = output_of(&["workload", "--duration", "x"]);
    assert!(status == Some(2) && error.contains("foretop workload"), "{error}");
}

#[test]
fn its_version_is_the_last_word_that_it_prints() {
    assert_eq!(output_of(&["--version"]).1.split_whitespace().last(), Some(env!("CARGO_PKG_VERSION")));
}
