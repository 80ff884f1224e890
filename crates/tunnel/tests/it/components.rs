//! Components: what cuts streams, and processes that streams lead to.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::world::{Asked, Site, fetch, noise};

/// A server that answers each request of a connection with a head that is never the same, and the same body.
async fn http(body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut n_answers = 0;
        while let Ok((mut client, _)) = listener.accept().await {
            let mut heard = Vec::new();
            while client.read_buf(&mut heard).await.is_ok_and(|n| n > 0) {
                while let Some(end) = heard.windows(4).position(|window| window == b"\r\n\r\n") {
                    heard.drain(..end + 4);
                    n_answers += 1;
                    let head =
                        format!("HTTP/1.1 200 OK\r\nX-Number: {n_answers}\r\nContent-Length: {}\r\n\r\n", body.len());
                    client.write_all(head.as_bytes()).await.unwrap();
                    client.write_all(&body).await.unwrap();
                }
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn http_arrives_as_it_was_said_with_its_heads_apart() {
    let site = Site::new();
    let body = noise(1, 300_000);
    let server = http(body.clone()).await;
    let forward = format!("[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"{server}\"\ncomponent = \"http\"");
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked { near: &forward, ..Asked::default() }).await;
    let mut client = TcpStream::connect(near.addresses[0]).await.unwrap();
    for number in 1..=4 {
        client.write_all(b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let expected =
            [format!("HTTP/1.1 200 OK\r\nX-Number: {number}\r\nContent-Length: 300000\r\n\r\n").as_bytes(), &body]
                .concat();
        let mut heard = vec![0; expected.len()];
        client.read_exact(&mut heard).await.unwrap();
        assert!(heard == expected, "answer {number} is another one");
    }
    let counts = far.status().await.counts;
    assert!(counts.sent_bytes_total < 310_000, "{counts:?}");
    near.stop().await;
    far.stop().await;
}

/// What comes back until the connection ends.
async fn ask(address: SocketAddr, said: &str) -> Vec<u8> {
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(said.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).await.unwrap();
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_far_end_are_fetched_without_a_server() {
    let site = Site::new();
    let data = noise(3, 700_000);
    std::fs::create_dir(site.path("files")).unwrap();
    std::fs::write(site.path("files/one"), &data).unwrap();
    let forward = "[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"files\"\ncomponent = \"http\"";
    let far = site.far("*", Asked { far: "files = \"files\"", ..Asked::default() }).await;
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked { near: forward, ..Asked::default() }).await;
    let files = near.addresses[0];
    let whole = ask(files, "GET /one HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert!(whole.starts_with(b"HTTP/1.1 200 OK\r\n") && whole.ends_with(&data));
    let two = "HEAD /one HTTP/1.1\r\n\r\nGET /one HTTP/1.1\r\nRange: bytes=699990-\r\nConnection: close\r\n\r\n";
    let two = String::from_utf8_lossy(&ask(files, two).await).into_owned();
    assert!(two.contains("Content-Length: 700000") && two.contains("bytes 699990-699999/700000"), "{two}");
    for (said, told) in [("GET /none HTTP/1.0", "404"), ("PUT /one HTTP/1.1", "405"), ("hello", "400")] {
        let heard = String::from_utf8_lossy(&ask(files, &format!("{said}\r\n\r\n")).await).into_owned();
        assert!(heard.starts_with(&format!("HTTP/1.1 {told}")), "{heard}");
    }
    let sent = far.status().await.counts;
    ask(files, "GET /one HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    let again = far.status().await.counts;
    assert!(again.sent_bytes_total - sent.sent_bytes_total < 2_000, "{again:?}");
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_may_lead_to_another_process_that_is_listed() {
    let site = Site::new();
    let data = noise(2, 500_000);
    let listener = UnixListener::bind(site.path("process.sock")).unwrap();
    let said = data.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            client.read_u8().await?;
            client.write_all(&said).await?;
            client.shutdown().await?;
        }
        std::io::Result::Ok(())
    });
    let path = site.path("process.sock").display().to_string();
    let forward = format!("[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"unix:{path}\"");
    for (sockets, is_reached) in [(format!("sockets = [\"{path}\"]"), true), (String::new(), false)] {
        let far = site.far("*", Asked { far: &sockets, ..Asked::default() }).await;
        let near = site.near(far.addresses[0], "127.0.0.1:1", Asked { near: &forward, ..Asked::default() }).await;
        match fetch(near.addresses[0]).await {
            Ok(heard) => assert!(is_reached && heard == data),
            Err(_) => assert!(!is_reached),
        }
        near.stop().await;
        far.stop().await;
    }
}
