//! Sections of the configuration about the node itself: what it measures, forecasts, keeps and lets in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::tz::TimeZone;
use node::{Config, OutlookSettings};
use predict::{Calendar, Spec};
use secret::{Form, Privacy};
use sensor::HybridSettings;
use serde::{Deserialize, Serialize};
use stream::ServerTls;
use units::ByteCount;

use command_line::argument::time_zone;
use command_line::secret::warn_of;
use command_line::span_text;

/// `[node]`: what is measured, and where it is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeSection {
    pub listen: String,
    #[serde(with = "span_text")]
    pub every: Duration,
    pub root: PathBuf,
    pub only: Vec<String>,
    pub without: Vec<String>,
    pub watch: Vec<String>,
}

/// `[hybrid]`: the sensor that probes for CPU availability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HybridSection {
    pub enabled: bool,
    #[serde(with = "span_text")]
    pub measure_every: Duration,
    #[serde(with = "span_text")]
    pub probe_every: Duration,
    #[serde(with = "span_text")]
    pub probe_for: Duration,
}

/// `[forecast]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForecastSection {
    pub model: Spec,
    /// The time zone; that of the system if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holidays: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_season: Vec<String>,
}

/// `[store]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSection {
    pub in_memory: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    #[serde(with = "span_text")]
    pub retention: Duration,
    pub max: ByteCount,
}

/// `[access]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

/// `[mpi]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MpiSection {
    pub jobs: PathBuf,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSection {
    pub filter: String,
}

impl Default for NodeSection {
    fn default() -> Self {
        let Config { listen, root, step, .. } = Config::default();
        Self { listen: listen.to_string(), every: step, root, only: Vec::new(), without: Vec::new(), watch: Vec::new() }
    }
}

impl Default for HybridSection {
    fn default() -> Self {
        let HybridSettings { measure_every, probe_every, probe_for } = HybridSettings::default();
        Self { enabled: false, measure_every, probe_every, probe_for }
    }
}

impl Default for ForecastSection {
    fn default() -> Self {
        Self { model: Config::default().model, time_zone: None, holidays: Vec::new(), no_season: Vec::new() }
    }
}

impl Default for StoreSection {
    fn default() -> Self {
        let Config { retention, store_max, .. } = Config::default();
        Self { in_memory: false, data_dir: None, retention, max: store_max }
    }
}

impl Default for MpiSection {
    fn default() -> Self {
        Self { jobs: Config::default().mpi_jobs }
    }
}

impl Default for LogSection {
    fn default() -> Self {
        Self { filter: "info".to_owned() }
    }
}

impl ForecastSection {
    pub(super) fn outlooks(&self) -> anyhow::Result<OutlookSettings> {
        let zone = self.time_zone.as_deref().map(time_zone).transpose()?.unwrap_or_else(TimeZone::system);
        let holiday = |date: &String| {
            date.parse().with_context(|| format!("`{date}` in `holidays` is no date; write for example 2026-12-25"))
        };
        let holidays = self.holidays.iter().map(holiday).collect::<Result<_, _>>()?;
        let no_season = self.no_season.iter().map(|glob| glob.parse()).collect::<Result<_, _>>()?;
        Ok(OutlookSettings { calendar: Calendar::new(zone, holidays), no_season })
    }
}

impl HybridSection {
    pub(super) fn settings(&self) -> HybridSettings {
        let Self { measure_every, probe_every, probe_for, .. } = *self;
        HybridSettings { measure_every, probe_every, probe_for }
    }
}

impl AccessSection {
    pub(super) fn tls(&self) -> anyhow::Result<Option<ServerTls>> {
        match (&self.certificate, &self.key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                let found = secret::read(key, Form::Password, Privacy::Advised)?;
                warn_of(found.exposed.as_ref());
                Ok(Some(ServerTls::from_files(certificate, key)?))
            }
            _ => bail!("[access]: to be known by a certificate, it needs both `certificate` and `key`"),
        }
    }
}

impl StoreSection {
    /// The folder of the store; `None` when nothing is to be kept.
    pub fn place(&self) -> Option<&Path> {
        self.data_dir.as_deref().filter(|_| !self.in_memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_a_time_zone_with_holidays() {
        let outlooks = |text: &str| toml::from_str::<ForecastSection>(text).unwrap().outlooks();
        assert!(outlooks("time_zone = 'UTC'\nholidays = ['2026-12-25']\nno_season = ['disk.*']").is_ok());
        for (text, name) in
            [("time_zone = 'Mars'", "`Mars`"), ("holidays = ['25.12.']", "`25.12.`"), ("no_season = ['']", "``")]
        {
            let error = format!("{:#}", outlooks(text).unwrap_err());
            assert!(error.contains(name), "{error}");
        }
    }
}
