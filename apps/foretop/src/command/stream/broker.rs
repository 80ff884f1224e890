//! Which NATS server, for all commands that speak to one.

use std::path::PathBuf;

use clap::Args;
use stream::{NatsServer, Security};

#[derive(Args, Clone, Debug)]
pub struct Broker {
    /// The NATS server; tls:// encrypts [default: nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL", env = "NATS_URL", hide_env_values = true)]
    nats: Option<String>,

    /// File of credentials for it
    #[arg(long, value_name = "PATH", env = "NATS_CREDENTIALS")]
    nats_credentials: Option<PathBuf>,
}

impl Broker {
    /// Whether one was named.
    pub fn is_given(&self) -> bool {
        self.nats.is_some()
    }

    pub fn security(self) -> Security {
        Security { nats: NatsServer { url: self.nats, credentials: self.nats_credentials }, ..Security::default() }
    }
}
