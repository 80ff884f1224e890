//! `foretop dedup estimate` on files of this project.

use std::fs;
use std::process::{Command, Output, Stdio};

use dedup::segmenter::{Field, Static};
use dedup::two_level::{Exchange, Settings, Wire};
use rustix::fs::{CWD, Mode, mkfifoat};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretop-dedup"));
    command.arg("estimate").args(arguments).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}

fn estimate(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

#[test]
fn a_file_sent_twice_costs_once() {
    let sent = |files: &[&str]| {
        let output =
            estimate(&[&["--format", "json", "--segmenter", "anchors-8", "--segmenter", "none"], files].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let wire =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["wire_bytes"].as_u64().unwrap();
        let wires: Vec<u64> = lines.lines().map(wire).collect();
        <[u64; 2]>::try_from(wires).unwrap()
    };
    let [once, packed] = sent(&["Cargo.lock"]);
    let [twice, packed_twice] = sent(&["Cargo.lock", "Cargo.lock"]);
    assert!(twice < once + once / 50, "{once} bytes once, {twice} twice");
    assert!(once < packed + packed / 10, "{once} with anchors, {packed} without");
    assert!(packed_twice > packed);
}

#[test]
fn the_table_has_a_row_for_each_segmenter() {
    let output = estimate(&["Cargo.lock", "README.md"]);
    let table = String::from_utf8(output.stdout).unwrap();
    let (table, conclusion) = table.split_once("\n\n").unwrap();
    assert!(table.starts_with("segmenter") && table.lines().count() == 7, "{table}");
    assert!(conclusion.contains("what anchors-8 does"), "{conclusion}");
}

#[test]
fn zstd_alone_has_the_level_of_its_program_and_says_so() {
    let shown = |arguments: &[&str]| {
        let output = estimate(&[arguments, &["--segmenter", "zstd-27", "Cargo.lock"]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(shown(&[]).contains("\nzstd-27, level 3 "), "{}", shown(&[]));
    assert!(shown(&["--level", "9"]).contains("\nzstd-27, level 9 "));
    let json = |level: &str| {
        serde_json::from_str::<serde_json::Value>(&shown(&["--format", "json", "--level", level])).unwrap()
    };
    assert_eq!(json("paced")["wire_bytes"], json("3")["wire_bytes"]);
    assert_eq!(json("paced")["level"], "3");
}

#[test]
fn what_packs_well_by_itself_is_not_called_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = folder.path().join("zeros");
    fs::write(&zeros, vec![0; 1 << 20]).unwrap();
    let output = estimate(&["--segmenter", "anchors-8", zeros.to_str().unwrap()]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("comes from packing each part by itself"), "{table}");
}

#[test]
fn memory_is_bounded_and_what_was_forgotten_is_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = folder.path().join("zeros");
    fs::write(&zeros, vec![0; 4 << 20]).unwrap();
    let shown = |memory: &str| {
        let output = estimate(&["--memory", memory, zeros.to_str().unwrap()]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(shown("1MiB").ends_with("--memory 1MiB was not enough: anchors-8.\n"), "{}", shown("1MiB"));
    assert!(!shown("8MiB").contains("--memory"), "{}", shown("8MiB"));
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let [gate, data] = ["gate", "data"].map(|name| folder.path().join(name));
    mkfifoat(CWD, &gate, Mode::RUSR | Mode::WUSR).unwrap();
    fs::write(&data, "x".repeat(1000)).unwrap();
    let mut command = command(&["--segmenter", "anchors-8", gate.to_str().unwrap(), data.to_str().unwrap()]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The gate opens once the program reads it.
    let writer = fs::OpenOptions::new().write(true).open(&gate).unwrap();
    fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(10).unwrap();
    drop(writer);
    let output = running.wait_with_output().unwrap();
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && warning.contains("data` shrank from 1000 to 10 bytes"), "{warning}");
}

#[test]
fn the_papers_wire_is_what_an_exchange_over_it_takes() {
    let sent = |wire: &str| {
        let output =
            estimate(&["--format", "json", "--segmenter", "static-32", "--level", "0", "--wire", wire, "Cargo.lock"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["wire_bytes"].as_u64().unwrap()
    };
    let data = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let mut exchange =
        Exchange::new(Settings { n_field_max: 1 << 22, ..Settings::default() }, Wire::Paper, (1 << 30, 32));
    exchange.send(&Field::line(&data), &mut Static { n_bytes: 32 }).unwrap();
    assert_eq!(sent("paper"), exchange.tally().n_there);
    assert!(sent("packed") < sent("paper"));
}

#[test]
fn pictures_are_cut_in_two_dimensions() {
    let output = estimate(&["--width", "60", "--height", "40", "--pixel", "3", "Cargo.lock", "Cargo.lock"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("\nvarg-16 ") && table.contains("\nsquares-16 "), "{table}");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    for (arguments, status, told) in [
        (&["--segmenter", "chunks", "README.md"][..], 2, "fastcdc-BYTES"),
        (&["--flush", "2MiB", "README.md"], 2, "1MiB"),
        (&["--memory", "1KiB", "README.md"], 2, "1MiB"),
        (&["--level", "20", "README.md"], 2, "`paced`"),
        (&["--segmenter", "varg-16", "README.md"], 2, "--width"),
        (&["--width", "0", "--height", "5", "README.md"], 2, "no picture"),
        (&["no-such-file"], 1, "no-such-file"),
        (&["/dev/null"], 1, "there is nothing in"),
    ] {
        let output = estimate(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
        assert!(complaint.contains(told), "{arguments:?}: {complaint}");
    }
}
