//! `[kernel]`: the agent of this host that says what the kernel is doing.

use std::path::PathBuf;
use std::time::Duration;

use feed::KernelAgent;
use node::Feed;
use serde::{Deserialize, Serialize};

use super::feed;
use command_line::span_text;

/// The agent of this host that says what the kernel is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSection {
    pub socket: PathBuf,
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
}

fn default_every() -> Duration {
    Duration::from_secs(5)
}

impl KernelSection {
    pub fn new(socket: PathBuf) -> Self {
        Self { socket, every: default_every() }
    }

    pub fn to_feed(&self) -> Feed {
        feed("kernel".to_owned(), self.every, None, KernelAgent::new(self.socket.clone(), self.every))
    }
}
