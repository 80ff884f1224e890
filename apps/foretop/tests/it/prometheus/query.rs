//! A node asks a Prometheus server for the values of expressions, and for their past.

use std::fs;
use std::path::Path;
use std::time::Duration;

use remote_write::{Chunk, Place, Settings, Writer};
use testkit::{PATIENCE, wait_until};
use units::Timestamp;
use watch::Watch;

use super::server::Prometheus;
use crate::command::run;
use crate::node::{Running, folder};

/// How many seconds of the past the server knows.
const N_KNOWN: i64 = 600;
/// Of these, so many are missing, from this one on.
const GAP: std::ops::Range<i64> = 200..260;

const SECOND: i64 = 1_000_000_000;

/// What the trace was at one second of its past: nothing that LAST would forecast well.
fn value(second: i64) -> f64 {
    (second as f64 / 7.0).sin() * 10.0 + f64::from((second * 7919 % 13) as i32)
}

/// Gives the server a trace of two series, and says when it begins.
fn write_trace(prometheus: &Prometheus) -> Timestamp {
    let now = clock::now().floor_to(Duration::from_secs(1));
    let start = now - Duration::from_secs(N_KNOWN as u64 - 1);
    let writer =
        Writer::start(&Settings::new(&prometheus.write_url()).unwrap(), &Place::Memory, &Watch::default()).unwrap();
    let mut chunk = Chunk::default();
    for second in 0..N_KNOWN {
        let time = Timestamp::from_nanos(start.as_nanos() + second * SECOND);
        for host in ["db1", "db2"] {
            let labels = [("host", host)];
            match GAP.contains(&second) {
                true => chunk.push_gap("trace", labels, time),
                false => chunk.push("trace", labels, time, value(second)),
            }
        }
    }
    writer.put(&chunk).unwrap();
    wait_until("the trace is written", PATIENCE, || (writer.status().n_pending == 0).then_some(()));
    assert_eq!(writer.status().n_sent, 2 * N_KNOWN as u64, "{:?}", writer.status());
    start
}

/// Starts a node that asks for the trace every second.
#[track_caller]
fn start(data: &Path, server: &str) -> Running {
    let config = data.join("foretop.toml");
    let section = format!(
        "[[query]]\nserver = '{server}'\nname = 'load'\nexpr = 'trace * 2'\nunit = 'tasks'\nevery = '1s'\nhistory = '15min'\n"
    );
    fs::write(&config, section).unwrap();
    let data = data.join("data");
    let (config, data) = (config.to_str().unwrap(), data.to_str().unwrap());
    Running::start(&["--config", config, "--data-dir", data, "--only", "load{*", "--only", "load.1m"])
}

/// The path of the series of one host.
const SERIES: &str = "/api/v1/series/load%7Bhost%3D%22db1%22%7D";

/// What the node says of the series of one host, as soon as it knows of it.
fn first_said(node: &Running) -> serde_json::Value {
    wait_until("the series is there", PATIENCE, || {
        ureq::get(format!("{}{SERIES}", node.url)).call().ok()?.body_mut().read_json().ok()
    })
}

#[track_caller]
fn check_history(node: &Running, start: Timestamp) {
    let (from, to) = (start, Timestamp::from_nanos(start.as_nanos() + N_KNOWN * SECOND));
    let samples = node.get(&format!("{SERIES}/samples?from={from}&to={to}&step=1s"));
    let values: Vec<Option<f64>> =
        samples["values"].as_array().unwrap().iter().map(serde_json::Value::as_f64).collect();
    let expected: Vec<Option<f64>> =
        (0..N_KNOWN).map(|second| (!GAP.contains(&second)).then(|| value(second) * 2.0)).collect();
    assert_eq!(values, expected);
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn the_first_forecast_of_a_query_comes_from_a_model_that_its_history_was_fitted_to() {
    let (data, server) = (folder(), folder());
    let prometheus = Prometheus::start(server.path(), None);
    let start_of_trace = write_trace(&prometheus);
    let node = start(data.path(), &prometheus.url);
    let said = first_said(&node);
    assert!(!said["fitted"].is_null() && said["waiting"].is_null(), "{said}");
    assert!(said["n_samples"].as_u64().unwrap() < 80, "no model of sixteen coefficients is fitted to so few: {said}");
    assert_eq!((&said["unit"], &said["labels"]["host"]), (&"tasks".into(), &"db1".into()));
    check_history(&node, start_of_trace);
    let line = node.run(&["ask", "load{host=\"db1\"}", "--horizon", "5s"]).output();
    assert!(line.contains("by AUTO"), "{line}");
    // The last value holds for five minutes, so live samples come too.
    node.wait_for_samples("load%7Bhost%3D%22db1%22%7D", 2);
    assert!(node.terminate("-TERM").0.success());
    let node = start(data.path(), &prometheus.url);
    first_said(&node);
    check_history(&node, start_of_trace);
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_server_that_comes_late_is_a_problem_until_then_and_its_history_is_not_lost() {
    let (data, server) = (folder(), folder());
    let prometheus = Prometheus::start(server.path(), None);
    let (start_of_trace, url) = (write_trace(&prometheus), prometheus.url.clone());
    let stopped = prometheus.stop();
    let node = start(data.path(), &url);
    let has_problem = |node: &Running| node.get("/healthz")["problems"].to_string().contains("query load: cannot ask");
    wait_until("the missing server is a problem", PATIENCE, || has_problem(&node).then_some(()));
    let _prometheus = stopped.start();
    let said = first_said(&node);
    assert!(!said["fitted"].is_null(), "{said}");
    check_history(&node, start_of_trace);
    wait_until("there is no problem any more", PATIENCE, || (!has_problem(&node)).then_some(()));
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn an_expression_that_makes_no_sense_is_refused_in_the_words_of_the_server() {
    let server = folder();
    let prometheus = Prometheus::start(server.path(), None);
    let up = |query: &str| {
        let args = ["up", "--in-memory", "--listen", "127.0.0.1:0", "--log", "off"];
        run(&[&args[..], &["--prometheus", &prometheus.url, "--query", query]].concat())
    };
    up("a=sum(rate(").check_failed(2, "query a: `");
    up("a=sum(rate(").check_failed(2, "parse error");
    up("a=up[5m]").check_failed(2, "range vector");
    up("a").check_failed(2, "NAME=EXPR");
}
