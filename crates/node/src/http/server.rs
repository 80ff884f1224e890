//! Connections: how many, how long they may take, and how they end.

mod guests;
mod handshake;
mod visitor;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use door::{Door, Full};
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::ServiceExt as _;

use crate::outage::Outage;
use visitor::Entrance;
pub(super) use visitor::Visitor;

/// Connections that were turned out and have not ended yet. Whoever comes when there are more waits in the kernel's
/// queue.
const LEAVING_MAX: usize = 16;

/// Time limit for the head of a request after the first, and for an idle connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// Longest time for which a client may read nothing of the data that waits for it.
const STALL_TIME_MAX: Duration = Duration::from_secs(60);

/// Memory for what a connection has read or is about to write; the head of a request has to fit.
const BUFFER_BYTES: usize = 64 << 10;

/// Size of the kernel's send buffer for a client that does not read. Left alone it would grow to megabytes for each.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// Time and bytes to go on reading after the last answer, so that a client that is still sending gets to read it:
/// closing with data unread would reset the connection.
const LINGER_TIME: Duration = Duration::from_secs(2);
const LINGER_BYTES: u64 = 16 << 20;

/// Time limit of requests under way once the node stops.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Pause after a failed accept, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The address of whoever asks, in the extensions of a request.
#[derive(Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);
/// The name of this work in the log.
const ACCEPTING: &str = "accepting HTTP connections";

/// Signal to streams without an end that the node stops.
#[derive(Clone)]
pub(super) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Returns when the node stops.
    pub(super) async fn begun(&mut self) {
        // An error says that the sender is gone, and then so is the server.
        let _ = self.0.wait_for(|has_begun| *has_begun).await;
    }
}

/// A connection of which writing is given up when the client takes nothing.
type Stream = Pin<Box<TimeoutStream<TcpStream>>>;

/// Serves until `shutdown` is there and requests under way are answered, or cut off after a few seconds. With `tls`,
/// nothing is answered in the clear.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    door: Door,
    shutdown: impl Future<Output = ()>,
) {
    let tls = tls.map(TlsAcceptor::from);
    let entrance = Entrance::new(door);
    let (stop, begun) = watch::channel(false);
    let stopping = Stopping(begun);
    let router = router.layer(Extension(stopping.clone()));
    let mut connections = JoinSet::new();
    tokio::select! {
        () = shutdown => {}
        () = accept(&listener, &entrance, tls.as_ref(), &router, &stopping, &mut connections) => {}
    }
    drop(listener);
    stop.send_replace(true);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_TIME, all_ended).await.is_err() {
        connections.shutdown().await;
    }
}

/// Never returns.
async fn accept(
    listener: &TcpListener,
    entrance: &Entrance,
    tls: Option<&TlsAcceptor>,
    router: &Router,
    stopping: &Stopping,
    connections: &mut JoinSet<()>,
) {
    let mut outage = Outage::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => match entrance.enter(peer.ip()) {
                Ok(visitor) => {
                    outage.note(ACCEPTING, None);
                    let router = router.clone().layer(Extension(Peer(peer.ip())));
                    connections.spawn(run(stream, visitor, tls.cloned(), router, stopping.clone()));
                }
                Err(Full { total }) => outage.note(ACCEPTING, Some(&format!("all {total} places are taken"))),
            },
            Err(error) => {
                outage.note(ACCEPTING, Some(&error.to_string()));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
        // Their descriptors are not free before they have ended.
        while connections.len() >= entrance.n_visitors_max() + LEAVING_MAX {
            connections.join_next().await;
        }
    }
}

async fn run(stream: TcpStream, visitor: Visitor, tls: Option<TlsAcceptor>, router: Router, stopping: Stopping) {
    let answered = async {
        let stream = prepare(stream)?;
        match tls {
            None => talk(stream, &visitor, router, stopping).await,
            Some(tls) => {
                let stream = handshake::shake(&tls, stream, stopping.clone()).await?;
                talk(stream, &visitor, router, stopping).await
            }
        }
    };
    tokio::select! {
        answered = answered => if let Err(error) = answered {
            tracing::debug!(error = &*error, "connection broke off");
        },
        () = visitor.outstays() => tracing::debug!("connection closed: it did not say in time what it wants"),
    }
}

