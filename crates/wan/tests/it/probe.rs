//! Probes of links whose figures are known.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netmodel::Description;
use units::{Bandwidth, ByteCount};
use wan::{Collector, Probe, Protocol, Relay, RelayPlan};
use watch::Watch;

fn answering() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || wan::answer(&listener));
    address
}

/// A busy machine makes a message late, never early. A late short message makes a long one seem faster, but not both
/// together.
#[test]
fn a_probe_finds_no_more_than_the_link_gives() {
    let bandwidth: Bandwidth = "50Mbit/s".parse().unwrap();
    let there =
        Description { latency: Some(Duration::from_millis(5)), bandwidth: Some(bandwidth), ..Description::default() };
    let (listen, to) = (([127, 0, 0, 1], 0).into(), answering());
    let plan = RelayPlan { protocol: Protocol::Tcp, listen, to, back: there.clone(), there, clients_max: 4, seed: 1 };
    let watch = Watch::new(Arc::new(clock::System::start()));
    let relay = Relay::start(&plan, |_| Err(ErrorKind::NotFound.into()), &watch).unwrap();
    let mut probe = Probe::connect(relay.address()).unwrap();
    for (collector, bytes) in [(Collector::Nws, 64 << 10), (Collector::Application, 32 << 10)] {
        let sample = probe.sample(collector).unwrap();
        let bytes = ByteCount::new(bytes);
        let wire = sample.bandwidth.map_or(Duration::ZERO, |rate| rate.serialization_time(bytes));
        assert!(sample.two_way >= Duration::from_millis(10), "{sample:?}");
        let least = Duration::from_millis(10) + bandwidth.serialization_time(bytes);
        assert!(sample.two_way + wire >= least, "{sample:?} of a link on which this takes {least:?}");
    }
    assert!(probe.ping_pong(125_000).unwrap() >= Duration::from_millis(50));
}

/// 4 MiB do not fit into the sockets' buffers: who wrote all of it before reading would wait for ever.
#[test]
fn sums_are_made_by_both_sides_at_the_same_time() {
    let mut probe = Probe::connect(answering()).unwrap();
    for (size_bytes, n) in [(8, 100), (4 << 20, 2)] {
        assert!(probe.sums(size_bytes, n).unwrap() > Duration::ZERO);
    }
    probe.ping_pong(8).unwrap();
    for (size_bytes, n) in [(12, 1), (0, 1), (8, 0), (32 << 20, 1)] {
        assert_eq!(probe.sums(size_bytes, n).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn what_is_no_message_is_not_answered() {
    let mut stream = TcpStream::connect(answering()).unwrap();
    stream.write_all(&[0x7f, 0xff, 0xff, 0xff]).unwrap();
    let ended = stream.read(&mut [0]);
    assert!(matches!(ended, Ok(0)) || ended.is_err(), "{ended:?}");
}

/// 16 MiB do not fit into the sockets' buffers: whoever answers waits, with a place of its own.
#[test]
fn who_does_not_read_its_answers_holds_up_nobody_else() {
    let answering = answering();
    let mut silent = TcpStream::connect(answering).unwrap();
    silent.write_all(&[&0x8100_0000_u32.to_be_bytes()[..], &vec![0; 16 << 20]].concat()).unwrap();
    assert!(Probe::connect(answering).unwrap().ping_pong(8).unwrap() > Duration::ZERO);
    let mut answer = vec![1; 16 << 20];
    silent.read_exact(&mut answer).unwrap();
    assert!(answer.iter().all(|byte| *byte == 0));
}
