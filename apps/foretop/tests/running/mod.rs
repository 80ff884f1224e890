//! A node in a process of its own, for tests that need the real binary; it ends with the test that started it.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;
use testkit::PATIENCE;

/// A running `foretop up`. Dropping it is `kill -9`.
pub struct NodeProcess {
    child: Child,
    authority: String,
    agent: ureq::Agent,
}

impl NodeProcess {
    /// Starts a node on a free port and returns as soon as it has printed its address.
    pub fn start(data_dir: &Path, every: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretop"));
        command.args(["up", "--listen", "127.0.0.1:0", "--every", every, "--data-dir"]).arg(data_dir);
        // The configuration of whoever runs the tests is not that of the node.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FORETOP_")) {
            command.env_remove(name);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("foretop starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (send, receive) = mpsc::channel();
        // Reads on to the end, so that the node never finds its pipe full or closed.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(authority) = authority_in(&line) {
                    let _ = send.send(authority.to_owned());
                }
            }
        });
        let Ok(authority) = receive.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("foretop up printed no address: {:?}", child.wait());
        };
        let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        Self { child, authority, agent }
    }

    /// `HOST:PORT` of the node.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The JSON body at `path`, if the answer is 200.
    pub fn get(&self, path: &str) -> Option<Value> {
        let mut answer = self.agent.get(format!("http://{}{path}", self.authority())).call().ok()?;
        Some(answer.body_mut().read_json().expect("a body of JSON"))
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn authority_in(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("http://")?;
    after.split(|c: char| c == '/' || c.is_whitespace()).next()
}
