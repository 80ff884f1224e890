//! What encrypted connections of the house share: the provider of ciphers, configurations from PEM text, and what is
//! wrong with a peer's certificate, with the remedy.
//!
//! Floor 2: takes text that others have read, opens no file and no connection. Of rustls it uses configurations,
//! which are values.
#![forbid(unsafe_code)]

mod complaint;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

pub use complaint::Complaint;

/// Text that gives no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no certificate in it.
    #[error("{}", pem_text(.0))]
    Certificates(pem::Error),
    /// There is no key in it.
    #[error("{}", pem_text(.0))]
    Key(pem::Error),
    /// Certificates and key do not belong together, or are of a kind that cannot be used.
    #[error(transparent)]
    Unusable(#[from] rustls::Error),
}

/// The one provider of ciphers.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates in PEM text, at least one.
///
/// # Errors
/// [`ConfigError::Certificates`].
pub fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found =
        CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>().map_err(ConfigError::Certificates)?;
    if found.is_empty() { Err(ConfigError::Certificates(pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// For a server that is known by a chain of certificates, its own first, and the key of that; both PEM text.
///
/// # Errors
/// When either is not there, or they do not belong together.
pub fn server(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, ConfigError> {
    let chain = certificates(chain)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(ConfigError::Key)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// For a client that believes what these certificates vouch for, and nothing else.
///
/// # Errors
/// When one of them cannot vouch for anything.
pub fn client(authorities: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, ConfigError> {
    let mut roots = RootCertStore::empty();
    for certificate in authorities {
        roots.add(certificate)?;
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn pem_text(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "there is none in it".to_owned(),
        other => format!("{other:?}"),
    }
}
