//! `[[scrape]]`: a Prometheus exporter whose series become signals.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use feed::{Exporter, ExporterSettings};
use node::Feed;
use serde::{Deserialize, Serialize};

use super::feed;
use crate::command::up::settings::{login, trust, warn_of_clear};
use command_line::span_text;

/// A Prometheus exporter whose series become signals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrapeSection {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, rename = "match")]
    pub patterns: Vec<String>,
    #[serde(default)]
    pub non_negative: Vec<String>,
    #[serde(default)]
    pub quantiles: Vec<f64>,
    #[serde(default = "default_max_signals")]
    pub max_signals: usize,
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
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
}

/// Most exporters look at their host anew for each scrape, which costs them more than it costs us.
fn default_every() -> Duration {
    Duration::from_secs(5)
}

fn default_timeout() -> Duration {
    ExporterSettings::new("").timeout
}

fn default_max_signals() -> usize {
    ExporterSettings::new("").n_signals_max
}

impl ScrapeSection {
    /// The exporter at `url`, and of it what matches.
    pub fn new(url: String, patterns: Vec<String>) -> Self {
        Self {
            url,
            name: None,
            patterns,
            non_negative: Vec::new(),
            quantiles: Vec::new(),
            max_signals: default_max_signals(),
            every: default_every(),
            timeout: default_timeout(),
            token_file: None,
            user: None,
            password_file: None,
            authorities: None,
        }
    }

    pub fn to_feed(&self) -> anyhow::Result<Feed> {
        let place = || format!("[[scrape]] `{}`", self.url.escape_debug());
        let settings = ExporterSettings {
            name: self.name.clone(),
            patterns: self.patterns.clone(),
            non_negative: self.non_negative.clone(),
            quantiles: self.quantiles.clone(),
            n_signals_max: self.max_signals,
            timeout: self.timeout,
            login: login(&self.token_file, &self.user, &self.password_file).with_context(place)?,
            trust: trust(&self.authorities).with_context(place)?,
            ..ExporterSettings::new(self.url.clone())
        };
        let exporter = Exporter::open(&settings).with_context(place)?;
        let address = settings.address().with_context(place)?;
        warn_of_clear(&settings.login, &address);
        let name = address.host_and_port().to_owned();
        Ok(feed(format!("scrape {}", self.name.clone().unwrap_or(name)), self.every, Some(self.max_signals), exporter))
    }
}
