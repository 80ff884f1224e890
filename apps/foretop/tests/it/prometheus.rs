//! A Prometheus server and a node: what `/metrics` says arrives there when it is scraped, whole and without complaint.
//!
//! The server is the one that `FORETOP_TEST_PROMETHEUS` names, or else `prometheus` in `PATH`.

mod crossval;
mod dashboard;
mod query;
mod remote_write;
mod server;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use testkit::{PATIENCE, wait_until};

use self::server::Prometheus;
use crate::command::run;
use crate::node::Running;

const FORECAST: &str = r#"foretop_cpu_busy_ratio_forecast{horizon="10s"}"#;
const LOWER: &str = r#"foretop_cpu_busy_ratio_forecast_lower{horizon="10s",confidence="0.95"}"#;
const UPPER: &str = r#"foretop_cpu_busy_ratio_forecast_upper{horizon="10s",confidence="0.95"}"#;

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_real_prometheus_reads_values_forecasts_and_bounds_without_complaint() {
    let folder = tempfile::tempdir().unwrap();
    // A node that samples once per second has time left for its scrapes.
    let node = Running::start(&["--in-memory"]);
    let prometheus = Prometheus::start(folder.path(), Some(node.url.trim_start_matches("http://")));

    let busy = prometheus.wait_for("foretop_cpu_busy_ratio");
    assert!(busy.iter().all(|point| (0.0..=1.0).contains(&point.value)), "{busy:?}");

    // One query, because a scrape that fails withdraws its series from a time that an earlier query has seen.
    let inside = format!("{FORECAST} >= ignoring(confidence) {LOWER} and {FORECAST} <= ignoring(confidence) {UPPER}");
    let outside = prometheus.wait_for(&format!("count({FORECAST}) - (count({inside}) or vector(0))"));
    assert_eq!(outside[0].value, 0.0, "each forecast lies between its bounds");

    prometheus.wait_for(r#"up{job="foretop"} == 1"#);
    prometheus.wait_for("rate(foretop_ticks_total[10s]) > 0");
    prometheus.check_each_line_is_a_series_of_its_own();
    prometheus.check_nothing_was_wrong_with_the_scrapes();
}

/// Names of labels that are legal since Prometheus 3, and a value that would end its line.
const LABELS: &str = r#"{"service.name": "b\"} 1\n\\", "größe": "x", "service_name": "c", "horizon": "1s"}"#;

/// Answers every query with a series of these labels, for as long as the process lives.
fn server_of(labels: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let result =
                format!(r#"[{{"metric": {labels}, "value": [{}, "5"]}}]"#, clock::now().as_nanos() / 1_000_000_000);
            let body = format!(r#"{{"status": "success", "data": {{"resultType": "vector", "result": {result}}}}}"#);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    url
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn promtool_finds_nothing_wrong_with_hostile_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = server_of(LABELS);
    let section = format!("[[query]]\nserver = '{server}'\nname = 'a'\nexpr = 'a'\nunit = 'größe/s'\nevery = '1s'\n");
    fs::write(path("foretop.toml"), section).unwrap();
    let node = Running::start(&["--in-memory", "--only", "load.*", "--config", &path("foretop.toml")]);
    let page = wait_until("the page has forecasts of the series", PATIENCE, || {
        let page = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
        page.contains("service_name_2").then_some(page)
    });
    fs::write(path("page"), page).unwrap();
    let checked = Command::new(server::binary().with_file_name("promtool"))
        .args(["check", "metrics"])
        .stdin(File::open(path("page")).unwrap())
        .output()
        .unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_real_prometheus_alerts_while_a_warning_of_the_node_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // A name that means something to TOML, JSON, PromQL and templates alike.
    let rule = |name: &str, when: &str| format!("[[rule]]\nname = '{name}'\nwhen = \"{when}\"\nwithin = \"2s\"\n");
    let rules = rule(r#"{{ "there" \ }}"#, "load.1m < 1000") + &rule("not", "load.1m > 1000000");
    fs::write(path("rules.toml"), rules).unwrap();
    fs::write(path("foretop.toml"), format!("[warn]\nrules = \"{}\"\nevery = \"1s\"\n", path("rules.toml"))).unwrap();
    fs::write(path("rules.yml"), run(&["rules", "prometheus", &path("rules.toml")]).output()).unwrap();
    let checked = Command::new(server::binary().with_file_name("promtool"))
        .args(["check", "rules", &path("rules.yml")])
        .output()
        .unwrap();
    assert!(
        checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains("2 rules found"),
        "{checked:?}"
    );
    let node =
        Running::start(&["--in-memory", "--every", "100ms", "--only", "load.*", "--config", &path("foretop.toml")]);
    let prometheus = Prometheus::start(folder.path(), Some(node.url.trim_start_matches("http://")));
    let alerts = prometheus.wait_for(r#"ALERTS{alertstate="firing",alertname="{{ \"there\" \\ }}"}"#);
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert!(prometheus.query_at(alerts[0].at_s, r#"ALERTS{alertname="not"}"#).is_empty());
    prometheus.check_nothing_was_wrong_with_the_scrapes();
}
