//! Streams by name: looked up where running streams announce themselves.

use std::time::Duration;

use super::{Connection, Source};
use crate::endpoint::{Endpoint, Place, Role, StreamName};
use crate::error::OpenError;
use crate::registry::{Announcement, Query, find_async};
use crate::security::Security;

/// Time that others on the network have to answer.
const WAIT: Duration = Duration::from_secs(2);

/// Opens the first place at which the stream can be read.
pub(super) async fn source(endpoint: &Endpoint, name: &StreamName, security: &Security) -> Result<Source, OpenError> {
    let (addresses, n_ignored) = places(endpoint, name, security, |found| &found.addresses).await?;
    let mut last = None;
    for address in addresses {
        match super::open_source(&at(endpoint, &address)?, security).await {
            Ok(source) => return Ok(source),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string(), n_ignored }))
}

/// Connects to the first place at which the stream's component can be asked.
pub(super) async fn connect(
    endpoint: &Endpoint,
    name: &StreamName,
    security: &Security,
) -> Result<Connection, OpenError> {
    let (servers, n_ignored) = places(endpoint, name, security, |found| &found.servers).await?;
    let mut last = None;
    for address in servers {
        let place = Endpoint { role: Role::Server, ..at(endpoint, &address)? };
        match super::connect(&place, security).await {
            Ok(connection) => return Ok(connection),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string(), n_ignored }))
}

/// Returns the places that one component announced for a stream, and the number of places that are not to be trusted.
async fn places(
    endpoint: &Endpoint,
    name: &StreamName,
    security: &Security,
    of: impl Fn(&Announcement) -> &Vec<String>,
) -> Result<(Vec<String>, usize), OpenError> {
    let found = find_async(&Query::of_name(name), WAIT, security)
        .await
        .map_err(|source| OpenError::Registry { endpoint: endpoint.to_string(), source: Box::new(source) })?;
    let given: Vec<&Announcement> = found.announcements.iter().filter(|found| !of(found).is_empty()).collect();
    if given.windows(2).any(|two| two[0].component != two[1].component) {
        let names = given.iter().map(|found| found.name().to_string()).collect();
        return Err(OpenError::Ambiguous { endpoint: endpoint.to_string(), names });
    }
    Ok((given.into_iter().flat_map(of).cloned().collect(), found.n_ignored))
}

/// The endpoint that was meant, at a place that somebody announced.
fn at(endpoint: &Endpoint, address: &str) -> Result<Endpoint, OpenError> {
    let found: Endpoint = format!("source:{address}")
        .parse()
        .ok()
        // A name that leads to a name could lead back; nothing else than these is ever announced.
        .filter(|found: &Endpoint| {
            matches!(found.place, Place::Tcp { .. } | Place::Unix(_) | Place::Udp { .. } | Place::Nats(_))
        })
        .ok_or_else(|| OpenError::Unknown { endpoint: endpoint.to_string(), n_ignored: 0 })?;
    Ok(Endpoint { encryption: endpoint.encryption, backlog: endpoint.backlog, ..found })
}
