//! `top --once`: of a node, and on its own. What the view draws is tested beside it.

use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop, run, run_with_input};
use crate::node::Running;

#[test]
fn one_frame_of_a_node_shows_its_signals_and_what_is_ahead() {
    let node = Running::in_memory();
    node.wait_for_samples("load.1m", 3);
    // A frame is drawn once any signal has a forecast. On a busy machine that of the load may come later.
    let frame = wait_until("a frame has a band of the load", PATIENCE, || {
        let frame = node.run(&["top", "--once", "--filter", "LOAD."]).output();
        let line = frame.lines().find(|line| line.starts_with("load.1m ")).unwrap_or_else(|| panic!("{frame}"));
        line.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c)).then_some(frame)
    });
    assert!(frame.starts_with("foretop  ") && frame.contains(&node.url), "{frame}");
    assert!(!frame.contains("cpu.busy"), "{frame}");
}

#[test]
fn one_frame_for_programs() {
    let node = Running::in_memory();
    node.wait_for_samples("load.1m", 3);
    // On a busy machine the last sample may be missing.
    let load = wait_until("a frame has a value", PATIENCE, || {
        let snapshot = node.run(&["top", "--once", "--format", "json"]).json();
        let series = snapshot["series"].as_array().unwrap();
        let load = series.iter().find(|series| series["id"] == "load.1m").unwrap();
        load["value"].is_number().then(|| load.clone())
    });
    assert!(load["time"].is_string(), "{load}");
    assert_eq!(load["forecast"]["leads"], serde_json::json!([1, 2, 5, 10, 20, 30, 60]));
}

#[test]
fn a_hostile_name_is_shown_as_text() {
    let node = Running::in_memory();
    // U+202E turns the direction of writing around; control characters are refused by the node itself.
    let name = "evil\u{202e}name";
    let ended =
        run_with_input(&["replay", "-", "--step", "10ms", "--keep", "--as", name, "--node", &node.url], "1\n2\n3\n");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let frame = node.run(&["top", "--once"]).output();
    assert!(frame.contains("evil\u{fffd}name") && !frame.contains('\u{202e}'), "{frame}");
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    run(&["top"]).check_failed(2, "`foretop top --once` prints one frame");
    run(&["top", "--format", "json"]).check_failed(2, "--once");
}

#[test]
fn a_frame_is_as_wide_as_it_is_told_to_be() {
    let node = Running::in_memory();
    let frame = end_of(foretop().args(["top", "--once", "--node", &node.url]).env("COLUMNS", "60")).output();
    assert!(frame.lines().all(|line| line.chars().count() <= 60), "{frame}");
}

#[test]
fn one_frame_of_programs_has_what_they_use() {
    let node = Running::in_memory();
    let frame = node.run(&["top", "--once", "--processes=memory"]).output();
    let lines: Vec<&str> = frame.lines().collect();
    assert!(lines.len() == 24 && lines[1].starts_with("now  "), "{frame}");
    assert!(lines[2].starts_with("PROGRAM ") && lines[2].contains("MEMORY↓"), "{frame}");
    // Nothing else is certain to run on this host. A scan of a busy one may leave it out.
    wait_until("the node itself is among the programs", PATIENCE, || {
        let table = node.run(&["top", "--once", "--processes", "--format", "json"]).json();
        table["rows"].as_array().unwrap().iter().any(|row| row["name"] == "foretop").then_some(())
    });
}

#[test]
fn a_minute_that_is_not_kept_is_refused() {
    let node = Running::in_memory();
    let ended = node.run(&["top", "--once", "--processes", "--at", "2026-11-21T09:00:00Z"]);
    ended.check_failed(1, "no minute of programs is kept at 2026-11-21T09:00:00Z or before");
    run(&["top", "--at", "-10min"]).check_failed(2, "--processes");
}
