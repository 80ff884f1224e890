//! Streams by name: looked up where running streams announce themselves.

use std::time::Duration;

use super::{Connection, Source};
use crate::endpoint::{Endpoint, Role};
use crate::error::OpenError;
use crate::registry::{Announcement, Query, find_async};
use crate::security::Security;

/// How long others on the network have to answer.
const WAIT: Duration = Duration::from_secs(2);

/// Opens the first place at which the stream can be read.
pub(super) async fn source(
    endpoint: &Endpoint,
    stream: &str,
    host: Option<&str>,
    security: &Security,
) -> Result<Source, OpenError> {
    let mut last = None;
    for address in addresses(endpoint, stream, host, security, |found| found.addresses).await? {
        match super::open_source(&at(endpoint, &address)?, security).await {
            Ok(source) => return Ok(source),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string() }))
}

/// Connects to the first place at which the stream's component can be asked.
pub(super) async fn connect(
    endpoint: &Endpoint,
    stream: &str,
    host: Option<&str>,
    security: &Security,
) -> Result<Connection, OpenError> {
    let mut last = None;
    for address in addresses(endpoint, stream, host, security, |found| found.servers).await? {
        let place = Endpoint { role: Role::Server, ..at(endpoint, &address)? };
        match super::connect(&place, security).await {
            Ok(connection) => return Ok(connection),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string() }))
}

async fn addresses(
    endpoint: &Endpoint,
    stream: &str,
    host: Option<&str>,
    security: &Security,
    of: impl Fn(Announcement) -> Vec<String>,
) -> Result<Vec<String>, OpenError> {
    let query = Query::of_name(stream, host);
    let found = find_async(&query, WAIT, security)
        .await
        .map_err(|source| OpenError::Registry { endpoint: endpoint.to_string(), source: Box::new(source) })?;
    Ok(found.into_iter().flat_map(of).collect())
}

/// The endpoint that was meant, at a place that somebody announced.
fn at(endpoint: &Endpoint, address: &str) -> Result<Endpoint, OpenError> {
    let found: Endpoint = format!("source:{address}")
        .parse()
        .ok()
        // A name that leads to a name could lead back.
        .filter(|found: &Endpoint| !matches!(found.place, crate::endpoint::Place::Name { .. }))
        .ok_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string() })?;
    Ok(Endpoint { encryption: endpoint.encryption, backlog: endpoint.backlog, ..found })
}
