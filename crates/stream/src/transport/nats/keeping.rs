//! Writing into JetStream: each message is acknowledged, and sent again until it is.

use std::io;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;

use super::{Link, QUIET};
use crate::endpoint::{Keep, NatsPlace};

/// Time for which the server detects that a message is sent twice, unless it keeps messages for a shorter time.
const DUPLICATE_WINDOW: std::time::Duration = std::time::Duration::from_mins(10);

/// A subject that a JetStream stream keeps.
pub(crate) struct Kept {
    context: Context,
    subject: String,
}

impl Kept {
    /// Finds the stream that keeps the subject, or makes one.
    pub(crate) async fn open(link: &Link, place: &NatsPlace, keep: Keep) -> io::Result<Self> {
        let context =
            jetstream::ContextBuilder::new().timeout(QUIET).backpressure_on_inflight(true).build(link.client.clone());
        if context.stream_by_subject(place.subject.clone()).await.is_err() {
            // A stream of this name whose limits differ is somebody else's decision, and keeps them.
            let config = config(&place.subject, keep);
            context.get_or_create_stream(config).await.map_err(io::Error::other)?;
        }
        Ok(Self { context, subject: place.subject.clone() })
    }

    /// Sends a message; what is returned ends when the server has it. The same `id` twice is one message.
    pub(crate) async fn send(
        &self,
        id: &str,
        payload: Bytes,
    ) -> io::Result<impl Future<Output = io::Result<()>> + use<>> {
        let message = PublishMessage::build().payload(payload).message_id(id);
        let acknowledged = self.context.send_publish(self.subject.clone(), message);
        let acknowledged = acknowledged.await.map_err(io::Error::other)?;
        Ok(async move { acknowledged.await.map(drop).map_err(io::Error::other) })
    }
}

fn config(subject: &str, keep: Keep) -> Config {
    let word: String = subject.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Config {
        // Subjects that differ in their punctuation alone have names that differ.
        name: format!("foretop_{word}_{:08x}", crc32fast::hash(subject.as_bytes())),
        subjects: vec![subject.to_owned()],
        max_age: keep.age,
        max_bytes: i64::try_from(keep.bytes).unwrap_or(i64::MAX),
        discard: DiscardPolicy::Old,
        duplicate_window: DUPLICATE_WINDOW.min(keep.age),
        ..Config::default()
    }
}
