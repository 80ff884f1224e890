//! Between a local program's connection and a stream of a link: both directions, each with an end of its own.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::link::{Inbound, Link, PIECE_BYTES, Work};
use crate::transport::{break_at_end, end_in_order};

/// Why a stream ended before its time.
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

/// Carries bytes until both directions have ended. One that breaks is broken at both ends, so that nobody takes a part for the whole.
pub(crate) async fn relay(
    link: &Arc<Link>,
    stream: u32,
    inbound: UnboundedReceiver<Inbound>,
    mut local: TcpStream,
) -> Result<(), Broken> {
    break_at_end(&local);
    let (reader, writer) = local.split();
    let mut has_ended = false;
    let (inward_ended_in, inward_ended) = oneshot::channel();
    let result = {
        let both = async {
            outward(link, stream, &reader, &mut has_ended).await?;
            inward_ended.await.map_err(|_| Broken::Link)
        };
        tokio::select! {
            result = both => result,
            broken = inward(link, stream, inbound, writer, inward_ended_in) => Err(broken),
        }
    };
    match &result {
        Ok(()) => end_in_order(&local),
        Err(Broken::Peer(_)) if has_ended => {}
        Err(broken) => drop(link.give(Work::Reset { stream, reason: broken.to_string() }).await),
    }
    link.forget(stream);
    result
}

/// What the program says.
async fn outward(link: &Link, stream: u32, reader: &ReadHalf<'_>, has_ended: &mut bool) -> Result<(), Broken> {
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
        if !link.give(Work::Data { stream, bytes }).await {
            return Err(Broken::Link);
        }
    }
    *has_ended = true;
    if link.give(Work::End { stream }).await { Ok(()) } else { Err(Broken::Link) }
}

/// What comes for the program, and after the end that the stream was broken though. Returns only when it is.
async fn inward(
    link: &Link,
    stream: u32,
    mut inbound: UnboundedReceiver<Inbound>,
    mut writer: WriteHalf<'_>,
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
