//! A caller's side of `server:nats:`, as a connection: what is written until a flush is a request, what is read its
//! reply.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_nats::{Client, StatusCode, Subscriber};
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Link;
use crate::transport::Connection;

/// A request larger than this is no request.
const REQUEST_BYTES_MAX: usize = 2 << 20;

/// Both halves of asking whoever answers at `subject`.
pub(crate) async fn connection(link: Link, subject: &str) -> io::Result<Connection> {
    let inbox = link.client.new_inbox();
    let replies =
        Replies { replies: link.subscribe(&inbox, None).await?, rest: Bytes::new(), subject: subject.to_owned() };
    let requests =
        Requests { client: link.client, subject: subject.to_owned(), inbox, request: Vec::new(), sending: None };
    Ok(Connection { bytes_in: Box::new(replies), bytes_out: Box::new(requests) })
}

struct Replies {
    replies: Subscriber,
    rest: Bytes,
    subject: String,
}

impl AsyncRead for Replies {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            let Some(reply) = ready!(self.replies.poll_next_unpin(context)) else {
                return Poll::Ready(Ok(()));
            };
            if reply.status == Some(StatusCode::NO_RESPONDERS) {
                let reason = format!("nobody answers at the subject {}", self.subject);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::NotConnected, reason)));
            }
            self.rest = reply.payload;
        }
        let n_bytes = self.rest.len().min(out.remaining());
        out.put_slice(&self.rest[..n_bytes]);
        self.rest.advance(n_bytes);
        Poll::Ready(Ok(()))
    }
}

struct Requests {
    client: Client,
    subject: String,
    inbox: String,
    request: Vec<u8>,
    sending: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl AsyncWrite for Requests {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.request.len() + bytes.len() > REQUEST_BYTES_MAX {
            return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
        }
        self.request.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.sending.is_none() && !self.request.is_empty() {
            let (client, subject, inbox) = (self.client.clone(), self.subject.clone(), self.inbox.clone());
            let request = Bytes::from(std::mem::take(&mut self.request));
            self.sending = Some(Box::pin(async move {
                client.publish_with_reply(subject, inbox, request).await.map_err(io::Error::other)?;
                client.flush().await.map_err(io::Error::other)
            }));
        }
        let Some(sending) = &mut self.sending else {
            return Poll::Ready(Ok(()));
        };
        let sent = ready!(sending.as_mut().poll(context));
        self.sending = None;
        Poll::Ready(sent)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
