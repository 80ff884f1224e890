//! `foretop NAME` for programs of their own, names that nobody knows, old names, and the lists of all commands.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::command::{Ended, end_of, foretop, run};

/// Prints what it is given and ends with a status of its own.
const SCRIPT: &str = "#!/bin/sh\necho \"$GREETING\" \"$@\"\nexit 7\n";

fn program(folder: &Path, name: &str, mode: u32) {
    let path = folder.join(name);
    fs::write(&path, SCRIPT).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
}

fn with_path(path: &str, args: &[&str]) -> Ended {
    end_of(foretop().args(args).env("PATH", path).env("GREETING", "hello"))
}

#[test]
fn a_program_in_path_gets_arguments_and_surroundings_and_gives_its_status() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "foretop-greet", 0o755);
    let path = format!("/nowhere:{}", folder.path().display());
    let ended = with_path(&path, &["greet", "--node", "a b", "-h"]);
    assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (7, "hello --node a b -h\n", ""));
    assert_eq!(with_path(&path, &["help", "greet"]).stdout, "hello --help\n");
}

#[test]
fn a_program_beside_this_one_comes_before_those_in_path() {
    let (beside, searched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = beside.path().join("foretop");
    fs::copy(env!("CARGO_BIN_EXE_foretop"), &own).unwrap();
    fs::write(beside.path().join("foretop-greet"), "#!/bin/sh\necho beside\n").unwrap();
    fs::set_permissions(beside.path().join("foretop-greet"), Permissions::from_mode(0o755)).unwrap();
    program(searched.path(), "foretop-greet", 0o755);
    let ended = end_of(Command::new(own).arg("greet").env("PATH", searched.path()));
    assert_eq!(ended.output(), "beside\n");
}

#[test]
fn a_program_of_another_version_is_named_and_started_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("foretop");
    fs::copy(env!("CARGO_BIN_EXE_foretop"), &own).unwrap();
    let old = folder.path().join("foretop-sim");
    fs::write(&old, "#!/bin/sh\necho foretop-sim 0.0.1\n").unwrap();
    fs::set_permissions(&old, Permissions::from_mode(0o755)).unwrap();
    let ended = end_of(Command::new(own).args(["sim", "run"]));
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "foretop-sim 0.0.1\n"));
    assert!(ended.stderr.contains("foretop-sim` is version 0.0.1, this is "), "{}", ended.stderr);
}

#[test]
fn a_command_whose_program_is_not_built_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("foretop");
    fs::copy(env!("CARGO_BIN_EXE_foretop"), &own).unwrap();
    for command in ["mpi", "pred-reconfig"] {
        let ended = end_of(Command::new(&own).arg(command).env("PATH", folder.path()));
        ended.check_failed(1, "`foretop-tools` is neither beside this program nor in PATH; `make programs`");
    }
    assert!(end_of(Command::new(&own).arg("help")).output().contains("\n  mpi  "));
}

#[test]
fn what_cannot_or_must_not_be_executed_is_an_unknown_command() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "foretop-greet", 0o644);
    fs::create_dir(folder.path().join("foretop-folder")).unwrap();
    fs::create_dir(folder.path().join("foretop-")).unwrap();
    program(&folder.path().join("foretop-"), "hidden", 0o755);
    let path = folder.path().to_str().unwrap();
    for name in ["greet", "folder", "/hidden", "../hidden", "", "a b", "\u{1b}[2J"] {
        with_path(path, &[name]).check_failed(2, "there is no command `");
    }
    // Relative folders would be wherever somebody stands.
    program(folder.path(), "foretop-here", 0o755);
    for path in [".", ""] {
        let ended = end_of(foretop().arg("here").env("PATH", path).current_dir(folder.path()));
        ended.check_failed(2, "there is no command `here`");
    }
}

#[test]
fn an_unknown_command_is_told_with_what_may_have_been_meant() {
    run(&["modles"]).check_failed(2, "there is no command `modles`; did you mean models?");
    run(&["zebra"]).check_failed(2, "there is no command `zebra`; `foretop help` lists them all");
    run(&["ace"]).check_failed(2, "`foretop mpi ace` starts this program, and `make mpi` builds it");
}

#[test]
fn an_old_name_is_run_and_told_the_current_one() {
    let ended = run(&["load", "--list"]);
    assert_eq!((ended.status, ended.stdout), (0, run(&["workload", "--list"]).output()));
    assert!(ended.stderr.starts_with("`foretop load` is called `foretop workload`"), "{}", ended.stderr);
    let ended = run(&["help", "load"]);
    assert!(ended.status == 0 && ended.stdout.contains("Usage: foretop workload"), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn help_lists_the_commands_by_what_they_are_for() {
    let help = run(&["help"]).output();
    assert_eq!(run(&["--help"]).output(), help);
    for row in ["\nWatch and ask:\n  up  ", "\nMPI:\n  mpi  ", "\n  workload  ", "\nOptions:\n  -h, --help "] {
        assert!(help.contains(row), "{help}");
    }
    assert!(!help.contains("internal"), "{help}");
    assert!(run(&["help", "up"]).output().contains("--remote-write"));
    assert_eq!(run(&[]).status, 2);
}

#[test]
fn completions_and_manual_pages_have_all_commands_but_the_internal_ones() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(&["man", folder.path().to_str().unwrap()]).output(), "");
    let pages = fs::read_dir(folder.path()).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let pages: Vec<String> = pages.collect();
    let page = run(&["man"]).output();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).output();
        for name in ["up", "workload", "availability-study", "mpi"] {
            assert!(script.contains(name), "{shell} does not know {name}");
            assert!(pages.contains(&format!("foretop-{name}.1")), "{pages:?}");
        }
        for internal in ["internal", "load-worker", "study-test", "pred-core", "pool-load"] {
            assert!(!script.contains(internal), "{shell} completes {internal}");
            assert!(!page.contains(internal) && !pages.iter().any(|page| page.contains(internal)));
        }
    }
}
