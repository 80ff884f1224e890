//! Options that may follow an endpoint's question mark.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use super::nats::{Keep, Replay};
use super::{Backlog, Encryption, Multicast, Overflow};

/// Less holds not even a forecast of some hundred steps; more is another component's buffer.
const BACKLOG_BYTES: RangeInclusive<usize> = 4 << 10..=1 << 30;

/// More than the longest window that a model is fitted to is another program's business.
const REPLAY_MESSAGES: RangeInclusive<u64> = 1..=1_000_000;

#[derive(Default)]
pub(super) struct Options {
    pub(super) backlog: Backlog,
    pub(super) encryption: Encryption,
    pub(super) keep: Option<Keep>,
    pub(super) replay: Option<Replay>,
    pub(super) multicast: Multicast,
}

impl FromStr for Options {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut options = Self::default();
        let (mut is_durable, mut keep) = (false, Keep::default());
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "backlog" => options.backlog.bytes = backlog_bytes(value)?,
                "overflow" => options.backlog.overflow = overflow(value)?,
                "tls" if value == "off" => options.encryption = Encryption::Off,
                "tls" => return Err(format!("tls can be off, not `{value}`: it is on where there is a certificate")),
                "replay" => options.replay = Some(Replay::Last(n_messages(value)?)),
                "since" => options.replay = Some(Replay::Since(length(key, value)?)),
                "after" => options.replay = Some(Replay::After(number(key, value)?)),
                "durable" if value == "yes" => is_durable = true,
                "durable" => return Err(format!("durable can be yes, not `{value}`")),
                "interface" => options.multicast.interface = Some(interface(value)?),
                "ttl" => options.multicast.ttl = Some(ttl(value)?),
                "keep-age" => keep.age = length(key, value)?,
                "keep-bytes" => keep.bytes = keep_bytes(value)?,
                _ => {
                    let known = "there are backlog, overflow, tls, of a multicast group interface, ttl, and of nats replay, since, after, durable, keep-age, keep-bytes";
                    return Err(format!("there is no option `{key}`: {known}"));
                }
            }
        }
        if keep != Keep::default() && !is_durable {
            return Err("keep-age and keep-bytes need durable=yes".to_owned());
        }
        options.keep = is_durable.then_some(keep);
        Ok(options)
    }
}

/// Parses the name of a network interface by the kernel's rules for such names.
fn interface(value: &str) -> Result<String, String> {
    let is_name =
        (1..=15).contains(&value.len()) && !value.contains(|c: char| c == '/' || c == ':' || c.is_whitespace());
    if is_name { Ok(value.to_owned()) } else { Err(format!("`{value}` is not the name of a network interface")) }
}

fn ttl(value: &str) -> Result<u8, String> {
    value.parse().ok().filter(|ttl| *ttl > 0).ok_or_else(|| format!("ttl must be 1 to 255 hops, not `{value}`"))
}

fn backlog_bytes(value: &str) -> Result<usize, String> {
    bytes(value)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| BACKLOG_BYTES.contains(bytes))
        .ok_or_else(|| format!("backlog must be 4KiB to 1GiB, not {value}"))
}

fn keep_bytes(value: &str) -> Result<u64, String> {
    let range = 4 << 10..=1 << 40;
    bytes(value)
        .filter(|bytes| range.contains(bytes))
        .ok_or_else(|| format!("keep-bytes must be 4KiB to 1024GiB, not {value}"))
}

fn bytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let factor = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn n_messages(value: &str) -> Result<u64, String> {
    let (least, most) = (REPLAY_MESSAGES.start(), REPLAY_MESSAGES.end());
    value
        .parse()
        .ok()
        .filter(|n| REPLAY_MESSAGES.contains(n))
        .ok_or_else(|| format!("replay must be a number of messages, {least} to {most}, not {value}"))
}

fn number(key: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{key} must be a number, not `{value}`"))
}

/// Whole seconds, minutes, hours or days, up to a year.
fn length(key: &str, value: &str) -> Result<Duration, String> {
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let unit_s = match unit {
        "s" => Some(1),
        "min" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    let seconds = number.parse::<u64>().ok().zip(unit_s).and_then(|(number, unit_s)| number.checked_mul(unit_s));
    seconds
        .filter(|seconds| (1..=365 * 86_400).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{key} must be 1s to 365d, in s, min, h or d, not `{value}`"))
}

fn overflow(value: &str) -> Result<Overflow, String> {
    [Overflow::DropOldest, Overflow::Disconnect]
        .into_iter()
        .find(|overflow| overflow.as_str() == value)
        .ok_or_else(|| format!("overflow must be drop-oldest or disconnect, not `{value}`"))
}

impl Options {
    /// Returns the options that differ from the defaults.
    fn written(&self) -> Vec<String> {
        let default = Backlog::default();
        let mut options = Vec::new();
        if self.backlog.bytes != default.bytes {
            options.push(format!("backlog={}", self.backlog.bytes));
        }
        if self.backlog.overflow != default.overflow {
            options.push(format!("overflow={}", self.backlog.overflow.as_str()));
        }
        if self.encryption == Encryption::Off {
            options.push("tls=off".to_owned());
        }
        options.extend(self.multicast.interface.as_ref().map(|interface| format!("interface={interface}")));
        options.extend(self.multicast.ttl.map(|ttl| format!("ttl={ttl}")));
        match self.replay {
            Some(Replay::Last(n)) => options.push(format!("replay={n}")),
            Some(Replay::Since(length)) => options.push(format!("since={}s", length.as_secs())),
            Some(Replay::After(number)) => options.push(format!("after={number}")),
            None => {}
        }
        if let Some(keep) = self.keep {
            options.push("durable=yes".to_owned());
            if keep.age != Keep::default().age {
                options.push(format!("keep-age={}s", keep.age.as_secs()));
            }
            if keep.bytes != Keep::default().bytes {
                options.push(format!("keep-bytes={}", keep.bytes));
            }
        }
        options
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.written();
        if options.is_empty() { Ok(()) } else { write!(f, "?{}", options.join("&")) }
    }
}
