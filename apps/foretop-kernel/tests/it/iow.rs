//! `foretop iow` as it is typed.

use std::process::{Command, Output};

use crate::kernel;

fn iow(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretop-iow")).args(arguments).output().unwrap()
}

#[test]
fn a_sweep_leaves_a_table_and_a_file_with_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    let output =
        iow(&["--folder", name, "--sweep", "1KiB..16KiB", "--total", "64KiB", "--mode", "read", "--out", name]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1KiB") && text.contains("16KiB") && text.contains(" to "), "{text}");
    let file = text.lines().last().unwrap();
    let csv = kernel(&["extract", file, "time-iow", "sio", "nio", "mt2"]);
    let csv = String::from_utf8(csv.stdout).unwrap();
    let first: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((first[0], first[1], first[2].split(' ').count()), ("1024", "64", 64));
    // Its own files are gone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn sizes_without_sense_are_refused() {
    for (arguments, part) in [
        (&["--sweep", "64MiB..64B"][..], "the smaller one first"),
        (&["--size", "64"], "not an amount of data"),
        (&["--size", "100B", "--access", "direct"], "multiple of 512"),
        (&["--folder", "/nonexistent"], "/nonexistent"),
    ] {
        let output = iow(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(part), "{told}");
    }
}
