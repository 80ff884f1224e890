//! Messages read from a subject: as they come, or from where JetStream kept them.

use std::io;

use async_nats::Subscriber;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{self, stream::Stream};
use bytes::Bytes;
use futures_util::StreamExt;

use super::Link;
use crate::endpoint::{NatsPlace, Replay};

/// Messages of a subject.
pub(crate) struct Incoming {
    link: Link,
    messages: Messages,
    position: Option<u64>,
}

enum Messages {
    Live(Subscriber),
    Kept(Box<pull::Stream>),
}

impl Incoming {
    pub(crate) async fn open(link: Link, place: &NatsPlace) -> io::Result<Self> {
        let messages = match place.replay {
            None => Messages::Live(link.subscribe(&place.subject, None).await?),
            Some(replay) => Messages::Kept(Box::new(kept(&link, &place.subject, replay).await?)),
        };
        Ok(Self { link, messages, position: None })
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> io::Result<Bytes> {
        let next = async {
            io::Result::Ok(match &mut self.messages {
                Messages::Live(subscriber) => subscriber.next().await.map(|message| (message.payload, None)),
                Messages::Kept(messages) => match messages.next().await.transpose().map_err(io::Error::other)? {
                    Some(message) => {
                        let sequence = message.info().map_err(io::Error::other)?.stream_sequence;
                        Some((message.message.payload, Some(sequence)))
                    }
                    None => None,
                },
            })
        };
        let next = tokio::select! {
            next = next => next?,
            gone = self.link.gone() => return Err(gone),
        };
        let (payload, position) = next.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.position = position.or(self.position);
        Ok(payload)
    }

    /// The number of the last message in its JetStream stream, of a replay that has begun.
    pub(crate) fn position(&self) -> Option<u64> {
        self.position
    }

    /// Returns the number of messages that were lost since the last call because they were not taken in time.
    pub(crate) fn take_too_slow(&self) -> u64 {
        self.link.take_too_slow()
    }
}

async fn kept(link: &Link, subject: &str, replay: Replay) -> io::Result<pull::Stream> {
    let context = jetstream::new(link.client.clone());
    let name = context.stream_by_subject(subject).await.map_err(|error| {
        io::Error::new(io::ErrorKind::NotFound, format!("no JetStream stream keeps the subject {subject}: {error}"))
    })?;
    let stream = context.get_stream(name).await.map_err(io::Error::other)?;
    let first = match replay {
        Replay::Last(n) => from_sequence(last(&stream, subject, n).await?),
        Replay::Since(length) => DeliverPolicy::ByStartTime { start_time: async_nats::datetime::now() - length },
        // A stream that was made anew counts from 1 again.
        Replay::After(sequence) if sequence > stream.cached_info().state.last_sequence => DeliverPolicy::All,
        Replay::After(sequence) => from_sequence(sequence.saturating_add(1)),
    };
    consumer(&stream, subject, first).await?.messages().await.map_err(io::Error::other)
}

type Consumer = jetstream::consumer::Consumer<pull::Config>;

async fn consumer(stream: &Stream, subject: &str, first: DeliverPolicy) -> io::Result<Consumer> {
    let config = pull::Config {
        deliver_policy: first,
        filter_subject: subject.to_owned(),
        ack_policy: AckPolicy::None,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await.map_err(io::Error::other)
}

fn from_sequence(sequence: u64) -> DeliverPolicy {
    DeliverPolicy::ByStartSequence { start_sequence: sequence.max(1) }
}

/// Finds where the last `n` messages of the subject begin. The stream may have other subjects between them, so it is
/// searched: the server counts what would come from each place that is looked at.
async fn last(stream: &Stream, subject: &str, n: u64) -> io::Result<u64> {
    let state = &stream.cached_info().state;
    let (mut low, mut high) = (state.first_sequence.max(1), state.last_sequence + 1);
    // Of a stream with one subject the first look is the last.
    let mut at = high.saturating_sub(n).max(low);
    while low < high {
        let mut consumer = consumer(stream, subject, from_sequence(at)).await?;
        let info = consumer.info().await.map_err(io::Error::other)?;
        let (n_left, name) = (info.num_pending, info.name.clone());
        stream.delete_consumer(&name).await.map_err(io::Error::other)?;
        match n_left.cmp(&n) {
            std::cmp::Ordering::Equal => return Ok(at),
            std::cmp::Ordering::Greater => low = at + 1,
            std::cmp::Ordering::Less => high = at,
        }
        at = low + (high - low) / 2;
    }
    Ok(low)
}
