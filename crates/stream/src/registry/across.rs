//! The streams of all sites that share a NATS server: a bucket whose entries expire.

use std::io;

use async_nats::Client;
use async_nats::jetstream::{self, kv::Store};
use futures_util::StreamExt;

use super::{Announcement, N_FOUND_MAX, RegistryError, SILENCE};
use crate::security::Security;
use crate::transport::nats;

const BUCKET: &str = "foretop_streams";

/// The bucket, and the connection to it.
pub(super) struct Bucket {
    store: Store,
    /// The connection ends with it.
    _client: Client,
}

impl Bucket {
    pub(super) async fn open(security: &Security) -> Result<Self, RegistryError> {
        let client = nats::connect(security).await.map_err(|error| RegistryError::Nats(Box::new(error)))?;
        let store = nats::bucket(&jetstream::new(client.clone()), BUCKET, SILENCE).await.map_err(bucket)?;
        Ok(Self { store, _client: client })
    }

    /// Says that it runs, for as long as entries last.
    pub(super) async fn put(&self, announcement: &Announcement) -> Result<(), RegistryError> {
        let bytes = serde_json::to_vec(announcement).map_err(bucket)?;
        let host = crc32fast::hash(announcement.host.as_bytes());
        self.store.put(format!("{host:08x}.{}", announcement.key()), bytes.into()).await.map(drop).map_err(bucket)
    }
}

/// Returns the announcements in the bucket.
pub(super) async fn find(security: &Security) -> Result<Vec<Announcement>, RegistryError> {
    let bucket_of_all = Bucket::open(security).await?;
    let mut keys = bucket_of_all.store.keys().await.map_err(bucket)?.take(N_FOUND_MAX);
    let mut found = Vec::new();
    while let Some(key) = keys.next().await {
        // It may have expired since it was listed; what is none of ours is left out.
        if let Some(value) = bucket_of_all.store.get(key.map_err(bucket)?).await.map_err(bucket)? {
            found.extend(serde_json::from_slice::<Announcement>(&value));
        }
    }
    Ok(found)
}

fn bucket(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RegistryError {
    RegistryError::Bucket(io::Error::other(error))
}
