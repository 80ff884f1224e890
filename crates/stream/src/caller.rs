//! A program that asks a component.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

use crate::endpoint::{Endpoint, Role};
use crate::error::{CallError, OpenError, ReadError};
use crate::frame::Decoder;
use crate::message::{Answer, Ask, Message, Payload, Request};
use crate::security::Security;
use crate::transport::{self, Connection};

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
    /// [`CallError`] when there is no answer within `limit`, or it is a refusal. After one that is no refusal the connection is of no more use.
    pub fn call(&mut self, ask: Ask, limit: Duration) -> Result<(Answer, Vec<Message>), CallError> {
        self.n_asked += 1;
        let Self { runtime, connection, decoder, endpoint, n_asked } = self;
        let mut bytes = BytesMut::new();
        Request { id: *n_asked, ask }.encode(&mut bytes);
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
    let mut messages = Vec::new();
    for _ in 0..reply.n_frames {
        messages.push(next_message(connection, decoder).await?);
    }
    Ok((reply.answer, messages))
}

async fn next_message(connection: &mut Connection, decoder: &mut Decoder) -> Result<Message, ReadError> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(Message::decode(&frame)?);
        }
        if connection.bytes_in.read_buf(decoder.buffer()).await? == 0 {
            decoder.finish()?;
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
}
