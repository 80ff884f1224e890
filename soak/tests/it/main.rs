//! The program from outside; a run of it is the part `chaos` of `make test`.

use std::process::Command;

#[test]
fn without_a_program_to_test_it_does_nothing() {
    let ended = Command::new(env!("CARGO_BIN_EXE_soak")).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(2) && said.contains("--foretop <PATH>"), "{said}");
}
