//! Protection of the connections between coordinators and workers.

use std::path::PathBuf;

use clap::Args;
use secret::Token;
use stream::{ClientTls, Security, ServerTls};

use program::Failure;

/// Protection of connections.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Protection")]
pub struct Protection {
    /// File with the token that both sides must have; its mode must be 600. Required beyond this machine
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// PEM file with a worker's certificate. Required if it listens beyond this machine
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,

    /// PEM file with the certificate's key
    #[arg(long, value_name = "PATH", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,

    /// PEM file with the certificates of workers to trust
    #[arg(long, value_name = "PATH")]
    tls_authorities: Option<PathBuf>,
}

impl Protection {
    pub fn security(&self) -> Result<Security, Failure> {
        let server = self.tls_certificate.as_deref().zip(self.tls_key.as_deref());
        let client = self.tls_authorities.as_deref();
        Ok(Security {
            token: self
                .token_file
                .as_deref()
                .map(Token::from_file)
                .transpose()
                .map_err(|error| Failure::usage_of(&error))?,
            server: server
                .map(|(certificate, key)| ServerTls::from_files(certificate, key))
                .transpose()
                .map_err(|error| Failure::usage_of(&error))?,
            client: client.map(ClientTls::from_file).transpose().map_err(|error| Failure::usage_of(&error))?,
            ..Security::default()
        })
    }
}
