//! A Prometheus server and a node: what `/metrics` says arrives there when it is scraped, whole and without complaint.
//!
//! The server is the one that `FORETOP_TEST_PROMETHEUS` names, or else `prometheus` in `PATH`.

mod crossval;
mod dashboard;
mod query;
mod remote_write;
mod server;

use std::process::Command;

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

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_real_prometheus_alerts_while_a_warning_of_the_node_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // A name that means something to TOML, JSON, PromQL and templates alike.
    let rule = |name: &str, when: &str| format!("[[rule]]\nname = '{name}'\nwhen = \"{when}\"\nwithin = \"2s\"\n");
    let rules = rule(r#"{{ "there" \ }}"#, "load.1m < 1000") + &rule("not", "load.1m > 1000000");
    std::fs::write(path("rules.toml"), rules).unwrap();
    std::fs::write(path("foretop.toml"), format!("[warn]\nrules = \"{}\"\nevery = \"1s\"\n", path("rules.toml")))
        .unwrap();
    std::fs::write(path("rules.yml"), run(&["rules", "prometheus", &path("rules.toml")]).output()).unwrap();
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
