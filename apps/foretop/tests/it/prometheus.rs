//! A Prometheus server and a node: what `/metrics` says arrives there when it is scraped, whole and without complaint.
//!
//! The server is the one that `FORETOP_PROMETHEUS` names, or else `prometheus` in `PATH`.

mod crossval;
mod dashboard;
mod query;
mod remote_write;
mod server;

use self::server::Prometheus;
use crate::node::Running;

const FORECAST: &str = r#"foretop_cpu_busy_ratio_forecast{horizon="10s"}"#;
const LOWER: &str = r#"foretop_cpu_busy_ratio_forecast_lower{horizon="10s",confidence="0.95"}"#;
const UPPER: &str = r#"foretop_cpu_busy_ratio_forecast_upper{horizon="10s",confidence="0.95"}"#;

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_real_prometheus_reads_values_forecasts_and_bounds_without_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let node = Running::start(&["--in-memory", "--every", "100ms"]);
    let prometheus = Prometheus::start(folder.path(), Some(node.url.trim_start_matches("http://")));

    let busy = prometheus.wait_for("foretop_cpu_busy_ratio");
    assert!(busy.iter().all(|point| (0.0..=1.0).contains(&point.value)), "{busy:?}");

    let forecasts = prometheus.wait_for(FORECAST);
    // Looked at from one moment, so that no scrape can come between the three.
    let inside = prometheus.query_at(
        forecasts[0].at_s,
        &format!("{FORECAST} >= ignoring(confidence) {LOWER} and {FORECAST} <= ignoring(confidence) {UPPER}"),
    );
    assert_eq!(inside.len(), forecasts.len(), "each forecast lies between its bounds: {forecasts:?} {inside:?}");

    prometheus.wait_for(r#"up{job="foretop"} == 1"#);
    prometheus.wait_for("rate(foretop_ticks_total[10s]) > 0");
    prometheus.check_each_line_is_a_series_of_its_own();
    prometheus.check_nothing_was_wrong_with_the_scrapes();
}
