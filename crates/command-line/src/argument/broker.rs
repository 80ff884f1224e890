//! The NATS server to use.

use std::path::PathBuf;

use clap::Args;
use stream::{NatsServer, Security};

/// The NATS server, and the credentials for it.
#[derive(Args, Clone, Debug)]
pub struct Broker {
    /// The NATS server; tls:// encrypts [default: nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL", env = "NATS_URL", hide_env_values = true)]
    nats: Option<String>,

    /// File with credentials for it
    #[arg(long, value_name = "PATH", env = "NATS_CREDENTIALS")]
    nats_credentials: Option<PathBuf>,
}

impl Broker {
    /// Whether one was named.
    pub fn is_given(&self) -> bool {
        self.nats.is_some()
    }

    /// Security with that server, and nothing else, set.
    pub fn security(self) -> Security {
        Security { nats: NatsServer { url: self.nats, credentials: self.nats_credentials }, ..Security::default() }
    }
}
