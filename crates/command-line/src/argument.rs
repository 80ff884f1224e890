//! Arguments that several commands take: their parsers, and groups of them that belong together.
//!
//! Their messages hold for every command that takes them, so they name no command and no option.

mod broker;
pub mod drawing;
mod node;
mod peer;
mod sample_file;

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use jiff::tz::TimeZone;
use units::span;

pub use broker::Broker;
pub use node::{NodeAccess, NodeArgs};
pub use peer::Peer;
pub use sample_file::SampleFile;

/// Format of results that are a line or a picture.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum TextOrJson {
    /// Text for people.
    Text,
    /// JSON for programs; see docs/formats/cli.md.
    Json,
}

/// Format of listings.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum TableOrJson {
    /// Table for people.
    Table,
    /// JSON for programs; see docs/formats/cli.md.
    Json,
}

/// Looks up a time zone by its name in the IANA database.
pub fn time_zone(name: &str) -> anyhow::Result<TimeZone> {
    let wanted = || format!("`{name}` is no time zone of this system; write for example Europe/Berlin, or UTC");
    TimeZone::get(name).with_context(wanted)
}

/// Parses a length of time that is more than zero.
pub fn positive_span(text: &str) -> anyhow::Result<Duration> {
    let span = span::parse(text)?;
    anyhow::ensure!(!span.is_zero(), "`{text}` is too short: it must be longer than 0, as in 30s");
    Ok(span)
}
