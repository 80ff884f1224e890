//! A Prometheus server scrapes a node: what `/metrics` says arrives there, whole and without complaint.
//!
//! The server is the one that `FORETOP_PROMETHEUS` names, or else `prometheus` in `PATH`.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{PATIENCE, wait_until};

use crate::command::run;
use crate::node::Running;

/// How often to look for another port when somebody took the one that was free a moment ago.
const N_PORT_ATTEMPTS: usize = 5;

const FORECAST: &str = r#"foretop_cpu_busy_ratio_forecast{horizon="10s"}"#;
const LOWER: &str = r#"foretop_cpu_busy_ratio_forecast_lower{horizon="10s",confidence="0.95"}"#;
const UPPER: &str = r#"foretop_cpu_busy_ratio_forecast_upper{horizon="10s",confidence="0.95"}"#;

#[test]
#[ignore = "needs prometheus; run by make test"]
fn a_real_prometheus_reads_values_forecasts_and_bounds_without_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let node = Running::start(&["--in-memory", "--every", "100ms"]);
    let prometheus = Prometheus::start(folder.path(), node.url.trim_start_matches("http://"));

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

#[test]
#[ignore = "needs prometheus; run by make test"]
fn crossval_takes_traces_from_a_real_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, out) = (path("t.toml"), path("out.parquet"));
    fs::write(&template, "models = [\"LAST\"]\nfit = 3\ntest = 2\nleads = 1").unwrap();
    let node = Running::start(&["--in-memory", "--every", "100ms"]);
    let prometheus = Prometheus::start(folder.path(), node.url.trim_start_matches("http://"));
    let ask = |query: &str| {
        let source = ["--prometheus", &prometheus.url, "--query", query, "--from", "-1min", "--step", "1s"];
        run(&[&["crossval", "run", &template, "--cases", "5", "--out", &out][..], &source].concat())
    };
    ask("sum(").check_failed(1, "it says: ");
    let ended = wait_until("there are samples enough", PATIENCE, || {
        let ended = ask("foretop_cpu_busy_ratio");
        (ended.status == 0).then_some(ended)
    });
    assert!(ended.stdout.starts_with("5 cases in "), "{ended:?}");
    assert!(run(&["crossval", "report", &out]).output().contains("`foretop_cpu_busy_ratio{"));
}

/// One element of an instant vector.
#[derive(Debug)]
struct Point {
    at_s: f64,
    value: f64,
}

/// A Prometheus server that scrapes one node every second.
struct Prometheus {
    child: Child,
    url: String,
    log: PathBuf,
}

impl Prometheus {
    fn start(folder: &Path, node: &str) -> Self {
        let config = folder.join("prometheus.yml");
        fs::write(
            &config,
            format!(
                "global: {{scrape_interval: 1s}}\n\
                 scrape_configs: [{{job_name: foretop, static_configs: [{{targets: ['{node}']}}]}}]\n"
            ),
        )
        .unwrap();
        for _ in 0..N_PORT_ATTEMPTS {
            let mut server = Self::spawn(folder, &config);
            if server.is_ready_before_it_ends() {
                return server;
            }
            eprintln!("prometheus ended at its start:\n{}", fs::read_to_string(&server.log).unwrap());
        }
        panic!("prometheus did not start in {N_PORT_ATTEMPTS} attempts");
    }

    fn spawn(folder: &Path, config: &Path) -> Self {
        let binary = std::env::var_os("FORETOP_PROMETHEUS").unwrap_or_else(|| "prometheus".into());
        let log = folder.join("prometheus.log");
        // Port 0 is taken literally by old versions, so a free one is found first.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(&binary)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", binary.display()));
        Self { child, url: format!("http://{address}"), log }
    }

    fn is_ready_before_it_ends(&mut self) -> bool {
        wait_until("prometheus is ready", PATIENCE, || {
            if self.child.try_wait().unwrap().is_some() {
                return Some(false);
            }
            ureq::get(format!("{}/-/ready", self.url)).call().is_ok().then_some(true)
        })
    }

    /// Waits until `query` has a result, and returns it.
    #[track_caller]
    fn wait_for(&self, query: &str) -> Vec<Point> {
        wait_until(&format!("prometheus has {query}"), PATIENCE, || {
            let points = self.points(&[("query", query)]);
            (!points.is_empty()).then_some(points)
        })
    }

    fn query_at(&self, at_s: f64, query: &str) -> Vec<Point> {
        self.points(&[("query", query), ("time", &at_s.to_string())])
    }

    fn points(&self, parameters: &[(&str, &str)]) -> Vec<Point> {
        let answer = self.get("/api/v1/query", parameters);
        let points = answer["data"]["result"].as_array().expect("a vector");
        points
            .iter()
            .map(|point| Point {
                at_s: point["value"][0].as_f64().expect("a time"),
                value: point["value"][1].as_str().expect("a value in text").parse().expect("a number"),
            })
            .collect()
    }

    fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let request = ureq::get(format!("{}{path}", self.url)).query_pairs(parameters.iter().copied());
        let mut answer = request.call().unwrap_or_else(|error| panic!("{path} {parameters:?}: {error}"));
        answer.body_mut().read_json().expect("a body of JSON")
    }

    /// A line that comes twice is dropped without a word, so it shows only in the numbers.
    #[track_caller]
    fn check_each_line_is_a_series_of_its_own(&self) {
        let scraped = &self.wait_for("scrape_samples_scraped")[0];
        let series = self.query_at(scraped.at_s, r#"{job="foretop",__name__=~"foretop_.+"}"#);
        assert_eq!(series.len() as f64, scraped.value, "series beside lines of one scrape");
    }

    #[track_caller]
    fn check_nothing_was_wrong_with_the_scrapes(&self) {
        let targets = self.get("/api/v1/targets", &[]);
        let target = &targets["data"]["activeTargets"][0];
        assert_eq!(target["health"], "up", "{target}");
        assert_eq!(target["lastError"], "", "{target}");
        // A sample that is doubled, late or out of order is dropped with a warning and no error.
        let log = fs::read_to_string(&self.log).unwrap();
        let complaint = |line: &&str| line.contains("scrape manager") && !line.contains("level=info");
        assert_eq!(log.lines().find(complaint), None);
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
