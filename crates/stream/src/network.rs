//! What of the network a component uses beside the places that its endpoints name.

use std::fmt;
use std::path::PathBuf;

/// Where the NATS server is, and who we are to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NatsServer {
    /// Its address, as in `nats://broker:4222`, or `tls://…` to be encrypted; [`NatsServer::URL`] where there is none.
    /// It may hold a name and a password, so it is never printed.
    pub url: Option<String>,
    /// A file of credentials, as NATS's own tools write it.
    pub credentials: Option<PathBuf>,
}

impl NatsServer {
    /// Where a NATS server is looked for when nothing else is said.
    pub const URL: &str = "nats://127.0.0.1:4222";

    pub(crate) fn url(&self) -> &str {
        self.url.as_deref().unwrap_or(Self::URL)
    }
}

impl fmt::Debug for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_ref().map(|_| "…");
        f.debug_struct("NatsServer").field("url", &url).field("credentials", &self.credentials).finish()
    }
}
