//! Admission to connections, and encryption.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use door::{Door, Limits};
use rustls::{ClientConfig, ServerConfig};
use secret::Token;
use tls::ConfigError;

use crate::network::NatsServer;
use crate::registry::Registry;

/// Protection of a component's connections.
///
/// On the loopback nothing is needed; what is given is used there too, unless an endpoint says `tls=off`. A TCP
/// listener that other machines can reach needs a token and a certificate; UDP has neither, so beyond the loopback it
/// has to be allowed by [`Security::allow_plain`].
#[derive(Clone, Debug)]
pub struct Security {
    /// The token that both ends of a connection must have. Both ends prove it, and neither shows it.
    pub token: Option<Token>,
    /// The certificate and key of TCP listeners.
    pub server: Option<ServerTls>,
    /// The certificates that are trusted where this component connects.
    pub client: Option<ClientTls>,
    /// Whether what leaves this machine may be neither encrypted nor, by UDP, authenticated.
    pub allow_plain: bool,
    /// The NATS server, for endpoints that name a subject. Its TLS is chosen by its address, and believes what
    /// [`Security::client`] does, or else what this machine does.
    pub nats: NatsServer,
    /// The registry where running streams are announced and looked up.
    pub registry: Registry,
    /// The door that limits connections. All that listen in one process had better share one.
    pub door: Door,
}

impl Default for Security {
    /// Neither a token nor certificates, and 4,096 connections, of which 256 may be strangers'.
    fn default() -> Self {
        Self {
            token: None,
            server: None,
            client: None,
            allow_plain: false,
            nats: NatsServer::default(),
            registry: Registry::default(),
            door: Door::new(Limits { total: 4096, strangers: 256 }),
        }
    }
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct ServerTls(pub(crate) Arc<ServerConfig>);

/// Certificates that are believed.
#[derive(Clone, Debug)]
pub struct ClientTls(pub(crate) Arc<ClientConfig>);

/// A certificate or key that is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// It cannot be read, or holds nothing of the kind.
    #[error("cannot read {what} in PEM form from `{}`", path.display())]
    Unreadable {
        /// The content expected in the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        source: io::Error,
    },
    /// They do not belong together.
    #[error("the key in `{}` is not that of the certificate in `{}`; use the key that this certificate was made with", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificates.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// They are of a kind that cannot be used.
    #[error("the certificate in `{}` cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

impl ServerTls {
    /// Builds the settings from a chain of certificates, the own one first, and the key of that one; both PEM files.
    /// Logs a warning if clients will refuse the certificate.
    ///
    /// # Errors
    /// When either cannot be read, or they do not belong together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, SecurityError> {
        let (chain, secret) = (read(CERTIFICATES, certificate)?, read(KEY, key)?);
        let server = tls::server(&chain, &secret).map(Self).map_err(|error| match error {
            ConfigError::Key(_) => useless(KEY, key, error),
            ConfigError::Mismatch => {
                SecurityError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() }
            }
            _ => useless(CERTIFICATES, certificate, error),
        })?;
        if let Some(complaint) = tls::refused_by_clients(&chain, clock::now()) {
            let file = certificate.display();
            tracing::warn!("clients will refuse the certificate in `{file}`: {complaint}");
        }
        Ok(server)
    }

    /// Returns the configuration for a TLS server.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0)
    }
}

impl ClientTls {
    /// Believes what these certificates vouch for, and nothing else; a PEM file.
    ///
    /// # Errors
    /// When it cannot be read, or one of them cannot vouch for anything.
    pub fn from_file(authorities: &Path) -> Result<Self, SecurityError> {
        let text = read(CERTIFICATES, authorities)?;
        let config = tls::certificates(&text).and_then(tls::client);
        config.map(Self).map_err(|error| useless(CERTIFICATES, authorities, error))
    }
}

const CERTIFICATES: &str = "certificates";
const KEY: &str = "a private key";

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, SecurityError> {
    fs::read(path).map_err(|source| SecurityError::Unreadable { what, path: path.to_owned(), source })
}

fn useless(what: &'static str, path: &Path, error: ConfigError) -> SecurityError {
    let path = path.to_owned();
    match error {
        ConfigError::Unusable(source) => SecurityError::Unusable { path, source },
        missing => {
            let source = io::Error::new(io::ErrorKind::InvalidData, missing);
            SecurityError::Unreadable { what, path, source }
        }
    }
}
