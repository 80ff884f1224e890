//! Relay between a local program's connection and a stream of a link: both directions, each with an end of its own.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream, tcp, unix};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::link::{Inbound, Link, PIECE_BYTES, Work};
use crate::part::{Component, checked};
use crate::transport::{break_at_end, end_in_order};

/// The reason why a stream ended before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The program's connection broke.
    #[error("the connection broke: {0}")]
    Local(#[from] io::Error),
    /// The other end's did, or its target could not be reached.
    #[error("{0}")]
    Peer(String),
    /// The link ended.
    #[error("the link to the other end was lost")]
    Link,
}

/// A local program's connection.
pub(crate) enum Local {
    Tcp(TcpStream),
    /// Another process of this machine. It sees an end where a TCP connection is reset: its protocol has to say where
    /// its messages end.
    Unix(UnixStream),
}

/// A source that is read without a buffer that waits.
trait Readable {
    async fn readable(&self) -> io::Result<()>;
    fn try_read_buf(&self, bytes: &mut Vec<u8>) -> io::Result<usize>;
}

impl Readable for tcp::ReadHalf<'_> {
    async fn readable(&self) -> io::Result<()> {
        tcp::ReadHalf::readable(self).await
    }

    fn try_read_buf(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        tcp::ReadHalf::try_read_buf(self, bytes)
    }
}

impl Readable for unix::ReadHalf<'_> {
    async fn readable(&self) -> io::Result<()> {
        unix::ReadHalf::readable(self).await
    }

    fn try_read_buf(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        unix::ReadHalf::try_read_buf(self, bytes)
    }
}

/// Carries bytes until both directions have ended. One that breaks is broken at both ends, so that nobody takes a part
/// for the whole.
pub(crate) async fn relay(
    link: &Arc<Link>,
    stream: u32,
    component: Box<dyn Component>,
    inbound: UnboundedReceiver<Inbound>,
    local: Local,
) -> Result<(), Broken> {
    let mut has_ended = false;
    let result = match local {
        Local::Tcp(mut local) => {
            break_at_end(&local);
            let (reader, writer) = local.split();
            let outward = Outward { link, stream, component, reader, has_ended: &mut has_ended };
            let result = both(outward, inbound, writer).await;
            if result.is_ok() {
                end_in_order(&local);
            }
            result
        }
        Local::Unix(mut local) => {
            let (reader, writer) = local.split();
            both(Outward { link, stream, component, reader, has_ended: &mut has_ended }, inbound, writer).await
        }
    };
    match &result {
        Ok(()) => {}
        Err(Broken::Peer(_)) if has_ended => {}
        Err(broken) => drop(link.give(Work::Reset { stream, reason: broken.to_string() }).await),
    }
    link.forget(stream);
    result
}

/// The program's data, and their destination.
struct Outward<'a, R> {
    link: &'a Link,
    stream: u32,
    component: Box<dyn Component>,
    reader: R,
    has_ended: &'a mut bool,
}

async fn both<R: Readable>(
    from: Outward<'_, R>,
    inbound: UnboundedReceiver<Inbound>,
    writer: impl AsyncWrite + Unpin,
) -> Result<(), Broken> {
    let (link, stream) = (from.link, from.stream);
    let (inward_ended_in, inward_ended) = oneshot::channel();
    let both = async {
        outward(from).await?;
        inward_ended.await.map_err(|_| Broken::Link)
    };
    tokio::select! {
        result = both => result,
        broken = inward(link, stream, inbound, writer, inward_ended_in) => Err(broken),
    }
}

/// Sends what the program writes.
async fn outward<R: Readable>(from: Outward<'_, R>) -> Result<(), Broken> {
    let Outward { link, stream, mut component, reader, has_ended } = from;
    let credit = link.credit(stream).ok_or(Broken::Link)?;
    loop {
        // No buffer is held for a program that says nothing.
        reader.readable().await?;
        let mut bytes = Vec::with_capacity(PIECE_BYTES);
        match reader.try_read_buf(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        }
        bytes.shrink_to_fit();
        let granted = credit.acquire_many(bytes.len() as u32).await.map_err(|_| Broken::Link)?;
        // The peer gives it back when its program took the bytes.
        granted.forget();
        let parts = checked(component.cut(&bytes), bytes.len());
        let mut rest = bytes;
        for part in parts {
            let after = rest.split_off(part.n_bytes);
            let bytes = std::mem::replace(&mut rest, after);
            if !link.give(Work::Data { stream, lane: part.lane, bytes }).await {
                return Err(Broken::Link);
            }
        }
    }
    *has_ended = true;
    if link.give(Work::End { stream }).await { Ok(()) } else { Err(Broken::Link) }
}

/// Writes what comes for the program, and waits after the end in case the stream is broken nevertheless. Returns
/// only when the stream is broken.
async fn inward(
    link: &Link,
    stream: u32,
    mut inbound: UnboundedReceiver<Inbound>,
    mut writer: impl AsyncWrite + Unpin,
    ended: oneshot::Sender<()>,
) -> Broken {
    let mut n_taken = 0;
    let mut ended = Some(ended);
    loop {
        let written = match inbound.recv().await {
            Some(Inbound::Opened) => Ok(()),
            Some(Inbound::Data(bytes)) => {
                n_taken += bytes.len();
                writer.write_all(&bytes).await
            }
            Some(Inbound::End) => {
                let shut = writer.shutdown().await;
                // Whoever waits for it may have gone.
                ended.take().map(|ended| ended.send(()));
                shut
            }
            Some(Inbound::Reset(reason)) => return Broken::Peer(reason),
            None => return Broken::Link,
        };
        if let Err(error) = written {
            return error.into();
        }
        if n_taken >= link.window() / 4 {
            link.took(stream, n_taken);
            n_taken = 0;
        }
    }
}
