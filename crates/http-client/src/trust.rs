//! Trusted certificate authorities for servers whose address is `https`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Trusted certificate authorities for servers whose address is `https`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that this system trusts, or those of the file in `SSL_CERT_FILE`.
    #[default]
    System,
    /// These authorities, and no others.
    Authorities(Arc<[CertificateDer<'static>]>),
}

/// A file that names nobody to believe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// It cannot be read.
    #[error("cannot read certificates in PEM form from `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no certificate in it that could vouch for others.
    #[error("cannot read certificates in PEM form from `{}`", path.display())]
    Useless {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        source: tls::ConfigError,
    },
}

impl Trust {
    /// Believes what the certificates in this PEM file vouch for, and nothing else.
    ///
    /// # Errors
    /// When it cannot be read, or holds no certificate of use.
    pub fn from_file(path: &Path) -> Result<Self, TrustError> {
        let text = fs::read(path).map_err(|source| TrustError::Unreadable { path: path.to_owned(), source })?;
        let useless = |source| TrustError::Useless { path: path.to_owned(), source };
        let certificates = tls::certificates(&text).map_err(useless)?;
        tls::client(certificates.clone()).map_err(useless)?;
        Ok(Self::Authorities(certificates.into()))
    }

    pub(crate) fn config(&self) -> TlsConfig {
        let roots = match self {
            Self::System => system_roots(),
            Self::Authorities(certificates) => roots(certificates),
        };
        TlsConfig::builder().unversioned_rustls_crypto_provider(tls::provider()).root_certs(roots).build()
    }
}

fn roots(certificates: &[CertificateDer<'static>]) -> RootCerts {
    let roots: Vec<_> = certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    RootCerts::new_with_certs(&roots)
}

/// Read once: there are about 150 of them. What cannot be read among them is left out, as everywhere on this system.
fn system_roots() -> RootCerts {
    static ROOTS: OnceLock<RootCerts> = OnceLock::new();
    ROOTS.get_or_init(|| roots(&rustls_native_certs::load_native_certs().certs)).clone()
}
