//! A node on a free port of loopback, and a client that sends exactly what it is told to.

mod description;
mod kernel;
mod limits;
mod metrics;
mod mpi;
mod names;
mod one_off;
mod outlook;
mod page;
mod processes;
mod refusals;
mod rules;
mod run_time;
mod stream;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use mpi_job::Folder;
use node::{Config, Node, RulesFile, WarnSettings};
use node_api::{ErrorBody, ErrorCode, Warnings};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use testkit::mpi::Program;
use testkit::{PATIENCE, wait_until};

/// A running node, and the threads that it runs on.
struct Host {
    node: Option<Node>,
    runtime: tokio::runtime::Runtime,
    /// What is there for the node to find.
    _job: Option<(TempDir, Program)>,
    _agent: Option<kernel::Agent>,
}

impl Host {
    fn start() -> Self {
        Self::with(Config::default())
    }

    /// As configured, but on a free port of loopback.
    fn with(config: Config) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..config };
        let node = runtime.block_on(Node::start(config, Vec::new())).unwrap();
        Self { node: Some(node), runtime, _job: None, _agent: None }
    }

    /// One on which the job `heat` of an MPI program runs, that watches the rule `busy`, and that has an agent for the
    /// kernel.
    fn with_job() -> Self {
        let root = tempfile::tempdir().unwrap();
        let program = Program::start(&Folder::create(&root.path().join("jobs/heat")).unwrap());
        program.run(0..20);
        let rules = root.path().join("rules.toml");
        std::fs::write(&rules, "[[rule]]\nname = \"busy\"\nwhen = \"trace > 0.9\"\nwithin = \"10s\"\n").unwrap();
        let warnings = WarnSettings { rules: Some(RulesFile::open(&rules).unwrap()), ..WarnSettings::default() };
        let agent = kernel::Agent::start();
        let (mpi_jobs, kernel) = (root.path().join("jobs"), Some(agent.path()));
        let host = Self::with(Config { mpi_jobs, kernel, warnings, ..Config::default() });
        Self { _job: Some((root, program)), _agent: Some(agent), ..host }
    }

    fn address(&self) -> SocketAddr {
        self.node.as_ref().unwrap().address()
    }

    /// Returns when the node has answered everybody and is gone.
    fn stop(mut self) {
        let node = self.node.take().unwrap();
        self.runtime.block_on(node.stop());
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends `request` as it is, and reads until the node closes.
    fn exchange(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        Answer::read(stream)
    }

    /// One request; `headers` may set `Host` itself.
    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.exchange(&[head.as_bytes(), body].concat())
    }

    /// Waits for the first tick.
    fn ready(self) -> Self {
        let is_ready = || (self.get("/readyz").status == 200).then_some(());
        wait_until("the node is ready", PATIENCE, is_ready);
        self
    }

    /// Waits until it can be said how long tasks take.
    fn advising(self) -> Self {
        let is_advising = || (self.get("/api/v1/runtime?cpu_seconds=1").status == 200).then_some(());
        wait_until("the host's availability is forecast", PATIENCE, is_advising);
        self
    }

    /// The same, once it has looked ahead, and enough of `trace` has passed to say something of its future.
    fn looking_ahead(self) -> Self {
        let has_looked = || (!self.get("/api/v1/warnings").json::<Warnings>().rules.is_empty()).then_some(());
        wait_until("the rule was looked at", PATIENCE, has_looked);
        let is_answered =
            || (self.get("/api/v1/probability?statement=trace%3E0.9&within=10s").status == 200).then_some(());
        wait_until("`trace` is forecast", PATIENCE, is_answered);
        self
    }

    fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], b"")
    }

    fn post(&self, target: &str, body: &str) -> Answer {
        self.ask("POST", target, &[("Content-Type", "application/json")], body.as_bytes())
    }

    /// Makes a pushed series with a minute of samples that vary.
    fn with_pushed(self, id: &str) -> Self {
        let made =
            self.post("/api/v1/series", &serde_json::json!({"id": id, "unit": "ratio", "step": "1s"}).to_string());
        assert_eq!(made.status, 201, "{made:?}");
        let samples: Vec<_> = (0..60).map(|i| serde_json::json!({"value": f64::from(i).sin()})).collect();
        let pushed = self.post(
            &format!("/api/v1/series/{}/samples", percent(id)),
            &serde_json::json!({ "samples": samples }).to_string(),
        );
        assert_eq!(pushed.status, 200, "{pushed:?}");
        self
    }
}

/// An answer, taken apart.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer but {text:?}"));
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    #[track_caller]
    fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// That it is the refusal that it should be: right status, right code, the field to blame, JSON.
    #[track_caller]
    fn check_refused(&self, status: u16, code: ErrorCode, field: Option<&str>) {
        let error = self.json::<ErrorBody>().error;
        assert_eq!((self.status, error.code, error.field.as_deref()), (status, code, field), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert!(!error.message.is_empty(), "{self:?}");
    }
}

/// `text` as one segment of a path or one value of a query.
fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
