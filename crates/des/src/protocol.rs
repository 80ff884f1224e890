//! Protocols by which processes find their lower bounds on time stamps (LBTS): that nothing earlier can still arrive.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{SimDuration, span};

/// The protocol by which processes find that nothing earlier can still arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Protocol {
    /// One thread, always the earliest message of all.
    Sequential,
    /// All processes run through one span of time after the other. Exact if the span is not longer than every
    /// lookahead.
    Quantum(SimDuration),
    /// Processes run in rounds; see [`Rounds`].
    Rounds(Rounds),
}

/// Protocols in which processes announce to each other how far they have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Bounds that processes announce.
    pub sync_info: SyncInfo,
    /// Whether a process that waits for the next message of one source takes it as soon as it is there.
    pub deterministic: bool,
}

/// Bounds that processes announce in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncInfo {
    /// Null messages: before when nothing of a process arrives, whatever it still gets.
    Nmp,
    /// Conditional events: before when nothing of it arrives if it gets nothing more; the least of all processes holds
    /// for each.
    Cep,
    /// Both; the later bound holds.
    Both,
}

impl SyncInfo {
    pub(crate) fn has_null_messages(self) -> bool {
        self != Self::Cep
    }

    pub(crate) fn has_conditional_events(self) -> bool {
        self != Self::Nmp
    }
}

/// A text that names no protocol.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{given}` is no protocol: write sequential, quantum=LENGTH (as in quantum=50us), nmp, cep, nmp+cep, or one of the last three with +det"
)]
pub struct ProtocolError {
    /// The text that was given, as it was given.
    pub given: String,
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let refused = || ProtocolError { given: text.to_owned() };
        if text == "sequential" {
            return Ok(Self::Sequential);
        }
        if let Some(length) = text.strip_prefix("quantum=") {
            let length = span::parse(length).map_err(|_| refused())?;
            return if length.is_zero() { Err(refused()) } else { Ok(Self::Quantum(length.into())) };
        }
        let (bounds, deterministic) = text.strip_suffix("+det").map_or((text, false), |bounds| (bounds, true));
        let sync_info = match bounds {
            "nmp" => SyncInfo::Nmp,
            "cep" => SyncInfo::Cep,
            "nmp+cep" => SyncInfo::Both,
            _ => return Err(refused()),
        };
        Ok(Self::Rounds(Rounds { sync_info, deterministic }))
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Quantum(length) => {
                let length = span::format(Duration::from(*length)).replace(' ', "");
                write!(f, "quantum={length}")
            }
            Self::Rounds(rounds) => {
                f.write_str(match rounds.sync_info {
                    SyncInfo::Nmp => "nmp",
                    SyncInfo::Cep => "cep",
                    SyncInfo::Both => "nmp+cep",
                })?;
                f.write_str(if rounds.deterministic { "+det" } else { "" })
            }
        }
    }
}

impl TryFrom<String> for Protocol {
    type Error = ProtocolError;

    fn try_from(text: String) -> Result<Self, ProtocolError> {
        text.parse()
    }
}

impl From<Protocol> for String {
    fn from(protocol: Protocol) -> Self {
        protocol.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_written_as_they_are_read() {
        for text in ["sequential", "quantum=50us", "nmp", "cep", "nmp+cep", "nmp+det", "cep+det", "nmp+cep+det"] {
            assert_eq!(text.parse::<Protocol>().map(|protocol| protocol.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_protocol_is_named() {
        for refused in ["", "det", "quantum", "quantum=0s", "quantum=5", "cep+nmp", "NMP"] {
            let error = refused.parse::<Protocol>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("`{refused}` is no protocol")));
        }
    }
}
