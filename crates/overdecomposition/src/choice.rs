//! Choices of a sweep by name: waiting, placing, weights of hosts.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::SweepError;

/// Way in which ranks wait for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitMode {
    /// The library's own way, which is spinning.
    Library,
    /// Yielding the core between tests.
    Yield,
    /// Sleeping until there is something to receive.
    Block,
}

/// Placing of ranks on processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankPlacing {
    /// Neighbouring ranks on one processor.
    Blocked,
    /// Neighbouring ranks on different processors, in turn.
    Cyclic,
}

/// Number of ranks that a host has against others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostWeights {
    /// The same number for all.
    Even,
    /// Ranks in proportion to the availability that its node forecasts.
    Forecast,
}

impl WaitMode {
    /// Returns the word for command lines and the environment.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Yield => "yield",
            Self::Block => "block",
        }
    }
}

impl RankPlacing {
    /// Returns the word for command lines and the environment.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Cyclic => "cyclic",
        }
    }
}

impl FromStr for WaitMode {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let known = [Self::Library, Self::Yield, Self::Block].into_iter().find(|mode| mode.name() == text);
        known.ok_or_else(|| SweepError::Wait { given: text.to_owned() })
    }
}

impl FromStr for HostWeights {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        match text {
            "even" => Ok(Self::Even),
            "forecast" => Ok(Self::Forecast),
            _ => Err(SweepError::Weights { given: text.to_owned() }),
        }
    }
}

impl FromStr for RankPlacing {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let known = [Self::Blocked, Self::Cyclic].into_iter().find(|placing| placing.name() == text);
        known.ok_or_else(|| SweepError::Placing { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_line_are_read_back() {
        assert_eq!("block".parse(), Ok(WaitMode::Block));
        assert_eq!("cyclic".parse(), Ok(RankPlacing::Cyclic));
        assert!("spin".parse::<WaitMode>().unwrap_err().to_string().contains("`spin`"));
    }
}
