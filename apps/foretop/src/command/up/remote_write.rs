//! `[[remote_write]]`: a server that samples, forecasts and the node's own health are written to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use node::RemoteWrite;
use serde::{Deserialize, Serialize};
use signal::Selection;
use units::span;

use super::settings::{Settings, login, trust, warn_of_clear};
use command_line::span_text;

/// The buffer of a node that keeps nothing.
const MEMORY_BYTES: u64 = 16 << 20;

/// A server that samples, forecasts and the node's own health are written to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteWriteSection {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, rename = "match")]
    pub globs: Vec<String>,
    #[serde(default = "default_horizons")]
    pub horizons: Vec<String>,
    #[serde(default)]
    pub yhat: bool,
    #[serde(default = "default_forecast_every", with = "span_text")]
    pub forecast_every: Duration,
    #[serde(default = "default_batch_every", with = "span_text")]
    pub batch_every: Duration,
    #[serde(default = "default_batch_samples")]
    pub batch_samples: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    #[serde(default = "default_timeout", with = "span_text")]
    pub timeout: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// Returns the libraries' defaults, by a server whose address does not matter.
fn defaults() -> RemoteWrite {
    let settings = remote_write::Settings::new("http://localhost/").expect("this is an address");
    RemoteWrite::new(String::new(), settings)
}

fn default_horizons() -> Vec<String> {
    defaults().horizons.into_iter().map(span::format).collect()
}

fn default_forecast_every() -> Duration {
    defaults().forecast_every
}

fn default_batch_every() -> Duration {
    defaults().settings.batch_every
}

fn default_batch_samples() -> usize {
    defaults().settings.batch_samples
}

fn default_timeout() -> Duration {
    defaults().settings.timeout
}

impl Settings {
    /// The servers that are written to. Nothing is connected to.
    ///
    /// # Errors
    /// When a setting makes no sense. The message begins with the section.
    pub fn to_remote_writes(&self) -> anyhow::Result<Vec<RemoteWrite>> {
        let is_kept = self.store.place().is_some();
        self.remote_write.iter().map(|section| section.to_remote_write(is_kept)).collect()
    }
}

impl RemoteWriteSection {
    /// The server at `url`, and everything for it.
    pub fn new(url: String) -> Self {
        Self {
            url,
            name: None,
            globs: Vec::new(),
            horizons: default_horizons(),
            yhat: false,
            forecast_every: default_forecast_every(),
            batch_every: default_batch_every(),
            batch_samples: default_batch_samples(),
            buffer_bytes: None,
            timeout: default_timeout(),
            token_file: None,
            user: None,
            password_file: None,
            authorities: None,
            labels: BTreeMap::new(),
            headers: BTreeMap::new(),
        }
    }

    fn to_remote_write(&self, is_kept: bool) -> anyhow::Result<RemoteWrite> {
        let defaults = remote_write::Settings::new(&self.url).context("[[remote_write]]")?;
        let place = || format!("[[remote_write]] `{}`", self.url);
        let name = self.name.clone().unwrap_or_else(|| defaults.address.host_and_port().to_owned());
        let horizons = self.horizons.iter().map(|text| span::parse(text)).collect::<Result<_, _>>();
        let settings = remote_write::Settings {
            headers: self.headers.clone(),
            login: login(&self.token_file, &self.user, &self.password_file).with_context(place)?,
            trust: trust(&self.authorities).with_context(place)?,
            batch_every: self.batch_every,
            batch_samples: self.batch_samples,
            buffer_bytes: self.buffer_bytes.unwrap_or(if is_kept { defaults.buffer_bytes } else { MEMORY_BYTES }),
            timeout: self.timeout,
            // No two nodes are the same process at the same time, which is what the chance is for.
            seed: u64::from(std::process::id()),
            ..defaults
        };
        settings.check().with_context(place)?;
        warn_of_clear(&settings.login, &settings.address);
        Ok(RemoteWrite {
            select: Selection::new(&self.globs, &[]).with_context(place)?,
            horizons: horizons.with_context(place)?,
            yhat: self.yhat,
            forecast_every: self.forecast_every,
            labels: self.labels.clone(),
            ..RemoteWrite::new(name, settings)
        })
    }
}
