//! Network services that a component uses beside the places that its endpoints name.

use std::fmt;
use std::path::PathBuf;

/// The address of the NATS server, and the credentials for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NatsServer {
    /// Its address, as in `nats://broker:4222`, or `tls://…` to be encrypted; [`NatsServer::URL`] where there is none.
    /// It may hold a name and a password, so it is never printed.
    pub url: Option<String>,
    /// A file of credentials, as NATS's own tools write it.
    pub credentials: Option<PathBuf>,
}

impl NatsServer {
    /// The address of the NATS server if none is given.
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
