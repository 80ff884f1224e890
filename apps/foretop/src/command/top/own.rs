//! A node of our own, for hosts where none runs: in memory, on a free port of the loopback, gone with the view.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use node::{Config, Node};
use tokio::runtime::Runtime;

use node_api::NodeUrl;

pub struct OwnNode {
    runtime: Runtime,
    node: Node,
}

impl OwnNode {
    /// # Errors
    /// When this host cannot be measured, or nothing can listen on its loopback.
    pub fn start() -> anyhow::Result<Self> {
        let runtime = Runtime::new().context("cannot start the runtime")?;
        let config = Config { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), data_dir: None, ..Config::default() };
        let node = runtime.block_on(Node::start(config, Vec::new())).context("cannot measure this host")?;
        Ok(Self { runtime, node })
    }

    pub fn url(&self) -> NodeUrl {
        self.node.address().into()
    }

    pub fn stop(self) {
        self.runtime.block_on(self.node.stop());
    }
}
