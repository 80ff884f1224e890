//! Arguments that all commands share: what a listener accepts, and who forecasts.

use clap::Args;
use playback::Limits;
use predict::Policy;
use program::Failure;

/// Limits that a listener accepts, and the model of forecasts.
#[derive(Args)]
pub struct Accepted {
    /// The rate that you want
    #[arg(long, value_name = "RATE", default_value_t = 1.0)]
    pub speed: f64,

    /// The slowest rate that you accept, as a share of --speed
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    pub max_slow: f64,

    /// The fastest rate that you accept, as a share of --speed
    #[arg(long, value_name = "SHARE", default_value_t = 1.1)]
    pub max_fast: f64,

    /// Media to buffer before play starts, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub start: f64,

    /// The model that forecasts arrival, or `none` to play without forecasts
    #[arg(long, value_name = "MODEL", default_value = "AUTO")]
    pub model: String,
}

impl Accepted {
    pub fn limits(&self) -> Result<Limits, Failure> {
        Limits::new(self.max_slow, self.max_fast).map_err(Failure::usage)
    }

    pub fn policy(&self) -> Result<Option<Policy>, Failure> {
        match self.model.as_str() {
            "none" => Ok(None),
            model => model.parse().map(Some).map_err(|error| Failure::usage(format!("`--model {model}`: {error}"))),
        }
    }
}

/// A number in a range that excludes its lower end.
pub fn within(name: &str, value: f64, above: f64, most: f64) -> Result<f64, Failure> {
    (value > above && value <= most)
        .then_some(value)
        .ok_or_else(|| Failure::usage(format!("`--{name} {value}`: it is above {above} and at most {most}")))
}
