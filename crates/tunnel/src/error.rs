//! Errors between two ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::frame::FrameError;

/// The reason why a link ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The connection broke.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The received bytes are not a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A group cannot be read.
    #[error("a group of the peer cannot be read")]
    Group(#[from] dedup::GroupError),
    /// A repair is none.
    #[error("what the peer sent again is of no use")]
    Repair(#[from] dedup::RepairError),
    /// The peer does what it must not.
    #[error("the peer breaks the protocol: {what}")]
    Protocol {
        /// The action of the peer.
        what: &'static str,
    },
    /// The peer went away in order.
    #[error("the peer ended the connection")]
    Ended,
    /// Nothing came for a long time.
    #[error("the peer has not answered for {seconds} s")]
    Silent {
        /// The length of the silence in seconds.
        seconds: u64,
    },
    /// It speaks something else.
    #[error("the other end speaks no `foretop tunnel`, or version {theirs} of it where this is version {ours}")]
    Version {
        /// The version of the other end.
        theirs: u32,
        /// The version of this end.
        ours: u32,
    },
    /// It does not have the token.
    #[error("the other end has another token, or is no such end; both need a copy of the same file")]
    Proof,
    /// Its settings do not fit.
    #[error(
        "the other end has one anchor in 2^{theirs} bytes where this has one in 2^{ours}; give both the same `anchor_bits`"
    )]
    Anchors {
        /// The `anchor_bits` of the other end.
        theirs: u32,
        /// The `anchor_bits` of this end.
        ours: u32,
    },
    /// It remembers for somebody else.
    #[error("the neighbour has another tenant; neighbours need the same `tenant`")]
    Tenant,
    /// Its certificate is not believed.
    #[error("the far end is not believed: {0}")]
    Certificate(tls::Complaint),
}

/// A tunnel that cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no configuration.
    #[error("`{}` is no configuration of a tunnel", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<toml::de::Error>,
    },
    /// A value makes no sense.
    #[error("`{}`: {what}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The fault of the value, and its correction.
        what: String,
    },
    /// The token cannot be had.
    #[error(transparent)]
    Token(#[from] secret::SecretError),
    /// Certificates or key are of no use.
    #[error("`{}` is of no use", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        source: tls::ConfigError,
    },
    /// The folder of the store cannot be had.
    #[error(transparent)]
    Folder(#[from] segment_store::FolderError),
    /// The store cannot be opened.
    #[error("cannot open the store in `{}`", path.display())]
    Store {
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: segment_store::OpenError,
    },
    /// There is no socket to connect from.
    #[error("cannot connect from this machine over QUIC")]
    Call {
        /// Why.
        source: io::Error,
    },
    /// An address is taken, or not of this machine.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

impl StartError {
    /// Whether what is written in the configuration has to be changed.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Config { .. } | Self::Value { .. })
    }
}
