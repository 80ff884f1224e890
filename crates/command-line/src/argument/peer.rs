//! A host to which flows are measured.

use std::str::FromStr;

/// Name of a peer, and the address at which its responder listens.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The name of the peer, as it appears in signals.
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
}

impl FromStr for Peer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, address)) if !name.is_empty() && address.contains(':') => {
                Ok(Self { name: name.to_owned(), address: address.to_owned() })
            }
            _ => Err("it must be PEER=HOST:PORT, as in db2=db2.example:7312"),
        }
    }
}
