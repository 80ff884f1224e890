//! Faults of a peer's certificate, each with its remedy.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::{CertificateError, InvalidMessage};
use units::Timestamp;

/// The reason why a connection to a server is not trusted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Complaint {
    /// It was valid once.
    #[error("its certificate expired{}; it needs a new one there, unless the clock of this machine is wrong", at(*since))]
    Expired {
        /// The end of its time, if that is known.
        since: Option<Timestamp>,
    },
    /// It will be valid.
    #[error("its certificate is not valid{}; is the clock of this machine wrong?", before(*until))]
    NotYetValid {
        /// The beginning of its time, if that is known.
        until: Option<Timestamp>,
    },
    /// It is another server's, or does not have this name.
    #[error(
        "its certificate is for {}, not for {wanted}; use a name that it is for, or give the server one for {wanted}",
        if names.is_empty() { "no name".to_owned() } else { names.join(" and ") }
    )]
    OtherName {
        /// The name that it was asked by.
        wanted: String,
        /// The names that the certificate is for.
        names: Vec<String>,
    },
    /// Nobody who is believed vouches for it.
    #[error(
        "its certificate is from an unknown issuer; if that is a private one, give the issuer's certificate with --ca, or as `authorities`"
    )]
    UnknownIssuer,
    /// Somebody of the name of who is believed vouches for it, with another key.
    #[error(
        "its certificate is not signed by the issuer that is believed, but by one of the same name; if the issuer was made anew, \
         give its newer certificate with --ca, or as `authorities`"
    )]
    OtherIssuer,
    /// It is made to vouch for others.
    #[error("its certificate is an authority's own (CA:TRUE), which no server may show; give it one with CA:FALSE")]
    Authority,
    /// The peer that answers uses another protocol than TLS.
    #[error("it does not speak TLS; if it is meant to be in the clear, write http://")]
    NoTls,
    /// Another fault.
    #[error("its certificate is of no use: {0}")]
    Other(CertificateError),
}

impl Complaint {
    /// Returns the fault of the certificate, if that is the reason why a connection failed.
    #[must_use]
    pub fn of(error: &rustls::Error) -> Option<Self> {
        let complaint = match error {
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NoTls,
            rustls::Error::InvalidCertificate(error) => match error {
                CertificateError::Expired => Self::Expired { since: None },
                CertificateError::ExpiredContext { not_after, .. } => Self::Expired { since: timestamp(*not_after) },
                CertificateError::NotValidYet => Self::NotYetValid { until: None },
                CertificateError::NotValidYetContext { not_before, .. } => {
                    Self::NotYetValid { until: timestamp(*not_before) }
                }
                CertificateError::NotValidForNameContext { expected, presented } => Self::OtherName {
                    wanted: expected.to_str().into_owned(),
                    names: presented.iter().map(|name| bare(name)).collect(),
                },
                CertificateError::UnknownIssuer => Self::UnknownIssuer,
                CertificateError::BadSignature => Self::OtherIssuer,
                // The type of this fault is not rustls's own, and it hands out no more than its name.
                CertificateError::Other(inner) if format!("{inner:?}").contains("CaUsedAsEndEntity") => Self::Authority,
                other => Self::Other(other.clone()),
            },
            _ => return None,
        };
        Some(complaint)
    }

    /// The same of an error of a connection, which may hold one of TLS.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Option<Self> {
        let inner: &(dyn Error + 'static) = error.get_ref()?;
        match inner.downcast_ref::<rustls::Error>() {
            Some(error) => Self::of(error),
            None => Self::of_io(inner.downcast_ref::<io::Error>()?),
        }
    }
}

fn timestamp(time: UnixTime) -> Option<Timestamp> {
    let since = Duration::from_secs(time.as_secs());
    (since < Duration::from_nanos(i64::MAX as u64)).then(|| Timestamp::from_nanos(0) + since)
}

fn at(time: Option<Timestamp>) -> String {
    time.map_or_else(String::new, |time| format!(" at {time}"))
}

fn before(time: Option<Timestamp>) -> String {
    time.map_or_else(|| " yet".to_owned(), |time| format!(" before {time}"))
}

/// The name in `DnsName("db1")` and `IpAddress(10.0.0.1)`.
fn bare(name: &str) -> String {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"').to_owned()
}
