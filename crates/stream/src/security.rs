//! Who may connect, and what is encrypted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use secret::Token;

use crate::network::NatsServer;
use crate::registry::Registry;

/// What protects a component's connections.
///
/// On the loopback nothing is needed; what is given is used there too, unless an endpoint says `tls=off`. A TCP listener that other machines
/// can reach needs a token and a certificate; UDP has neither, so beyond the loopback it has to be allowed by [`Security::allow_plain`].
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// What whoever connects has to show, and what is shown where this connects.
    pub token: Option<Token>,
    /// What TCP listeners are known by.
    pub server: Option<ServerTls>,
    /// Whose certificates are believed where this connects.
    pub client: Option<ClientTls>,
    /// Whether what leaves this machine may be neither encrypted nor, by UDP, authenticated.
    pub allow_plain: bool,
    /// The NATS server, for endpoints that name a subject. Its TLS is chosen by its address, and believes what
    /// [`Security::client`] does, or else what this machine does.
    pub nats: NatsServer,
    /// Where running streams are announced and looked for.
    pub registry: Registry,
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
        /// What it should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// They do not belong together, or are of a kind that cannot be used.
    #[error("the certificate in `{}` is of no use", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

impl ServerTls {
    /// From a chain of certificates, the own one first, and the key of that; both PEM files.
    ///
    /// # Errors
    /// When either cannot be read, or they do not belong together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, SecurityError> {
        let chain = certificates(certificate)?;
        let unreadable = |source| unreadable("a private key", key, source);
        let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable)?;
        let unusable = |source| SecurityError::Unusable { path: certificate.to_owned(), source };
        ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map(|config| Self(Arc::new(config)))
            .map_err(unusable)
    }
}

impl ClientTls {
    /// Believes what these certificates vouch for, and nothing else; a PEM file.
    ///
    /// # Errors
    /// When it cannot be read, or one of them cannot vouch for anything.
    pub fn from_file(authorities: &Path) -> Result<Self, SecurityError> {
        let unusable = |source| SecurityError::Unusable { path: authorities.to_owned(), source };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities)? {
            roots.add(certificate).map_err(unusable)?;
        }
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let unreadable = |source| unreadable("certificates", path, source);
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    if found.is_empty() {
        return Err(unreadable(rustls::pki_types::pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn unreadable(what: &'static str, path: &Path, source: rustls::pki_types::pem::Error) -> SecurityError {
    let source = match source {
        rustls::pki_types::pem::Error::Io(source) => source,
        other => io::Error::new(io::ErrorKind::InvalidData, format!("{other:?}")),
    };
    SecurityError::Unreadable { what, path: path.to_owned(), source }
}
