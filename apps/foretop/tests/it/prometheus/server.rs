//! A real Prometheus server in a process of its own, which can be ended and started anew.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{PATIENCE, wait_until};

/// How often to look for another port when somebody took the one that was free a moment ago.
const N_PORT_ATTEMPTS: usize = 5;

/// One element of an instant vector.
#[derive(Debug)]
pub struct Point {
    pub at_s: f64,
    pub value: f64,
}

/// The server that is tried. Its tools are beside it.
pub fn binary() -> PathBuf {
    std::env::var_os("FORETOP_TEST_PROMETHEUS").unwrap_or_else(|| "prometheus".into()).into()
}

/// A Prometheus server that takes remote write, and scrapes one node every second if it is told to.
pub struct Prometheus {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
    pub url: String,
    log: PathBuf,
}

impl Prometheus {
    /// One that keeps what it has in `folder`, scrapes `node`, an address without a scheme, and alerts by `rules.yml`
    /// if that is in `folder`.
    pub fn start(folder: &Path, node: Option<&str>) -> Self {
        let jobs = node.map_or_else(String::new, |node| {
            format!("scrape_configs: [{{job_name: foretop, static_configs: [{{targets: ['{node}']}}]}}]\n")
        });
        fs::write(
            folder.join("prometheus.yml"),
            format!("global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['rules*.yml']\n{jobs}"),
        )
        .unwrap();
        for _ in 0..N_PORT_ATTEMPTS {
            // Port 0 is taken literally by old versions, so a free one is found first.
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let mut server = Self::spawn(folder, address);
            if server.is_ready_before_it_ends() {
                return server;
            }
            eprintln!("prometheus ended at its start:\n{}", fs::read_to_string(&server.log).unwrap());
        }
        panic!("prometheus did not start in {N_PORT_ATTEMPTS} attempts");
    }

    fn spawn(folder: &Path, address: SocketAddr) -> Self {
        let binary = binary();
        let log = folder.join("prometheus.log");
        let child = Command::new(&binary)
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--web.enable-remote-write-receiver")
            .stdout(Stdio::null())
            .stderr(File::options().create(true).append(true).open(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", binary.display()));
        Self { child, folder: folder.to_owned(), address, url: format!("http://{address}"), log }
    }

    /// Where it takes remote write.
    pub fn write_url(&self) -> String {
        format!("{}/api/v1/write", self.url)
    }

    /// Ends it. What is started anew has the same address and what this one had.
    pub fn stop(mut self) -> Stopped {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.child.wait().unwrap();
        Stopped { folder: self.folder.clone(), address: self.address }
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
    pub fn wait_for(&self, query: &str) -> Vec<Point> {
        wait_until(&format!("prometheus has {query}"), PATIENCE, || {
            let points = self.points(&[("query", query)]);
            (!points.is_empty()).then_some(points)
        })
    }

    pub fn query_at(&self, at_s: f64, query: &str) -> Vec<Point> {
        self.points(&[("query", query), ("time", &at_s.to_string())])
    }

    pub fn points(&self, parameters: &[(&str, &str)]) -> Vec<Point> {
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

    pub fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let request = ureq::get(format!("{}{path}", self.url)).query_pairs(parameters.iter().copied());
        let mut answer = request.call().unwrap_or_else(|error| panic!("{path} {parameters:?}: {error}"));
        answer.body_mut().read_json().expect("a body of JSON")
    }

    /// A line that comes twice is dropped without a word, so it shows only in the numbers.
    #[track_caller]
    pub fn check_each_line_is_a_series_of_its_own(&self) {
        // One query sees one scrape. A scrape that failed has no lines.
        let lines = r#"(scrape_samples_scraped{job="foretop"} > 0)"#;
        let series = r#"count({job="foretop",__name__=~"foretop_.+"})"#;
        let differences = self.wait_for(&format!("{lines} - on() {series}"));
        assert_eq!(differences[0].value, 0.0, "lines of one scrape without a series");
    }

    /// Waits for a scrape that succeeds: on a machine that is busy or stopped, Prometheus gives up some scrapes after
    /// its second. Any other failure of a scrape is a complaint.
    #[track_caller]
    pub fn check_nothing_was_wrong_with_the_scrapes(&self) {
        wait_until("a scrape succeeds", PATIENCE, || {
            let targets = self.get("/api/v1/targets", &[]);
            let target = &targets["data"]["activeTargets"][0];
            let error = target["lastError"].as_str().expect("a text");
            assert!(error.is_empty() || error.contains("deadline exceeded"), "{target}");
            (target["health"] == "up").then_some(())
        });
        // A sample that is doubled, late or out of order is dropped with a warning and no error.
        let log = fs::read_to_string(&self.log).unwrap();
        let complaint = |line: &&str| line.contains("scrape manager") && !line.contains("level=info");
        assert_eq!(log.lines().find(complaint), None);
    }
}

/// A Prometheus server that was ended.
pub struct Stopped {
    folder: PathBuf,
    address: SocketAddr,
}

impl Stopped {
    pub fn start(self) -> Prometheus {
        let mut server = Prometheus::spawn(&self.folder, self.address);
        assert!(server.is_ready_before_it_ends(), "{}", fs::read_to_string(&server.log).unwrap());
        server
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
