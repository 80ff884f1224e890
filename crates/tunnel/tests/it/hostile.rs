//! A peer with the token that breaks the protocol: its link ends, and nothing else.

use secret::Token;
use secret::proof::Seal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tunnel::Frame;

use crate::world::{Asked, Running, Site, TOKEN, fetch, noise, server};

/// Logs in as a near end, by the document.
async fn logged_in(far: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(far.addresses[0]).await.unwrap();
    stream.write_all(&[b"foretunl".as_slice(), &1_u32.to_le_bytes(), &[7; 32]].concat()).await.unwrap();
    let mut answer = [0; 8 + 4 + 32 + 24 + 32];
    stream.read_exact(&mut answer).await.unwrap();
    let theirs = *answer[12..].first_chunk::<32>().unwrap();
    let terms = [&[9; 16][..], &8_u32.to_le_bytes(), &(1_u32 << 20).to_le_bytes()].concat();
    let seal = Seal::new(Token::new(TOKEN).unwrap(), [7; 32], theirs);
    let said = [&terms[..], &[0; 32]].concat();
    stream.write_all(&[&terms[..], &seal.proof(b"foretop tunnel 1 near", &said)].concat()).await.unwrap();
    stream
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| frame.put(&mut bytes));
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_breaks_the_protocol_is_cut_off_alone() {
    let site = Site::new();
    let data = noise(1, 200_000);
    let server = server(data.clone()).await;
    let target = server.to_string();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let near = site.near(far.addresses[0], &target, Asked::default()).await;
    let open = Frame::Open { stream: 1, component: "tcp".to_owned(), target };
    let wrongs = [
        vec![0xff; 8],
        vec![1, 0, 0, 0, 99],
        bytes(&[open.clone(), open.clone()]),
        bytes(&[Frame::Ack { n_groups: 1 }]),
        bytes(&[Frame::Ask { group: 0, ranges: vec![0..1; 1] }]),
        bytes(&[Frame::Data { stream: 1, lane: 0, group: noise(2, 100) }]),
        bytes(&[Frame::Data { stream: 1, lane: 0, group: Vec::new() }]),
        bytes(&[open.clone(), Frame::Credit { stream: 1, n_bytes: u32::MAX }]),
    ];
    for wrong in wrongs {
        let mut stream = logged_in(&far).await;
        stream.write_all(&wrong).await.unwrap();
        let mut heard = Vec::new();
        // The end, in order or not, and not silence.
        let ended = tokio::time::timeout(testkit::PATIENCE, stream.read_to_end(&mut heard)).await;
        assert!(ended.is_ok(), "{wrong:?} was taken");
        assert!(fetch(near.addresses[0]).await.unwrap() == data);
    }
    near.stop().await;
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_acknowledges_gets_no_more_than_there_is_room_for() {
    let site = Site::new();
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let mut stream = logged_in(&far).await;
    for number in 1..40 {
        // Each says something of its own, so that all of it has to come.
        let target = server(noise(number.into(), 1 << 20)).await.to_string();
        stream.write_all(&bytes(&[Frame::Open { stream: number, component: "tcp".to_owned(), target }])).await.unwrap();
    }
    // A group of one byte: what the server waits for. All of it is new, and packed by nobody.
    let mut encoder = dedup_encoder();
    for number in 1..40 {
        let group = encoder(b"?");
        stream.write_all(&bytes(&[Frame::Data { stream: number, lane: 0, group }])).await.unwrap();
    }
    // All that may come does, but for a group that does not fit into the rest of the room.
    let mut heard = vec![0; (16 << 20) - (1 << 18)];
    let all = tokio::time::timeout(testkit::PATIENCE, stream.read_exact(&mut heard)).await;
    all.expect("less came than there is room for").unwrap();
    let counts = far.status().await.counts;
    assert!(counts.unacknowledged_bytes <= 16 << 20, "more is kept than there is room for: {counts:?}");
    drop(stream);
    far.stop().await;
}

/// What the near end of [`logged_in`] would send.
fn dedup_encoder() -> impl FnMut(&[u8]) -> Vec<u8> {
    let key = dedup::Key::of_tenant(TOKEN.as_bytes(), "");
    let settings = dedup::Settings { key, packing: dedup::Packing::Plain, ..dedup::Settings::default() };
    let mut history = dedup::MemoryHistory::new(settings.gear());
    let mut encoder = dedup::Encoder::new(settings, &mut history, dedup::RunId([9; 16]));
    move |data| {
        let mut group = Vec::new();
        encoder.encode(&mut history, &mut dedup::Flow::default(), data, &mut group);
        group
    }
}
