//! Buckets of keys and values whose entries expire.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy};

/// Room for some ten thousand entries.
const BUCKET_BYTES: i64 = 64 << 20;

/// A bucket that can be neither opened nor made.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the bucket `{name}`")]
pub struct BucketError {
    /// The name of the bucket.
    pub name: String,
    /// Why.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Opens a bucket, or makes one whose entries expire after `max_age`. One that is there already keeps its limits.
///
/// Made as a stream, which is what it is: the client's call for it first asks for what servers before 2.11 do not say
/// of an account.
///
/// # Errors
/// [`BucketError`] when the server refuses or does not answer.
pub async fn bucket(context: &Context, name: &str, max_age: Duration) -> Result<Store, BucketError> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| BucketError { name: name.to_owned(), source };
    let config = Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        max_age,
        max_bytes: BUCKET_BYTES,
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        deny_delete: true,
        num_replicas: 1,
        ..Config::default()
    };
    if context.get_stream(&config.name).await.is_err() {
        // Somebody else may have made it meanwhile.
        let made = context.get_or_create_stream(config).await;
        made.map_err(|error| failed(error.into()))?;
    }
    context.get_key_value(name).await.map_err(|error| failed(error.into()))
}
