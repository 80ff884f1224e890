//! A real node in a process of its own, for the tests of the commands that speak to one.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

use crate::command::{Ended, foretop, run};

/// A node that is killed when the test ends.
pub struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The line with which it said that it is ready.
    pub line: String,
    /// `http://127.0.0.1:PORT`, or `https://…`.
    pub url: String,
}

impl Running {
    /// Starts `foretop up` on any free port with these arguments, and waits until it is ready.
    #[track_caller]
    pub fn start(args: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", args)
    }

    /// The same at this address.
    #[track_caller]
    pub fn start_at(address: &str, args: &[&str]) -> Self {
        Self::spawn(foretop().args(["up", "--listen", address, "--log", "warn"]).args(args))
    }

    /// A fast one that keeps nothing and measures little.
    #[track_caller]
    pub fn in_memory() -> Self {
        Self::start(&["--in-memory", "--every", "50ms", "--only", "cpu.*", "--only", "load.*"])
    }

    /// A fast one that keeps what little it measures in `folder`.
    #[track_caller]
    pub fn in_folder(folder: &Path) -> Self {
        Self::start(&["--data-dir", folder.to_str().unwrap(), "--every", "50ms", "--only", "load.*"])
    }

    #[track_caller]
    pub fn spawn(command: &mut Command) -> Self {
        Self::spawn_logging(command, Stdio::piped())
    }

    /// The same, with its standard error somewhere else.
    #[track_caller]
    pub fn spawn_logging(command: &mut Command, log: impl Into<Stdio>) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(url) = line.split_whitespace().find(|word| word.contains("://")) else {
            let _ = child.kill();
            let mut stderr = String::new();
            child.stderr.take().map(|mut said| said.read_to_string(&mut stderr).unwrap());
            panic!("not up: {line}{stderr}");
        };
        let url = url.trim_end_matches('/').to_owned();
        Self { child, stdout, line, url }
    }

    /// Runs a command that takes `--node` against this one.
    pub fn run(&self, args: &[&str]) -> Ended {
        run(&[args, &["--node", &self.url]].concat())
    }

    /// Waits until a signal has at least so many samples since the start.
    #[track_caller]
    pub fn wait_for_samples(&self, id: &str, n_samples: u64) {
        wait_until(&format!("{id} has {n_samples} samples"), PATIENCE, || {
            let mut answer = match ureq::get(format!("{}/api/v1/series/{id}", self.url)).call() {
                Ok(answer) => answer,
                // A signal from elsewhere is unknown until its source has been read once.
                Err(ureq::Error::StatusCode(404)) => return None,
                Err(error) => panic!("{error}"),
            };
            let series: serde_json::Value = answer.body_mut().read_json().unwrap();
            (series["n_samples"].as_u64().unwrap() >= n_samples).then_some(())
        });
    }

    /// Waits until a signal has a forecast. On a busy machine there are gaps between samples, and no forecast before
    /// two without one.
    #[track_caller]
    pub fn wait_for_forecast(&self, id: &str) {
        let url = format!("{}/api/v1/series/{id}/forecast?horizon=1s", self.url);
        wait_until(&format!("{id} has a forecast"), PATIENCE, || ureq::get(&url).call().is_ok().then_some(()));
    }

    /// The JSON at a path.
    #[track_caller]
    pub fn get(&self, path: &str) -> serde_json::Value {
        ureq::get(format!("{}{path}", self.url)).call().unwrap().body_mut().read_json().unwrap()
    }

    /// Sends a signal that the process can handle.
    pub fn send(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it without a chance to write anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and gives what it printed after its first line.
    pub fn terminate(self, signal: &str) -> (ExitStatus, String) {
        self.send(signal);
        self.wait()
    }

    /// Waits until it ends, and gives what it printed after its first line.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for one test.
pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}
