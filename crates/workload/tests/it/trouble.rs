//! What a load says when it cannot be made or is no longer whole.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

use testkit::{PATIENCE, wait_until};
use workload::{LoadError, Worker};

use crate::host::{scenario, start, worker_with_scratch_in};

#[test]
fn a_program_that_is_not_there_cannot_be_started() {
    let worker = Worker { program: PathBuf::from("/nowhere/at-all"), arguments: Vec::new() };
    let error = scenario("one-spinner").start(1, &worker).unwrap_err();
    assert!(matches!(error, LoadError::Start { .. }), "{error}");
    assert_eq!(error.to_string(), "cannot start `/nowhere/at-all` as a worker");
}

#[test]
fn a_program_that_is_no_worker_is_told_from_one() {
    let worker = Worker { program: PathBuf::from("/bin/echo"), arguments: vec!["hello".into()] };
    let error = scenario("one-spinner").start(1, &worker).unwrap_err();
    assert!(matches!(error, LoadError::NoWorker { .. }), "{error}");
}

#[test]
fn a_program_that_ends_at_once_has_ended_by_itself() {
    let worker = Worker { program: PathBuf::from("/bin/false"), arguments: Vec::new() };
    let error = scenario("one-spinner").start(1, &worker).unwrap_err();
    assert!(matches!(error, LoadError::Ended { status } if status.code() == Some(1)), "{error}");
}

#[test]
fn a_worker_that_was_killed_is_noticed() {
    let mut load = start("two-spinners");
    load.check().unwrap();
    let id = load.process_ids()[1].to_string();
    assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
    let error = wait_until("it is noticed", PATIENCE, || load.check().err());
    assert!(matches!(error, LoadError::Ended { .. }), "{error}");
    assert!(load.stop().is_err(), "it stays that way");
}

#[test]
fn a_scratch_directory_that_is_not_there_is_named() {
    let error = scenario("disk").start(1, &worker_with_scratch_in(Path::new("/nowhere/at-all"))).unwrap_err();
    assert!(
        matches!(&error, LoadError::Scratch { directory, .. } if directory.as_os_str() == "/nowhere/at-all"),
        "{error}"
    );
}

#[test]
fn a_scratch_directory_whose_name_is_not_text_is_shown_as_far_as_it_is() {
    let directory = Path::new(OsStr::from_bytes(b"/nowhere/\xff"));
    let error = scenario("disk").start(1, &worker_with_scratch_in(directory)).unwrap_err();
    assert!(error.to_string().contains("`/nowhere/\u{fffd}`"), "{error}");
}

#[test]
fn an_order_that_no_load_gives_is_refused() {
    for arguments in [vec![], vec![OsString::from("{}")], vec!["a".into(), "b".into()]] {
        let error = workload::work(&arguments).unwrap_err();
        assert!(matches!(error, LoadError::Order { .. }), "{error}");
    }
}
