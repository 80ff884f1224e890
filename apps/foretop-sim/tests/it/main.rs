//! The program as it is typed.

mod kernel;
mod machine;
mod mpi;
mod replay;
mod taken_over;

use std::path::PathBuf;
use std::process::{Command, Output};

/// The program with these arguments, in the project's folder.
fn sim(arguments: &[&str]) -> Output {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    Command::new(env!("CARGO_BIN_EXE_foretop-sim")).args(arguments).current_dir(root).output().unwrap()
}

/// What it printed, where it ended well.
#[track_caller]
fn done(arguments: &[&str]) -> String {
    let output = sim(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What it complained about, where it ended with this status.
#[track_caller]
fn refused(status: i32, arguments: &[&str]) -> String {
    let output = sim(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}
