//! The handshake by which a connection becomes an encrypted one.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Stopping, Stream, linger};
use crate::api::{ErrorBody, ErrorCode, ErrorDetail};

/// The encrypted connection. A client that asks in the clear is told that it should not. How long this may take is the
/// caller's to say.
pub(super) async fn shake(tls: &TlsAcceptor, stream: Stream, mut stopping: Stopping) -> io::Result<TlsStream<Stream>> {
    let shaken = async {
        let mut first = [0_u8];
        stream.get_ref().peek(&mut first).await?;
        // A method is letters; a handshake begins with the byte 22 (RFC 8446, section 5.1).
        if first[0].is_ascii_alphabetic() { refuse(stream).await } else { tls.accept(stream).await }
    };
    tokio::select! {
        shaken = shaken => shaken,
        () = stopping.begun() => Err(io::ErrorKind::Interrupted.into()),
    }
}

async fn refuse(mut stream: Stream) -> io::Result<TlsStream<Stream>> {
    let message = "this address is encrypted: write https:// instead of http://".to_owned();
    let body = ErrorBody { error: ErrorDetail { code: ErrorCode::BadParameter, message, field: None } };
    let body = serde_json::to_string(&body).map_err(io::Error::other)?;
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ";
    stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    linger(stream).await;
    Err(io::Error::new(io::ErrorKind::InvalidData, "a request in the clear"))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use door::{Door, Limits};
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::super::visitor::FIRST_HEAD_TIME_MAX;
    use super::*;

    /// A server with a certificate of its own, and a connection to it.
    async fn connect(server: &mut JoinSet<()>) -> TcpStream {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let tls = stream::ServerTls::from_files(&chain, &key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let router = Router::new().route("/", get(async || "secret"));
        let door = Door::new(Limits { total: 40, strangers: 4 });
        server.spawn(super::super::serve(listener, Some(tls.config()), router, door, std::future::pending()));
        client
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_makes_no_handshake_is_let_go_after_ten_seconds() {
        for begun in [&[][..], &[22, 3, 1][..]] {
            let start = Instant::now();
            let mut server = JoinSet::new();
            let mut client = connect(&mut server).await;
            client.write_all(begun).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            assert!(start.elapsed() >= FIRST_HEAD_TIME_MAX, "{:?}", start.elapsed());
            assert!(answer.is_empty(), "{answer:?}");
        }
    }

    #[tokio::test]
    async fn a_request_in_the_clear_is_answered_with_what_would_be_right() {
        let mut server = JoinSet::new();
        let mut client = connect(&mut server).await;
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("write https://"), "{answer}");
        assert!(!answer.contains("secret"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn begun_handshakes_keep_nobody_waiting() {
        let start = Instant::now();
        let mut server = JoinSet::new();
        let first = connect(&mut server).await;
        let address = first.peer_addr().unwrap();
        let mut silent = vec![first];
        for _ in 0..100 {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(&[22, 3, 1]).await.unwrap();
            silent.push(client);
        }
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("write https://"), "{answer}");
        assert!(start.elapsed() < FIRST_HEAD_TIME_MAX, "{:?}", start.elapsed());
    }
}
