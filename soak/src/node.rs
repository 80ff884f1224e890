//! Nodes in processes of their own, and what can be asked of one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use ureq::Agent;

use crate::shim::Shim;

/// Timeout of an answer; one that takes longer counts as none.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Descriptors that are always taken: input, output, log. What is open beyond a limit stays open.
const N_STANDARD: u64 = 3;

/// A node that runs, or that was killed and can be started again.
pub struct Node {
    program: PathBuf,
    args: Vec<String>,
    /// Folder of the node's store and log.
    folder: PathBuf,
    pub url: String,
    child: Option<Child>,
}

/// Resources held by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub resident_bytes: u64,
    pub n_descriptors: usize,
}

/// A port that was free a moment ago: a node that is started again has to be where it was.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Node {
    /// One of `program` that keeps what it has in `folder`, with further arguments for `up`.
    pub fn new(program: &Path, folder: &Path, args: &[String]) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let first = ["up", "--every", "200ms", "--listen", &address].map(str::to_owned);
        let args = first.iter().chain(args).cloned().collect();
        let url = format!("http://{address}");
        Ok(Self { program: program.to_owned(), args, folder: folder.to_owned(), url, child: None })
    }

    /// Starts it, and waits until it serves; with `shim`, its disk and clock can be made to fail.
    pub fn start(&mut self, shim: Option<&Shim>) -> anyhow::Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        if let Some(shim) = shim {
            shim.preload(&mut command, &self.folder);
        }
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output is piped")?).read_line(&mut line)?;
        self.child = Some(child);
        if !line.contains("://") {
            bail!("the node does not start: {}", fs::read_to_string(self.folder.join("log"))?);
        }
        Ok(())
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        Ok(Pid::from_child(self.child.as_ref().context("the node does not run")?))
    }

    /// Ends it without a chance to write anything.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("the node does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// Asks it to end, and gives its exit status.
    pub fn end(&mut self) -> anyhow::Result<Option<i32>> {
        self.signal(Signal::TERM)?;
        Ok(self.child.take().context("the node does not run")?.wait()?.code())
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Lets it open nothing more, whatever it closes; gives the limit that it had.
    pub fn take_descriptors(&self) -> anyhow::Result<Rlimit> {
        let pid = self.pid()?;
        let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero()))?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).context("no limit of files")?;
        let maximum = line.split_whitespace().nth(1).context("no upper limit of files")?.parse().ok();
        Ok(prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(N_STANDARD), maximum })?)
    }

    /// Gives it back the limit of descriptors.
    pub fn give_descriptors(&self, limit: Rlimit) -> anyhow::Result<()> {
        prlimit(Some(self.pid()?), Resource::Nofile, limit)?;
        Ok(())
    }

    /// Memory and descriptors of its process.
    pub fn held(&self) -> anyhow::Result<Held> {
        let proc = format!("/proc/{}", self.pid()?.as_raw_nonzero());
        let status = fs::read_to_string(format!("{proc}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(Held { resident_bytes: kib << 10, n_descriptors: fs::read_dir(format!("{proc}/fd"))?.count() })
    }

    /// The JSON at a path.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        get(&agent(), &self.url, path)
    }

    /// Sends JSON to a path.
    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = agent().post(format!("{}{path}", self.url)).send_json(body)?;
        Ok(answer.into_body().read_json()?)
    }
}

/// A client that keeps its connection, so that it reaches a node that can open none.
pub fn agent() -> Agent {
    Agent::config_builder().timeout_global(Some(ANSWER_WITHIN)).build().into()
}

/// The JSON at a path of the node at `url`.
pub fn get(agent: &Agent, url: &str, path: &str) -> anyhow::Result<Value> {
    Ok(agent.get(format!("{url}{path}")).call()?.into_body().read_json()?)
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
