//! The node to ask.

use std::path::PathBuf;

use clap::Args;
use http_client::Trust;

use crate::failure::OrUsage;
use crate::secret::read_token;
use crate::terminal::say;
use node_api::{Client, NodeUrl};

/// The node to ask, and the access to it.
#[derive(Args, Clone, Debug)]
pub struct NodeArgs {
    /// The node to ask [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "FORETOP_NODE")]
    pub node: Option<NodeUrl>,

    /// Access to the node: token, certificates, limits.
    #[command(flatten)]
    pub access: NodeAccess,
}

/// Token and certificates for a node.
#[derive(Args, Clone, Debug)]
pub struct NodeAccess {
    /// File with the node's token
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Certificates (PEM) to trust for https addresses, instead of the system's
    #[arg(long, value_name = "FILE", env = "FORETOP_CA")]
    ca: Option<PathBuf>,
}

impl NodeArgs {
    /// A client of that node; nothing is sent yet.
    ///
    /// # Errors
    /// When the token's file cannot be read or holds no token.
    pub fn client(&self) -> anyhow::Result<Client> {
        Ok(self.access.clients([self.node.clone().unwrap_or_default()])?.remove(0))
    }
}

impl NodeAccess {
    /// Clients of these nodes; nothing is sent yet. A token that would be sent in the clear is said on standard error.
    ///
    /// # Errors
    /// When a file cannot be read, or does not hold what it should.
    pub fn clients(&self, urls: impl IntoIterator<Item = NodeUrl>) -> anyhow::Result<Vec<Client>> {
        let token = self.token_file.as_deref().map(read_token).transpose().or_usage()?;
        let trust = self.trust()?;
        let client = |url: NodeUrl| {
            if token.is_some() && url.is_in_the_clear() {
                say(&format!(
                    "foretop: warning: the token is sent to {url} in the clear, for all on the way to read; \
                     start the node with --tls-cert and --tls-key, and write https://"
                ));
            }
            Client::trusting(&trust, url, token.clone())
        };
        Ok(urls.into_iter().map(client).collect())
    }

    /// Returns the certificates to trust.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no certificates.
    pub fn trust(&self) -> anyhow::Result<Trust> {
        Ok(self.ca.as_deref().map(Trust::from_file).transpose().or_usage()?.unwrap_or_default())
    }
}
