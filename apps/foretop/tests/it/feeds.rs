//! What a node reads besides its host: an exporter, which another node is, and flows to another node.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{PATIENCE, wait_until};

use crate::command::run;
use crate::node::{Running, folder};

/// A file with a token that only its owner may read.
fn token_file(folder: &Path) -> String {
    let path = folder.join("flow-token");
    fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_an_exporter_offers_is_stored_forecast_and_shown() {
    let (exporter, folder) = (Running::in_memory(), folder());
    let config = folder.path().join("foretop.toml");
    let section =
        format!("[[scrape]]\nurl = '{}/metrics'\nmatch = ['foretop_load_.*']\nevery = '50ms'\n", exporter.url);
    fs::write(&config, section).unwrap();
    let data = folder.path().join("data");
    // What is selected of the host says nothing of an exporter that it does not name.
    let only = ["--only", "load.*", "--without", "*_load_15m*"];
    let args = ["--data-dir", data.to_str().unwrap(), "--config", config.to_str().unwrap(), "--every", "50ms"];
    let args = [&args[..], &only].concat();
    let node = Running::start(&args);
    node.wait_for_samples("foretop_load_1m_tasks", 3);
    node.wait_for_forecast("foretop_load_1m_tasks");
    let line = node.run(&["ask", "foretop_load_1m_tasks", "--horizon", "1s"]).output();
    assert!(line.starts_with("foretop_load_1m_tasks in 1s: "), "{line}");
    let list = node.get("/api/v1/series").to_string();
    assert!(list.contains("foretop_load_5m_tasks\"") && !list.contains("foretop_load_15m_tasks\""), "{list}");
    let series = node.get("/api/v1/series/foretop_load_1m_tasks");
    assert_eq!((&series["source"], &series["step_seconds"]), (&"sensor".into(), &0.05.into()));
    let metrics = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(metrics.lines().any(|line| line.starts_with("foretop_exported_foretop_load_1m_tasks ")), "{metrics}");
    // A forecast of a forecast has the horizons of both.
    let has_both = |line: &str| line.contains("exported_horizon=") && line.contains(",horizon=");
    let is_doubled = |line: &str| line.matches("{horizon=").count() + line.matches(",horizon=").count() > 1;
    assert!(metrics.lines().any(has_both) && !metrics.lines().any(is_doubled), "{metrics}");
    exporter.kill();
    wait_until("the loss of the exporter is a problem", PATIENCE, || {
        node.get("/healthz")["problems"].to_string().contains("scrape ").then_some(())
    });
    assert!(node.terminate("-TERM").0.success());
    let node = Running::start(&args);
    let exported = node.run(&["export", "foretop_load_1m_tasks", "--from", "-1h"]).output();
    let n_values = exported.lines().skip(1).filter(|line| !line.ends_with(',')).count();
    assert!(n_values >= 3, "{exported}");
}

#[test]
fn a_flow_to_a_node_with_a_responder_is_asked_for_like_any_signal() {
    let folder = folder();
    let token = token_file(folder.path());
    let args = ["--in-memory", "--only", "load.*", "--responder", "127.0.0.1:0", "--flow-token-file", &token];
    let peer = Running::start(&args);
    let (_, address) = peer.line.trim_end().trim_end_matches(')').rsplit_once("transfers at ").unwrap();
    let config = folder.path().join("foretop.toml");
    let section = format!(
        "[[transfer]]\npeer = 'db2'\naddress = '{address}'\ntoken_file = '{token}'\nevery = '5s'\nbytes = 65536\n"
    );
    fs::write(&config, section).unwrap();
    let node = Running::start(&["--in-memory", "--config", config.to_str().unwrap()]);
    wait_until("the flow is measured", PATIENCE, || {
        let list = node.get("/api/v1/series").to_string();
        ["flow.db2", "flow.db2.round_trip", "flow.db2.retransmits"].iter().all(|id| list.contains(id)).then_some(())
    });
    node.wait_for_forecast("flow.db2");
    let line = node.run(&["ask", "flow.db2", "--horizon", "5s"]).output();
    assert!(line.starts_with("flow.db2 in 5s: ") && line.contains("B/s"), "{line}");
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let up = |args: &[&str]| run(&[&["up", "--in-memory", "--listen", "127.0.0.1:0", "--log", "off"], args].concat());
    up(&["--scrape", "ftp://a/"]).check_failed(2, "[[scrape]] `ftp://a/`");
    up(&["--scrape", "http://a/", "--match", "("]).check_failed(2, "`(`");
    up(&["--scrape", "http://a/", "--scrape", "http://a/"]).check_failed(2, "scrape a is given twice");
    up(&["--match", "a"]).check_failed(2, "--scrape");
    up(&["--flow", "db2=db2:1"]).check_failed(2, "--flow-token-file");
    up(&["--flow", "db2", "--flow-token-file", "t"]).check_failed(2, "PEER=HOST:PORT");
    up(&["--responder", "127.0.0.1:0", "--flow-token-file", "/nowhere/t"]).check_failed(2, "/nowhere/t");
}