fn prepare(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nodelay(true)?;
    socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER_BYTES)?;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIME_MAX));
    Ok(Box::pin(stream))
}

async fn talk<S>(
    stream: S,
    visitor: &Visitor,
    router: Router,
    mut stopping: Stopping,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Boxed, because only a future that can be moved can give its connection back for the lingering end.
    let visitor = visitor.clone();
    let answer = hyper::service::service_fn(move |mut request: hyper::Request<_>| {
        let under_way = visitor.ask();
        request.extensions_mut().insert(visitor.clone());
        let answer = router.clone().oneshot(request);
        // Until the last byte of the body is out.
        let held = move |answer: axum::response::Response| {
            answer.map(|body| {
                body.map_frame(move |frame| {
                    let _ = &under_way;
                    frame
                })
            })
        };
        let answered: Pin<Box<dyn Future<Output = Result<_, Infallible>> + Send>> =
            Box::pin(async move { answer.await.map(held) });
        answered
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), answer);
    let ended = tokio::select! {
        ended = poll_fn(|context| connection.poll_without_shutdown(context)) => ended,
        () = stopping.begun() => {
            Pin::new(&mut connection).graceful_shutdown();
            return Ok(connection.await?);
        }
    };
    // Also after an error: the answer to a head that is too long is one, and its client is still sending.
    linger(connection.into_parts().io.into_inner()).await;
    Ok(ended?)
}

async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let drained = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    // The answer is out; how the client takes its leave changes nothing.
    let _ = tokio::time::timeout(LINGER_TIME, drained).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use door::Limits;
    use futures_util::stream;
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::visitor::FIRST_HEAD_TIME_MAX;
    use super::*;

    /// A server whose only answer has no end, and a client that has already sent `request`.
    ///
    /// What comes last is closed when the server has let go of the answer.
    async fn serve_one(request: &[u8]) -> (TcpStream, JoinSet<()>, oneshot::Receiver<()>) {
        let (held, released) = oneshot::channel::<()>();
        let held = Arc::new(Mutex::new(Some(held)));
        let endless = get(async move || {
            let held = held.lock().unwrap().take();
            Body::from_stream(stream::unfold(held, async |held| {
                Some((Ok::<_, Infallible>(Bytes::from_static(&[b'.'; 16_384])), held))
            }))
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(request).await.unwrap();
        let mut server = JoinSet::new();
        let router = Router::new().route("/", endless);
        server.spawn(serve(listener, None, router, Door::new(Limits::of(8)), std::future::pending()));
        (client, server, released)
    }

    // The clock is paused in these: it jumps to the next timer when nothing else is left to do.

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_let_go_after_a_minute() {
        let start = Instant::now();
        let (_client, _server, released) = serve_one(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        released.await.unwrap_err();
        assert!(start.elapsed() >= STALL_TIME_MAX, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_say_what_it_wants_is_let_go_after_ten_seconds() {
        for request in ["", "GET / HTTP/1.1\r\nHost: loc"] {
            let start = Instant::now();
            let (mut client, _server, _) = serve_one(request.as_bytes()).await;
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            assert!(start.elapsed() >= FIRST_HEAD_TIME_MAX, "{:?}", start.elapsed());
            assert_eq!(String::from_utf8(answer), Ok(String::new()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_are_answered_however_many_say_nothing() {
        let start = Instant::now();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let door = Door::new(Limits { total: 40, strangers: 4 });
        let mut server = JoinSet::new();
        let router = Router::new().route("/", get(async || "here"));
        server.spawn(serve(listener, None, router, door.clone(), std::future::pending()));
        let mut silent = Vec::new();
        for begun in ["", "GET / HTTP/1.1\r\nHost: loc"].repeat(100) {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(begun.as_bytes()).await.unwrap();
            silent.push(client);
        }
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("\r\n\r\nhere"), "{answer}");
        assert!(start.elapsed() < FIRST_HEAD_TIME_MAX, "{:?}", start.elapsed());
        assert!(door.counts().n_turned_out >= 196, "{:?}", door.counts());
    }
}
