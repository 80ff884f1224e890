//! Programs that connect, ask a proxy, end one direction, go away, or never read.

use std::{net::SocketAddr, sync::Arc};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tunnel::{Config, Near};

use crate::world::{Asked, Running, Site, echo, echo_with, fetch, listener, noise, server};

/// Says `data`, then the end of it, and hears the same.
pub async fn check_echo(address: SocketAddr, data: &[u8]) {
    let heard = say_and_hear(TcpStream::connect(address).await.unwrap(), data).await;
    assert!(heard == data, "{} bytes came back of {}", heard.len(), data.len());
}

/// All that comes while `data` and an end are said: at the same time, as an echo would otherwise block once all buffers
/// are full.
async fn say_and_hear(stream: TcpStream, data: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = stream.into_split();
    let say = async {
        writer.write_all(data).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let mut heard = Vec::new();
    let (_, n_heard) = tokio::join!(say, reader.read_to_end(&mut heard));
    n_heard.unwrap();
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn one_direction_may_end_before_the_other() {
    let site = Site::new();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], &echo().await.to_string(), Asked::default()).await;
    for n_bytes in [0, 1, 70_000, 5_000_000] {
        check_echo(near.addresses[0], &noise(n_bytes as u64, n_bytes)).await;
    }
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_exact_at_every_level() {
    let text: Vec<u8> = (0..40_000_u64).flat_map(|i| format!("{i}: {}\n", i * i % 977).into_bytes()).collect();
    for (level, n_sent_max) in
        [("\"auto\"", 300_000), ("\"anchors\"", 650_000), ("\"bypass\"", 2_000_000), ("12", 250_000)]
    {
        let site = Site::new();
        let transfer = format!("level = {level}");
        let asked = Asked { transfer: &transfer, ..Asked::default() };
        let far = site.far("127.0.0.1:*", asked).await;
        let near = site.near(far.addresses[0], &echo().await.to_string(), asked).await;
        check_echo(near.addresses[0], &text).await;
        check_echo(near.addresses[0], &text).await;
        let counts = near.status().await.counts;
        assert!(counts.sent_bytes_total < n_sent_max, "{level} took {} bytes", counts.sent_bytes_total);
        near.stop().await;
        far.stop().await;
    }
}

/// A near end, a far end, and a program that has said a half to an echo through them.
async fn half_said(site: &Site) -> (Running, Running, TcpStream) {
    // Nobody is broken off because the machine is busy.
    let asked = Asked { transfer: "drain = \"1h\"", ..Asked::default() };
    let far = site.far("127.0.0.1:*", asked).await;
    let called = Arc::<Notify>::default();
    let echo = echo_with(Arc::clone(&called)).await;
    let near = site.near(far.addresses[0], &echo.to_string(), asked).await;
    let mut client = TcpStream::connect(near.addresses[0]).await.unwrap();
    client.write_all(b"half, ").await.unwrap();
    // An end that is about to end takes no stream whose target is not connected yet.
    tokio::time::timeout(testkit::PATIENCE, called.notified()).await.expect("the target is not connected");
    (near, far, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_told_to_end_takes_nobody_more_and_breaks_nobody_off() {
    let site = Site::new();
    let (near, far, client) = half_said(&site).await;
    let address = near.addresses[0];
    let stopping = tokio::spawn(near.stop());
    let is_closed = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(testkit::PATIENCE, is_closed).await.expect("it takes more programs");
    assert_eq!(say_and_hear(client, b"and the rest").await, b"half, and the rest");
    stopping.await.unwrap();
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_end_that_is_told_to_end_refuses_new_streams_and_breaks_nobody_off() {
    let site = Site::new();
    let (near, far, client) = half_said(&site).await;
    let address = near.addresses[0];
    let stopping = tokio::spawn(far.stop());
    // It may be broken off at any step.
    let late = async || {
        let mut other = TcpStream::connect(address).await?;
        other.write_all(b"late").await?;
        other.shutdown().await?;
        other.read_to_end(&mut Vec::new()).await
    };
    let is_refused = async { while late().await.is_ok() {} };
    tokio::time::timeout(testkit::PATIENCE, is_refused).await.expect("it takes more streams");
    // More than fits on the way at once: all of it comes back before the link ends.
    let rest = noise(9, 3_000_000);
    let heard = say_and_hear(client, &rest).await;
    assert!(heard == [b"half, ", &rest[..]].concat(), "{} bytes came back", heard.len());
    stopping.await.unwrap();
    near.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_dropped_gives_up_its_store() {
    let site = Site::new();
    let (near, far, _client) = half_said(&site).await;
    near.abort().await;
    let config = Config::read(&site.path("near.toml")).unwrap();
    let is_given_up = async {
        while Near::start(&config).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(testkit::PATIENCE, is_given_up).await.expect("a thread has it");
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_streams_at_once_do_not_mix() {
    let site = Site::new();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], &echo().await.to_string(), Asked::default()).await;
    let address = near.addresses[0];
    let shared = noise(1, 100_000);
    let streams = (0..40_u64).map(|seed| {
        let data = [noise(seed, 50_000), shared.clone(), noise(seed + 1, 50_000)].concat();
        tokio::spawn(async move { check_echo(address, &data).await })
    });
    for stream in streams.collect::<Vec<_>>() {
        stream.await.unwrap();
    }
    let counts = near.status().await.counts;
    assert_eq!((counts.streams_total, counts.streams_failed_total), (40, 0));
    assert!(counts.matched_bytes_total > 3_000_000, "{counts:?}");
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_speaks_socks_and_http() {
    let site = Site::new();
    let data = noise(2, 100_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked::default()).await;
    let proxy = near.addresses[1];

    let mut socks = TcpStream::connect(proxy).await.unwrap();
    socks.write_all(&[5, 1, 0]).await.unwrap();
    let mut answer = [0; 2];
    socks.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, [5, 0]);
    let [high, low] = server.port().to_be_bytes();
    socks.write_all(&[5, 1, 0, 1, 127, 0, 0, 1, high, low]).await.unwrap();
    let mut answer = [0; 10];
    socks.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[..2], [5, 0]);
    socks.write_all(b"?").await.unwrap();
    let mut heard = Vec::new();
    socks.read_to_end(&mut heard).await.unwrap();
    assert!(heard == data);

    let ask = |target: String, said: &'static str| async move {
        let mut http = TcpStream::connect(proxy).await.unwrap();
        http.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n{said}").as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        http.read_to_end(&mut heard).await.unwrap();
        heard
    };
    let heard = ask(server.to_string(), "?").await;
    let body = heard.strip_prefix(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
    assert!(body == data);
    for refused in ["10.0.0.1:80", "127.0.0.1:1"] {
        assert!(ask(refused.to_owned(), "").await.starts_with(b"HTTP/1.1 502"), "{refused} was reached");
    }
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_cannot_be_reached_breaks_the_stream() {
    let site = Site::new();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], "10.0.0.1:80", Asked::default()).await;
    assert!(fetch(near.addresses[0]).await.is_err(), "it looks as if the target had nothing to say");
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_holds_up_nobody_else() {
    let site = Site::new();
    let data = noise(3, 20_000_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], &server.to_string(), Asked::default()).await;
    let mut idle = Vec::new();
    for _ in 0..5 {
        let mut client = TcpStream::connect(near.addresses[0]).await.unwrap();
        client.write_all(b"?").await.unwrap();
        idle.push(client);
    }
    assert!(fetch(near.addresses[0]).await.unwrap() == data);
    let counts = near.status().await.counts;
    // Windows and the kernel's buffers, not the file.
    assert!(counts.received_bytes_total < 90_000_000, "{counts:?}");
    drop(idle);
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_link_breaks_streams_and_is_made_again() {
    let site = Site::new();
    let data = noise(4, 30_000_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let address = far.addresses[0];
    let near = site.near(address, &server.to_string(), Asked::default()).await;
    let mut client = TcpStream::connect(near.addresses[0]).await.unwrap();
    client.write_all(b"?").await.unwrap();
    let mut heard = vec![0; 1_000_000];
    client.read_exact(&mut heard).await.unwrap();
    far.stop().await;
    let mut rest = Vec::new();
    assert!(client.read_to_end(&mut rest).await.is_err(), "a part of the file was taken for all of it");
    let far = site.far_at(address, "127.0.0.1:*", Asked::default()).await;
    assert!(fetch(near.addresses[0]).await.unwrap() == data);
    assert_eq!(near.status().await.counts.links_total, 2);
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_idle_connections_are_no_burden() {
    const N_IDLE: usize = 1000;
    allow_files(8 * N_IDLE as u64);
    let site = Site::new();
    let (listener, mut told) = listener().await;
    let data = noise(5, 100_000);
    let more = format!("[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"{}\"", server(data.clone()).await);
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], &listener.to_string(), Asked { near: &more, ..Asked::default() }).await;
    // The forward that was added comes first.
    let [service, waiting, ..] = near.addresses[..] else { panic!("{:?}", near.addresses) };
    let mut idle = Vec::new();
    for _ in 0..N_IDLE {
        idle.push(TcpStream::connect(waiting).await.unwrap());
    }
    assert!(fetch(service).await.unwrap() == data);
    let mut all_told = async |what| {
        let all = async {
            for _ in 0..N_IDLE {
                told.recv().await.unwrap();
            }
        };
        tokio::time::timeout(testkit::PATIENCE, all).await.expect(what);
    };
    all_told("not all of them came").await;
    drop(idle);
    all_told("streams stay open though their clients have gone").await;
    near.stop().await;
    far.stop().await;
}

/// Lets this process open so many files, as far as the machine does.
fn allow_files(n_files: u64) {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(n_files, |maximum| maximum.min(n_files));
    if limit.current.is_some_and(|current| current < most) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).unwrap();
    }
}
