//! A program that reads a stream and is no mirror.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::runtime::Runtime;

use crate::endpoint::Endpoint;
use crate::error::{OpenError, ReadError};
use crate::frame::Decoder;
use crate::message::Message;
use crate::security::Security;
use crate::transport::{self, DATAGRAM_BYTES_MAX, Source};

/// A stream that is read message by message, with blocking calls.
///
/// It ends where its connection does. What should go on after that is a mirror.
pub struct Reader {
    runtime: Runtime,
    source: Source,
    decoder: Decoder,
}

impl Reader {
    /// Opens a `source:` endpoint.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be opened within 10 s.
    pub fn open(endpoint: &Endpoint, security: &Security) -> Result<Self, OpenError> {
        let io_error = |source| OpenError::Io { endpoint: endpoint.to_string(), source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io_error)?;
        let source = runtime.block_on(transport::open_source(endpoint, security))?;
        Ok(Self { runtime, source, decoder: Decoder::default() })
    }

    /// The next message; `None` at the end, and when none came within `limit`.
    ///
    /// # Errors
    /// [`ReadError`] when the connection breaks or what comes makes no sense.
    pub fn next(&mut self, limit: Duration) -> Result<Option<Message>, ReadError> {
        let Self { runtime, source, decoder } = self;
        let next = async { tokio::time::timeout(limit, next_message(source, decoder)).await };
        runtime.block_on(next).unwrap_or(Ok(None))
    }
}

async fn next_message(source: &mut Source, decoder: &mut Decoder) -> Result<Option<Message>, ReadError> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(Some(Message::decode(&frame)?));
        }
        let n_read = match source {
            Source::Connection(connection) => connection.bytes_in.read_buf(decoder.buffer()).await?,
            Source::Run { bytes } => bytes.read_buf(decoder.buffer()).await?,
            Source::Datagrams(socket) => {
                decoder.buffer().reserve(DATAGRAM_BYTES_MAX);
                socket.recv_buf(decoder.buffer()).await?
            }
            Source::Messages(incoming) => {
                // A message holds whole frames only.
                decoder.finish()?;
                let message = incoming.next().await?;
                decoder.buffer().extend_from_slice(&message);
                message.len()
            }
        };
        if n_read == 0 {
            decoder.finish()?;
            return Ok(None);
        }
    }
}
