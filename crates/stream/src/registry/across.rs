//! The streams of all sites that share a NATS server: a bucket whose entries expire.

use std::io;

use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::{self};
use futures_util::StreamExt;

use super::{Announcement, N_FOUND_MAX, RegistryError, SILENCE};
use crate::endpoint::{Endpoint, NatsPlace, Place, Role};
use crate::security::Security;
use crate::transport::{Broken, Link};

const BUCKET: &str = "foretop_streams";

/// Room for some ten thousand announcements; the oldest go first.
const BUCKET_BYTES: i64 = 64 << 20;

/// The bucket, and the connection to it.
pub(super) struct Bucket {
    store: Store,
    _link: Link,
}

impl Bucket {
    pub(super) async fn open(security: &Security) -> Result<Self, RegistryError> {
        let link = Link::open(&place(), security, Broken::IsMended)
            .await
            .map_err(|error| RegistryError::Nats(Box::new(error)))?;
        let config = Config {
            bucket: BUCKET.to_owned(),
            max_age: SILENCE,
            max_bytes: BUCKET_BYTES,
            history: 1,
            ..Config::default()
        };
        let context = jetstream::new(link.client.clone());
        // One that is there already is taken as it is.
        let store = match context.get_key_value(BUCKET).await {
            Ok(store) => store,
            Err(_) => context.create_key_value(config).await.map_err(bucket)?,
        };
        Ok(Self { store, _link: link })
    }

    /// Says that it runs, for as long as entries last.
    pub(super) async fn put(&self, announcement: &Announcement) -> Result<(), RegistryError> {
        let bytes = serde_json::to_vec(announcement).map_err(bucket)?;
        let host = crc32fast::hash(announcement.host.as_bytes());
        self.store.put(format!("{host:08x}.{}", announcement.key()), bytes.into()).await.map(drop).map_err(bucket)
    }
}

/// What is in the bucket.
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

/// How errors call it.
fn place() -> Endpoint {
    let place = NatsPlace { subject: BUCKET.to_owned(), replay: None, keep: None };
    Endpoint {
        role: Role::Source,
        place: Place::Nats(place),
        backlog: Default::default(),
        encryption: Default::default(),
    }
}

fn bucket(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RegistryError {
    RegistryError::Bucket(io::Error::other(error))
}
