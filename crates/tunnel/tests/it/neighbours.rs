//! Near ends that ask each other for what they lack before they ask the far end.

use std::net::SocketAddr;

use secret::Token;
use secret::proof::Seal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tunnel::{Counts, Frame};

use crate::security::certificate;
use crate::world::{Asked, Running, Site, TOKEN, fetch, noise, server};

const LENDS: &str = "lend = \"127.0.0.1:0\"";

/// Where a near end that [`LENDS`] is asked.
fn lender(near: &Running) -> SocketAddr {
    *near.addresses.last().unwrap()
}

async fn counts(end: &Running) -> Counts {
    end.status().await.counts
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_neighbour_has_is_not_sent_again() {
    check_borrowing(Asked::default(), "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_believe_each_other_as_both_ends_of_a_link_do() {
    let security = "certificate = \"far.pem\"\nkey = \"far.key\"\nauthorities = \"far.pem\"";
    for transfer in ["", "carrier = \"quic\""] {
        check_borrowing(Asked { security, transfer, ..Asked::default() }, "name = \"far.example\"").await;
    }
}

async fn check_borrowing(asked: Asked<'_>, name: &str) {
    // A near end of each, with the same files.
    let [site, other] = [Site::new(), Site::new()];
    certificate(&site, "far");
    for file in ["far.pem", "far.key"] {
        std::fs::copy(site.path(file), other.path(file)).unwrap();
    }
    let data = noise(1, 3_000_000);
    let server = server(data.clone()).await.to_string();
    let security = format!("{}\n{name}", asked.security);
    let far = site.far("127.0.0.1:*", asked).await;
    let first = site.near(far.addresses[0], &server, Asked { security: &security, near: LENDS, ..asked }).await;
    assert!(fetch(first.addresses[0]).await.unwrap() == data);
    let asks = format!("neighbours = [\"{}\"]", lender(&first));
    let second = other.near(far.addresses[0], &server, Asked { security: &security, near: &asks, ..asked }).await;
    for round in 0..2 {
        assert!(fetch(second.addresses[0]).await.unwrap() == data);
        let (sent, lent, borrowed) = (counts(&far).await, counts(&first).await, counts(&second).await);
        assert_eq!((sent.repaired_bytes_total, borrowed.groups_misled_total), (0, 0), "round {round}: {borrowed:?}");
        // What was borrowed once is remembered.
        assert!((2_900_000..=3_000_000).contains(&borrowed.borrowed_bytes_total), "round {round}: {borrowed:?}");
        assert_eq!(lent.lent_bytes_total, borrowed.borrowed_bytes_total);
        assert!(sent.sent_bytes_total < 3_100_000, "round {round}: groups took {} bytes", sent.sent_bytes_total);
    }
    second.stop().await;
    first.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_neighbours_that_have_a_half_each_have_all() {
    let sites = [(); 4].map(|()| Site::new());
    let [one, other] = [noise(1, 1_000_000), noise(2, 1_000_000)];
    // A group that has the end of one half and the beginning of the other.
    let both = [&one[500_000..530_000], &other[..1_000_000]].concat();
    let far = sites[0].far("127.0.0.1:*", Asked::default()).await;
    let mut lenders = Vec::new();
    for (site, half) in sites[1..3].iter().zip([one, other]) {
        let server = server(half).await.to_string();
        let near = site.near(far.addresses[0], &server, Asked { near: LENDS, ..Asked::default() }).await;
        fetch(near.addresses[0]).await.unwrap();
        lenders.push(near);
    }
    let asks = format!("neighbours = [\"{}\", \"{}\"]", lender(&lenders[0]), lender(&lenders[1]));
    let asked = Asked { near: &asks, ..Asked::default() };
    let near = sites[3].near(far.addresses[0], &server(both.clone()).await.to_string(), asked).await;
    assert!(fetch(near.addresses[0]).await.unwrap() == both);
    assert_eq!(counts(&far).await.repaired_bytes_total, 0);
    for lender in &lenders {
        assert!(counts(lender).await.lent_bytes_total > 0);
    }
    near.stop().await;
    for lender in lenders {
        lender.stop().await;
    }
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_neighbour_that_is_of_no_help_costs_no_bytes() {
    let site = Site::new();
    let data = noise(3, 1_000_000);
    let server = server(data.clone()).await.to_string();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let first = site.near(far.addresses[0], &server, Asked { near: LENDS, ..Asked::default() }).await;
    assert!(fetch(first.addresses[0]).await.unwrap() == data);
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    // The kernel takes the connection, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let neighbours = [
        ("a neighbour that is not there", gone),
        ("one that says nothing", silent.local_addr().unwrap()),
        ("one that lies", liar().await),
        ("a far end", far.addresses[0]),
    ];
    for (what, address) in neighbours {
        let other = Site::new();
        let before = counts(&far).await.repaired_bytes_total;
        let asks = format!("neighbours = [\"{address}\"]");
        let near = other.near(far.addresses[0], &server, Asked { near: &asks, ..Asked::default() }).await;
        assert!(fetch(near.addresses[0]).await.unwrap() == data, "{what}");
        let (counts, repaired) = (counts(&near).await, counts(&far).await.repaired_bytes_total - before);
        assert_eq!(counts.borrowed_bytes_total, 0, "{what}");
        assert_eq!(counts.groups_misled_total > 0, what.ends_with("lies"), "{what}: {counts:?}");
        assert!((900_000..=1_000_000).contains(&repaired), "with {what} {repaired} bytes were sent again");
        near.stop().await;
    }
    first.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_borrows_without_the_token_and_the_tenant() {
    let site = Site::new();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], "127.0.0.1:1", Asked { near: LENDS, ..Asked::default() }).await;
    let tag = dedup::Key::of_tenant(TOKEN.as_bytes(), "").tag();
    let other = dedup::Key::of_tenant(TOKEN.as_bytes(), "other").tag();
    for (token, speaker, tag, is_answered) in [
        (TOKEN, "foretop tunnel 1 borrower", tag, true),
        ("another-token-long-enough-too", "foretop tunnel 1 borrower", tag, false),
        (TOKEN, "foretop tunnel 1 near", tag, false),
        (TOKEN, "foretop tunnel 1 borrower", other, false),
    ] {
        let mut stream = TcpStream::connect(lender(&near)).await.unwrap();
        stream.write_all(&[b"foretunl".as_slice(), &1_u32.to_le_bytes(), &[7; 32]].concat()).await.unwrap();
        let mut answer = [0; 8 + 4 + 32 + 24 + 32];
        stream.read_exact(&mut answer).await.unwrap();
        let seal = Seal::new(Token::new(token).unwrap(), [7; 32], *answer[12..].first_chunk().unwrap());
        let terms = terms(tag);
        let mut said = [&terms[..], &seal.proof(speaker.as_bytes(), &[&terms[..], &[0; 32]].concat())].concat();
        Frame::Borrow { wanted: Vec::new() }.put(&mut said);
        stream.write_all(&said).await.unwrap();
        // An empty answer to an empty question, or the end.
        let answered = stream.read_exact(&mut [0; 5]).await;
        assert_eq!(answered.is_ok(), is_answered, "{speaker} with {token}");
    }
    near.stop().await;
    far.stop().await;
}

fn terms(tag: [u8; 16]) -> Vec<u8> {
    [&tag[..], &8_u32.to_le_bytes(), &0_u32.to_le_bytes()].concat()
}

/// A neighbour with the token that has other bytes for whatever it is asked.
async fn liar() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut hello = [0; 8 + 4 + 32];
            stream.read_exact(&mut hello).await?;
            let seal = Seal::new(Token::new(TOKEN).unwrap(), *hello[12..].first_chunk().unwrap(), [8; 32]);
            let terms = terms(dedup::Key::of_tenant(TOKEN.as_bytes(), "").tag());
            let proof = seal.proof(b"foretop tunnel 1 lender", &[&terms[..], &[0; 32]].concat());
            let answer = [b"foretunl".as_slice(), &1_u32.to_le_bytes(), &[8; 32], &terms, &proof].concat();
            stream.write_all(&answer).await?;
            stream.read_exact(&mut [0; 24 + 32]).await?;
            while let Ok(n_bytes) = stream.read_u32_le().await {
                let mut frame = vec![0; n_bytes as usize];
                stream.read_exact(&mut frame).await?;
                let Ok(Frame::Borrow { wanted }) = Frame::read(&frame) else { break };
                let parts = wanted.into_iter().map(|wanted| vec![7; wanted.n_bytes as usize]).collect();
                let mut lies = Vec::new();
                Frame::Lend { parts }.put(&mut lies);
                stream.write_all(&lies).await?;
            }
        }
        std::io::Result::Ok(())
    });
    address
}
