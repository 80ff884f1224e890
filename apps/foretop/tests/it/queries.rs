//! `ask`, `signals`, `export`, `forget`, and the commands that print what is built in.

use units::Timestamp;

use crate::command::{foretop, run};
use crate::node::{Running, folder};

/// Nobody listens on the port that is reserved for the multiplexer of 1988.
const NOBODY: &str = "http://127.0.0.1:1";

#[test]
fn ask_answers_in_one_line() {
    let node = Running::in_memory();
    node.wait_for_forecast("load.1m");
    let line = node.run(&["ask", "load.1m", "--horizon", "2s", "--confidence", "0.8"]).output();
    assert!(line.starts_with("load.1m in 2s: "), "{line}");
    assert!(line.contains(" tasks (80 %: ") && line.contains(" tasks now, by ") && line.lines().count() == 1, "{line}");
}

#[test]
fn ask_gives_programs_every_figure() {
    let node = Running::in_memory();
    node.wait_for_forecast("cpu.availability");
    let answer = node.run(&["ask", "cpu.availability", "--horizon", "1s", "--format", "json"]).json();
    assert_eq!((&answer["id"], &answer["unit"]), (&"cpu.availability".into(), &"ratio".into()));
    assert_eq!((answer["lead_seconds"].as_f64(), answer["confidence"].as_f64()), (Some(1.0), Some(0.95)));
    let figure = |key: &str| answer[key].as_f64().unwrap_or_else(|| panic!("{key} in {answer}"));
    assert!(figure("lower") <= figure("mean") && figure("mean") <= figure("upper"));
    assert!(figure("lower") >= 0.0 && figure("upper") <= 1.0, "{answer}");
    assert!(answer["time"].as_str() > answer["origin"].as_str());
}

#[test]
fn a_slip_in_a_name_is_answered_with_the_name() {
    let node = Running::in_memory();
    for command in ["ask", "forget", "export"] {
        node.run(&[command, "cpu.availabilty"])
            .check_failed(1, "foretop: there is no signal `cpu.availabilty`; did you mean cpu.availability");
    }
    node.run(&["ask", "zebra"]).check_failed(1, "there is no signal `zebra`; `foretop signals --node http://");
}

#[test]
fn a_question_that_makes_no_sense_exits_with_2() {
    for (args, message) in [
        (["--horizon", "0s"], "`0s` is too short"),
        (["--horizon", "30"], "`30` is not a length of time"),
        (["--confidence", "1"], "confidence 1 is not strictly between 0 and 1"),
        (["--node", "ftp://db1"], "`ftp://db1` is not the address of a node"),
        (["--token-file", "no-such-file"], "cannot read the secret in `no-such-file`"),
    ] {
        run(&[&["ask", "load.1m"], &args[..]].concat()).check_failed(2, message);
    }
}

#[test]
fn a_horizon_beyond_the_nodes_limit_is_refused_by_the_node() {
    let node = Running::in_memory();
    node.wait_for_samples("load.1m", 1);
    node.run(&["ask", "load.1m", "--horizon", "1000000000s"]).check_failed(1, "horizon");
}

#[test]
fn where_no_node_is_the_way_to_start_one_is_named() {
    let expected = format!("foretop: no node answers at {NOBODY} (connection refused); start one with `foretop up`\n");
    assert_eq!(run(&["ask", "load.1m", "--node", NOBODY]).stderr, expected);
    for args in [&["ask", "x"][..], &["export", "x"], &["forget", "x"], &["signals"], &["top", "--once"]] {
        run(&[args, &["--node", NOBODY]].concat()).check_failed(1, "no node answers at http://127.0.0.1:1");
    }
}

#[test]
fn what_answers_but_is_no_node_is_said_to_be_none() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
    });
    run(&["signals", "--node", &url]).check_failed(1, "is not a foretop node");
    server.join().unwrap();
}

#[test]
fn signals_lists_families_without_a_node_and_series_with_one() {
    let families = run(&["signals", "--format", "json"]).json();
    assert!(families.as_array().unwrap().iter().any(|family| family["pattern"] == "load.1m"));
    assert!(run(&["signals"]).output().starts_with("SIGNAL "));
    let node = Running::in_memory();
    node.wait_for_samples("load.1m", 1);
    let series = node.run(&["signals", "--format", "json"]).json();
    assert!(series.as_array().unwrap().iter().all(|series| series["last"]["time"].is_string()));
    assert!(node.run(&["signals"]).output().contains("cpu.availability.loadavg  cpu.availability.load"));
}

#[test]
fn export_gives_what_the_node_holds() {
    let folder = folder();
    let node = Running::in_folder(folder.path());
    node.wait_for_samples("load.1m", 5);
    let csv = node.run(&["export", "load.1m", "--from", "-1min"]).output();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time,value"));
    let rows: Vec<(&str, f64)> = lines
        .map(|line| line.split_once(',').unwrap())
        .filter(|(_, value)| !value.is_empty())
        .map(|(time, value)| (time, value.parse().unwrap()))
        .collect();
    let times: Vec<Timestamp> = rows.iter().map(|(time, _)| time.parse().unwrap()).collect();
    assert!(times.len() >= 5 && times.is_sorted_by(|a, b| a < b), "{csv}");
    let json = node.run(&["export", "load.1m", "--from", rows[0].0, "--to", rows[2].0, "--format", "json"]).json();
    // On a busy machine there may be gaps between them.
    let values: Vec<f64> =
        json["samples"].as_array().unwrap().iter().filter_map(|sample| sample["value"].as_f64()).collect();
    assert_eq!(values, [rows[0].1, rows[1].1], "{json}");
    node.run(&["export", "load.1m", "--from", "-1s", "--to", "-1min"]).check_failed(2, "the range from ");
}

#[test]
fn a_sensors_signal_cannot_be_forgotten() {
    Running::in_memory().run(&["forget", "load.1m"]).check_failed(1, "load.1m");
}

#[test]
fn models_are_listed_for_people_and_programs() {
    assert!(run(&["models"]).output().contains("\nAR(p) "));
    let models = run(&["models", "--format", "json"]).json();
    assert!(models.as_array().unwrap().iter().any(|row| row["model"] == "BM(p)" && row["sentence"].is_string()));
}

#[test]
fn completions_and_manual_are_made_for_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).output().contains("replay"), "{shell}");
    }
    assert!(run(&["man"]).output().contains(".TH foretop 1"));
    let folder = folder();
    run(&["man", folder.path().join("man1").to_str().unwrap()]).output();
    for page in ["foretop.1", "foretop-up.1", "foretop-ask.1"] {
        assert!(folder.path().join("man1").join(page).is_file(), "{page}");
    }
}

#[test]
fn a_reader_that_had_enough_is_no_failure() {
    use std::process::Stdio;
    let args = ["predict", "-", "--model", "MEAN", "--horizon", "100000", "--format", "csv"];
    let mut child =
        foretop().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"1\n2\n3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn without_a_command_help_is_an_error_of_usage() {
    run(&[]).check_failed(2, "Usage: foretop <COMMAND>");
    run(&["sail"]).check_failed(2, "there is no command `sail`");
}
