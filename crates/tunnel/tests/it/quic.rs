//! Links over QUIC do what links over TCP do.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::programs::check_echo;
use crate::security::certificate;
use crate::world::{Asked, Site, echo, fetch, noise, server};

const TRANSFER: &str = "carrier = \"quic\"";
const FAR: Asked<'_> =
    Asked { security: "certificate = \"far.pem\"\nkey = \"far.key\"", near: "", far: "", transfer: TRANSFER };
const NEAR: Asked<'_> =
    Asked { security: "authorities = \"far.pem\"\nname = \"far.example\"", near: "", far: "", transfer: TRANSFER };

#[tokio::test(flavor = "multi_thread")]
async fn one_direction_may_end_before_the_other() {
    let site = Site::new();
    certificate(&site, "far");
    let far = site.far("127.0.0.1:*", FAR).await;
    let near = site.near(far.addresses[0], &echo().await.to_string(), NEAR).await;
    for n_bytes in [0, 1, 70_000, 3_000_000] {
        check_echo(near.addresses[0], &noise(n_bytes as u64, n_bytes)).await;
    }
    let counts = near.status().await.counts;
    assert_eq!((counts.links_total, counts.streams_failed_total), (1, 0));
    near.stop().await;
    // It ended in order.
    assert_eq!(far.status().await.counts.links_failed_total, 0);
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_link_breaks_streams_and_is_made_again() {
    let site = Site::new();
    certificate(&site, "far");
    let data = noise(4, 30_000_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", FAR).await;
    let address = far.addresses[0];
    let near = site.near(address, &server.to_string(), NEAR).await;
    let mut client = TcpStream::connect(near.addresses[0]).await.unwrap();
    client.write_all(b"?").await.unwrap();
    client.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
    far.stop().await;
    assert!(client.read_to_end(&mut Vec::new()).await.is_err(), "a part of the file was taken for all of it");
    // The endpoint's socket is closed by a task of its own.
    let is_free = async {
        while tokio::net::UdpSocket::bind(address).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(testkit::PATIENCE, is_free).await.expect("the far end's port is never free");
    let far = site.far_at(address, "127.0.0.1:*", FAR).await;
    assert!(fetch(near.addresses[0]).await.unwrap() == data);
    assert_eq!(near.status().await.counts.links_total, 2);
    near.stop().await;
    far.stop().await;
}
