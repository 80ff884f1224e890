//! Shared parts of the encrypted connections of the house: the provider of ciphers, configurations from PEM text, and
//! the faults of a peer's certificate, with the remedy.
//!
//! Floor 2: takes text that others have read, opens no file and no connection. Of rustls it uses configurations,
//! which are values.
#![forbid(unsafe_code)]

mod complaint;

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use units::Timestamp;

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
    /// The key is another certificate's.
    #[error("the key is not that of the first certificate")]
    Mismatch,
    /// Certificates or a key of a kind that cannot be used.
    #[error(transparent)]
    Unusable(rustls::Error),
}

impl From<rustls::Error> for ConfigError {
    fn from(error: rustls::Error) -> Self {
        match error {
            rustls::Error::InconsistentKeys(_) => Self::Mismatch,
            other => Self::Unusable(other),
        }
    }
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

/// Builds the configuration of a server with a chain of certificates, its own first, and the key of that; both PEM
/// text.
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

/// Returns what clients refuse in the certificates of a server at this time, whoever they believe: that it is over, or
/// has not begun, or that the first one is an authority's own. `None` if there is nothing of the kind, or the text
/// cannot be read.
#[must_use]
pub fn refused_by_clients(chain: &[u8], now: Timestamp) -> Option<Complaint> {
    let chain = certificates(chain).ok()?;
    let mut roots = RootCertStore::empty();
    roots.add(chain.last()?.clone()).ok()?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build().ok()?;
    let now = UnixTime::since_unix_epoch(now.saturating_since(Timestamp::from_nanos(0)));
    let name = ServerName::try_from("localhost").expect("this is a name");
    let refused = verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], now).err()?;
    let is_certain = |complaint: &Complaint| {
        matches!(complaint, Complaint::Authority | Complaint::Expired { .. } | Complaint::NotYetValid { .. })
    };
    Complaint::of(&refused).filter(is_certain)
}

/// Builds the configuration of a client that trusts these certificate authorities and no others.
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

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn pem(change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::new(["db1.example".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut CertificateParams), expected: Option<&str>) {
        let now = "2026-11-29T00:00:00Z".parse().unwrap();
        let complaint = refused_by_clients(pem(change).0.as_bytes(), now).map(|complaint| complaint.to_string());
        match expected {
            None => assert_eq!(complaint, None),
            Some(expected) => assert!(complaint.as_ref().is_some_and(|said| said.contains(expected)), "{complaint:?}"),
        }
    }

    #[test]
    fn what_clients_will_refuse_is_known_before() {
        check_refused(|_| (), None);
        check_refused(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained), Some("CA:TRUE"));
        check_refused(|params| params.not_after = date_time_ymd(2020, 1, 1), Some("expired at 2020-01-01T00:00:00Z"));
        check_refused(|params| params.not_before = date_time_ymd(2027, 1, 1), Some("not valid before 2027-01-01"));
        assert_eq!(refused_by_clients(b"no certificate", Timestamp::from_nanos(0)), None);
    }

    #[test]
    fn the_key_of_another_certificate_is_named_as_such() {
        let refused = server(pem(|_| ()).0.as_bytes(), pem(|_| ()).1.as_bytes()).unwrap_err();
        assert!(matches!(refused, ConfigError::Mismatch), "{refused}");
    }
}
