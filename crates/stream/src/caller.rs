//! A program that asks a component.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;

use crate::endpoint::{Endpoint, Role};
use crate::error::{CallError, OpenError, ReadError};
use crate::frame::Decoder;
use crate::login::next_frame;
use crate::message::{Answer, Ask, Message, Payload, Request};
use crate::security::Security;
use crate::transport::{self, Connection};

/// More than a buffer of 65,536 short forecasts gives, or a monitor from a host's rings.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// A connection to a component's `server:` endpoint, with blocking calls.
pub struct Caller {
    runtime: Runtime,
    connection: Connection,
    decoder: Decoder,
    endpoint: String,
    n_asked: u64,
}

impl Caller {
    /// Connects to what `source:` names: the place at which a component has its `server:`.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be connected to within 10 s.
    pub fn open(endpoint: &Endpoint, security: &Security) -> Result<Self, OpenError> {
        let io_error = |source| OpenError::Io { endpoint: endpoint.to_string(), source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io_error)?;
        // What is greeted for is to ask.
        let as_caller = Endpoint { role: Role::Server, ..endpoint.clone() };
        let connection = runtime.block_on(transport::connect(&as_caller, security))?;
        Ok(Self { runtime, connection, decoder: Decoder::default(), endpoint: endpoint.to_string(), n_asked: 0 })
    }

    /// Asks, and waits for the answer and the messages that follow it.
    ///
    /// # Errors
    /// [`CallError`] when there is no answer within `limit`, or it is a refusal, or the request does not fit into a
    /// frame. After any other the connection is of no more use.
    pub fn call(&mut self, ask: Ask, limit: Duration) -> Result<(Answer, Vec<Message>), CallError> {
        self.n_asked += 1;
        let Self { runtime, connection, decoder, endpoint, n_asked } = self;
        let mut bytes = BytesMut::new();
        let request = Request { id: *n_asked, ask };
        request.encode(&mut bytes).map_err(|source| CallError::Request { endpoint: endpoint.clone(), source })?;
        let exchange = async {
            connection.bytes_out.write_all(&bytes).await?;
            connection.bytes_out.flush().await?;
            answer(connection, decoder).await
        };
        let answered = runtime.block_on(async { tokio::time::timeout(limit, exchange).await });
        let endpoint = endpoint.clone();
        match answered {
            Err(_) => Err(CallError::Late { endpoint, limit }),
            Ok(Err(source)) => Err(CallError::Read { endpoint, source }),
            Ok(Ok((Answer::Refused { reason }, _))) => Err(CallError::Refused { endpoint, reason }),
            Ok(Ok(answered)) => Ok(answered),
        }
    }
}

async fn answer(connection: &mut Connection, decoder: &mut Decoder) -> Result<(Answer, Vec<Message>), ReadError> {
    let reply = loop {
        if let Message::Reply(reply) = next_message(connection, decoder).await? {
            break reply;
        }
    };
    let (mut messages, begin) = (Vec::new(), decoder.position());
    for _ in 0..reply.n_frames {
        messages.push(next_message(connection, decoder).await?);
        if decoder.position() - begin > ANSWER_BYTES_MAX {
            return Err(std::io::Error::other(format!("an answer of more than {ANSWER_BYTES_MAX} bytes")).into());
        }
    }
    Ok((reply.answer, messages))
}

async fn next_message(connection: &mut Connection, decoder: &mut Decoder) -> Result<Message, ReadError> {
    Ok(Message::decode(&next_frame(connection, decoder).await?)?)
}
