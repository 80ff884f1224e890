//! Destinations of measurements that a command makes by the way.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use component::{Origin, Publisher};
use stream::{Endpoint, Security};

use crate::command::stream::wiring::Protection;
use command_line::failure::OrUsage;

/// Destinations of measurements, and their protection.
#[derive(Args)]
pub struct Publishing {
    /// Send the measurements as a stream; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    publish: Vec<Endpoint>,

    #[command(flatten)]
    protection: Protection,
}

impl Publishing {
    /// Announces itself as `stream`, if anything is to be sent.
    pub fn start(&self, component: &'static str, stream: &str, step: Duration) -> anyhow::Result<Option<Publisher>> {
        if self.publish.is_empty() {
            return Ok(None);
        }
        let security = self.protection.security().or_usage()?;
        publish(component, stream, step, &self.publish, &security).map(Some)
    }
}

/// Announces itself as `stream` of this host.
pub fn publish(
    component: &'static str,
    stream: &str,
    step: Duration,
    endpoints: &[Endpoint],
    security: &Security,
) -> anyhow::Result<Publisher> {
    let host = sensor::host_name(Path::new("/")).unwrap_or_default();
    Publisher::start(Origin { component, stream, host: &host, step }, endpoints, security)
        .with_context(|| format!("cannot publish `{stream}`"))
}
