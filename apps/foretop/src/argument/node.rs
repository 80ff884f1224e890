//! Which node to ask.

use std::path::PathBuf;

use clap::Args;

use crate::failure::OrUsage;
use crate::secret::read_token;
use node_api::{Client, NodeUrl};

/// Which node to ask, and the token that it wants.
#[derive(Args, Clone, Debug)]
pub struct NodeArgs {
    /// The node to ask [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "FORETOP_NODE")]
    pub node: Option<NodeUrl>,

    /// File that holds the node's token
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

impl NodeArgs {
    /// A client of that node; nothing is sent yet.
    ///
    /// # Errors
    /// When the token's file cannot be read or holds no token.
    pub fn client(&self) -> anyhow::Result<Client> {
        let token = self.token_file.as_deref().map(read_token).transpose().or_usage()?;
        Ok(Client::new(self.node.clone().unwrap_or_default(), token))
    }
}
