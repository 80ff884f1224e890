//! Who may be the other end.

use std::fs;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{Asked, Running, Site, fetch, noise, server};

/// Waits until the near end has failed to make a link, or has made one.
async fn is_linked(near: &Running) -> bool {
    let counts = async {
        loop {
            let counts = near.status().await.counts;
            if counts.links + counts.links_failed_total > 0 {
                return counts;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(testkit::PATIENCE, counts).await.expect("nothing became of the link").links > 0
}

pub fn certificate(site: &Site, name: &str) {
    let made = rcgen::generate_simple_self_signed(["far.example", "127.0.0.1"].map(str::to_owned)).unwrap();
    fs::write(site.path(&format!("{name}.pem")), made.cert.pem()).unwrap();
    fs::write(site.path(&format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_encrypted_with_a_certificate_that_is_believed() {
    check_certificates("").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_over_quic_is_believed_for_the_same_reasons() {
    check_certificates("carrier = \"quic\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_token_makes_no_link_over_quic() {
    let site = Site::new();
    certificate(&site, "far");
    site.token("near.token", "another-token-long-enough-too");
    let transfer = "carrier = \"quic\"";
    let security = "certificate = \"far.pem\"\nkey = \"far.key\"";
    let far = site.far("*", Asked { security, transfer, ..Asked::default() }).await;
    let security = "authorities = \"far.pem\"\nname = \"far.example\"";
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked { security, transfer, ..Asked::default() }).await;
    assert!(!is_linked(&near).await);
    near.stop().await;
    far.stop().await;
}

async fn check_certificates(transfer: &str) {
    let site = Site::new();
    certificate(&site, "far");
    certificate(&site, "other");
    let data = noise(1, 1_000_000);
    let server = server(data.clone()).await;
    let security = "certificate = \"far.pem\"\nkey = \"far.key\"";
    let far = site.far("127.0.0.1:*", Asked { security, transfer, ..Asked::default() }).await;
    for (security, is_good) in [
        ("authorities = \"far.pem\"\nname = \"far.example\"", true),
        ("authorities = \"other.pem\"\nname = \"far.example\"", false),
        ("authorities = \"far.pem\"\nname = \"other.example\"", false),
        ("", false),
    ] {
        if security.is_empty() && !transfer.is_empty() {
            // That is not even a configuration.
            continue;
        }
        let asked = Asked { security, transfer, ..Asked::default() };
        let near = site.near(far.addresses[0], &server.to_string(), asked).await;
        assert_eq!(is_linked(&near).await, is_good, "with {security}");
        if is_good {
            assert!(fetch(near.addresses[0]).await.unwrap() == data);
        }
        near.stop().await;
    }
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_token_makes_no_link() {
    let site = Site::new();
    site.token("near.token", "another-token-long-enough-too");
    let far = site.far("*", Asked::default()).await;
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked::default()).await;
    assert!(!is_linked(&near).await);
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_token_learns_nothing_and_does_no_harm() {
    let site = Site::new();
    let data = noise(2, 100_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let hello = [b"foretunl".as_slice(), &1_u32.to_le_bytes(), &[7; 32]].concat();
    for said in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), noise(3, 5000), [&hello[..], &[0; 56]].concat()] {
        let mut stranger = TcpStream::connect(far.addresses[0]).await.unwrap();
        stranger.write_all(&said).await.unwrap();
        let mut heard = Vec::new();
        // It is ended, in order or not.
        let _ = stranger.read_to_end(&mut heard).await;
        assert!(heard.len() <= 12 + 32 + 24 + 32, "{} bytes were said to a stranger", heard.len());
    }
    let near = site.near(far.addresses[0], &server.to_string(), Asked::default()).await;
    assert!(fetch(near.addresses[0]).await.unwrap() == data);
    near.stop().await;
    far.stop().await;
}
