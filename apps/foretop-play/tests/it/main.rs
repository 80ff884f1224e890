//! `foretop play` as its user meets it: sound in, sound out.

mod medium;
mod play;
mod root;
mod server;
mod simulate;

use std::path::Path;
use std::process::{Command, Output};

/// The program with these arguments, in this folder.
fn foretop_play(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretop-play")).args(arguments).current_dir(folder).output().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[track_caller]
fn fails(output: &Output, status: i32, told: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{err}");
    assert!(err.contains(told) && !err.contains("panicked"), "{err}");
}
