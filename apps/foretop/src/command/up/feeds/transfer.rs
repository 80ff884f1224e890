//! `[[transfer]]`: a peer, the flows to which are measured by short transfers. `[responder]`: what answers those of
//! others.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use feed::transfer::{Directions, ResponderSettings, TransferSettings, TransferSource};
use node::Feed;
use secret::Token;
use serde::{Deserialize, Serialize};

use super::feed;
use crate::command::up::settings::resolve;
use command_line::span_text;

/// A peer, the flows to which are measured by short transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferSection {
    pub peer: String,
    pub address: String,
    pub token_file: PathBuf,
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
    #[serde(default = "default_bytes")]
    pub bytes: u64,
    #[serde(default = "default_span", with = "span_text")]
    pub span: Duration,
    #[serde(default)]
    pub both_ways: bool,
}

/// The settings of the responder, which answers transfers of other hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponderSection {
    pub listen: String,
    pub token_file: PathBuf,
}

/// A transfer is a load, so there is one a minute.
fn default_every() -> Duration {
    Duration::from_secs(60)
}

fn default_bytes() -> u64 {
    1 << 20
}

fn default_span() -> Duration {
    Duration::from_millis(300)
}

impl TransferSection {
    /// The peer that `PEER=HOST:PORT` names.
    pub fn new(peer: String, address: String, token_file: PathBuf) -> Self {
        let (every, bytes, span) = (default_every(), default_bytes(), default_span());
        Self { peer, address, token_file, every, bytes, span, both_ways: false }
    }

    pub fn to_feed(&self) -> anyhow::Result<Feed> {
        let place = || format!("[[transfer]] `{}`", self.peer.escape_debug());
        let token = Token::from_file(&self.token_file).with_context(place)?;
        let settings = TransferSettings {
            n_bytes: self.bytes,
            span: self.span,
            directions: if self.both_ways { Directions::Both } else { Directions::Send },
            ..TransferSettings::new(&self.peer, &self.address, token)
        };
        let source = TransferSource::new(settings).with_context(place)?;
        Ok(feed(format!("transfer {}", self.peer), self.every, None, source))
    }
}

impl ResponderSection {
    pub fn to_settings(&self) -> anyhow::Result<ResponderSettings> {
        let token = Token::from_file(&self.token_file).context("[responder]")?;
        Ok(ResponderSettings::new(resolve(&self.listen)?, token))
    }
}
