//! A node writes to a Prometheus server: all that the buffer promised arrives, whatever ends meanwhile.

use std::fs;
use std::path::Path;

use testkit::{PATIENCE, wait_until};

use super::server::Prometheus;
use crate::node::{Running, folder};

/// Starts a node that writes its load to `url` ten times a second, keeping what it has in `data`. All that it has to
/// write at a time is one batch.
#[track_caller]
fn start(data: &Path, url: &str) -> Running {
    let config = data.join("foretop.toml");
    let section = format!(
        "[[remote_write]]\nurl = '{url}'\nbatch_every = '200ms'\nbatch_samples = 10000\nforecast_every = '1s'\nyhat = true\nlabels = {{ instance = 'here' }}\n"
    );
    fs::write(&config, section).unwrap();
    let data = data.join("data");
    Running::start(&["--config", config.to_str().unwrap(), "--data-dir", data.to_str().unwrap(), "--every", "100ms"])
}

/// The sum of a metric of the node itself over all lines that have these labels.
fn metric(node: &Running, name: &str, labels: &str) -> f64 {
    let text = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
    let is_one = |line: &&str| line.starts_with(&format!("{name}{{")) && line.contains(labels);
    let lines: Vec<&str> = text.lines().filter(is_one).collect();
    assert!(!lines.is_empty(), "no {name} with {labels} in {text}");
    lines.iter().map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

fn n_pending(node: &Running) -> f64 {
    metric(node, "foretop_remote_write_pending_samples", "target=")
}

fn n_dropped(node: &Running) -> f64 {
    metric(node, "foretop_remote_write_dropped_samples_total", "target=")
}

/// The moment of a sample that is in the buffer, and so are all before it, while no server takes them.
fn buffered(node: &Running) -> i64 {
    let series = node.get("/api/v1/series/load.1m");
    let newest: units::Timestamp = series["last"]["time"].as_str().unwrap().parse().unwrap();
    // Whatever is put in between may have been collected before. What comes after that was not.
    for _ in 0..2 {
        let before = n_pending(node);
        wait_until("more is put into the buffer", PATIENCE, || (n_pending(node) > before).then_some(()));
    }
    newest.as_nanos() / 1_000_000
}

/// Moments and values of the load that the server has, oldest first.
fn written(prometheus: &Prometheus) -> Vec<(i64, f64)> {
    let answer = prometheus.get("/api/v1/query", &[("query", "foretop_load_1m_tasks{instance=\"here\"}[1h]")]);
    let series = answer["data"]["result"].as_array().unwrap();
    let values = series.first().map_or(&[][..], |one| one["values"].as_array().unwrap());
    let point = |pair: &serde_json::Value| {
        let at_ms = (pair[0].as_f64().unwrap() * 1000.0).round() as i64;
        (at_ms, pair[1].as_str().unwrap().parse().unwrap())
    };
    values.iter().map(point).collect()
}

/// Moments and values of the load that the node stored.
fn stored(data: &Path) -> Vec<(i64, f64)> {
    let store = rusqlite::Connection::open(data.join("data/foretop.db")).unwrap();
    let query =
        "SELECT t_ns / 1000000, value FROM sample JOIN series USING (series) WHERE id = 'load.1m' ORDER BY t_ns";
    let mut statement = store.prepare(query).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn samples_forecasts_and_own_health_arrive_under_the_names_of_the_metrics() {
    let (data, server) = (folder(), folder());
    let prometheus = Prometheus::start(server.path(), None);
    let node = start(data.path(), &prometheus.write_url());
    let forecast = r#"foretop_cpu_busy_ratio_forecast{horizon="60s",instance="here",job="foretop"}"#;
    let found = prometheus.wait_for(forecast);
    let bounds = r#"foretop_cpu_busy_ratio_forecast_lower{horizon="60s",confidence="0.95",instance="here"}"#;
    let inside = prometheus.query_at(found[0].at_s, &format!("{bounds} <= ignoring(confidence) {forecast}"));
    assert_eq!(inside.len(), 1);
    prometheus.wait_for(r#"yhat_upper{for="foretop_cpu_busy_ratio",horizon="60s",instance="here"} >= yhat > -1"#);
    prometheus.wait_for("rate(foretop_ticks_total{instance=\"here\"}[10s]) > 0");
    prometheus.wait_for("foretop_remote_write_sent_samples_total{instance=\"here\"} > 0");
    wait_until("a gap of 10 samples would show", PATIENCE, || (written(&prometheus).len() > 10).then_some(()));
    assert_eq!(n_dropped(&node), 0.0);
    assert!(node.terminate("-TERM").0.success());
    let (written, stored) = (written(&prometheus), stored(data.path()));
    assert_eq!(written, stored, "what a node wrote is what it stored");
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn what_is_in_the_buffer_outlives_the_server_and_a_kill_of_the_node() {
    let (data, server) = (folder(), folder());
    let prometheus = Prometheus::start(server.path(), None);
    let url = prometheus.write_url();
    let node = start(data.path(), &url);
    wait_until("the first samples arrive", PATIENCE, || (!written(&prometheus).is_empty()).then_some(()));

    let stopped = prometheus.stop();
    wait_until("the loss of the server is a problem", PATIENCE, || {
        node.get("/healthz")["problems"].to_string().contains("remote write").then_some(())
    });
    let killed_after = buffered(&node);
    node.kill();
    let node = start(data.path(), &url);
    buffered(&node);

    let prometheus = stopped.start();
    wait_until("the server is no problem any more", PATIENCE, || {
        (!node.get("/healthz")["problems"].to_string().contains("remote write")).then_some(())
    });
    assert_eq!(n_dropped(&node), 0.0);
    let restarted = node.get("/api/v1/series")["node"]["started"].as_str().unwrap().to_owned();
    let restarted = restarted.parse::<units::Timestamp>().unwrap().as_nanos() / 1_000_000;
    assert!(node.terminate("-TERM").0.success());
    let written = written(&prometheus);
    let lost: Vec<i64> = stored(data.path()).iter().filter(|one| !written.contains(one)).map(|one| one.0).collect();
    let is_allowed = |at_ms: &&i64| **at_ms > killed_after && **at_ms < restarted;
    assert!(lost.iter().all(|at_ms| is_allowed(&at_ms)), "{lost:?}: killed after {killed_after}, back at {restarted}");
}
