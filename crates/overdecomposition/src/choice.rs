//! Choices of a sweep by name: waiting, placing, weights of hosts.

use std::str::FromStr;

use mpi_trace::{RankPlacing, WaitMode};
use serde::{Deserialize, Serialize};

use crate::SweepError;

/// Number of ranks that a host has against others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostWeights {
    /// The same number for all.
    Even,
    /// Ranks in proportion to the availability that its node forecasts.
    Forecast,
}

/// Reads a wait mode.
///
/// # Errors
/// [`SweepError::Wait`] if it has another word.
pub fn wait_mode(text: &str) -> Result<WaitMode, SweepError> {
    WaitMode::named(text).ok_or_else(|| SweepError::Wait { given: text.to_owned() })
}

/// Reads a placing of ranks.
///
/// # Errors
/// [`SweepError::Placing`] if it has another word.
pub fn rank_placing(text: &str) -> Result<RankPlacing, SweepError> {
    RankPlacing::named(text).ok_or_else(|| SweepError::Placing { given: text.to_owned() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_line_are_read_back() {
        assert_eq!(wait_mode("block"), Ok(WaitMode::Block));
        assert_eq!(rank_placing("cyclic"), Ok(RankPlacing::Cyclic));
        assert!(wait_mode("spin").unwrap_err().to_string().contains("`spin`"));
    }
}
