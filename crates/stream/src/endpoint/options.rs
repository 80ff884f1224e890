//! What may follow an endpoint's question mark.

use std::fmt;
use std::str::FromStr;

use super::{Backlog, Encryption, Overflow};

/// Less holds not even a forecast of some hundred steps; more is another component's buffer.
const BACKLOG_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=1 << 30;

#[derive(Default)]
pub(super) struct Options {
    pub(super) backlog: Backlog,
    pub(super) encryption: Encryption,
}

impl FromStr for Options {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut options = Self::default();
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "backlog" => options.backlog.bytes = backlog_bytes(value)?,
                "overflow" => options.backlog.overflow = overflow(value)?,
                "tls" if value == "off" => options.encryption = Encryption::Off,
                "tls" => return Err(format!("tls can be off, not `{value}`: it is on where there is a certificate")),
                _ => return Err(format!("there is no option `{key}`: there are backlog, overflow, tls")),
            }
        }
        Ok(options)
    }
}

fn backlog_bytes(value: &str) -> Result<usize, String> {
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let factor = match unit {
        "" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let bytes = number.parse::<usize>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    bytes
        .filter(|bytes| BACKLOG_BYTES.contains(bytes))
        .ok_or_else(|| format!("backlog has to be 4KiB to 1GiB, not {value}"))
}

fn overflow(value: &str) -> Result<Overflow, String> {
    [Overflow::DropOldest, Overflow::Disconnect]
        .into_iter()
        .find(|overflow| overflow.as_str() == value)
        .ok_or_else(|| format!("overflow has to be drop-oldest or disconnect, not `{value}`"))
}

impl fmt::Display for Options {
    /// What differs from the defaults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Backlog::default();
        let mut separator = '?';
        if self.backlog.bytes != default.bytes {
            write!(f, "{separator}backlog={}", self.backlog.bytes)?;
            separator = '&';
        }
        if self.backlog.overflow != default.overflow {
            write!(f, "{separator}overflow={}", self.backlog.overflow.as_str())?;
            separator = '&';
        }
        if self.encryption == Encryption::Off {
            write!(f, "{separator}tls=off")?;
        }
        Ok(())
    }
}
