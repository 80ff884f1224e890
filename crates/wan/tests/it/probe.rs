//! Probes of links whose figures are known.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netmodel::Description;
use wan::{Collector, Probe, Protocol, Relay, RelayPlan};
use watch::Watch;

fn answering() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || wan::answer(&listener));
    address
}

/// Both can only be slower than the link: the machine may be busy.
#[test]
fn a_probe_finds_no_more_than_the_link_gives() {
    let there = Description {
        latency: Some(Duration::from_millis(5)),
        bandwidth: "50Mbit/s".parse().ok(),
        ..Description::default()
    };
    let (listen, to) = (([127, 0, 0, 1], 0).into(), answering());
    let plan = RelayPlan { protocol: Protocol::Tcp, listen, to, back: there.clone(), there, clients_max: 4, seed: 1 };
    let watch = Watch::new(Arc::new(clock::System::start()));
    let relay = Relay::start(&plan, |_| Err(ErrorKind::NotFound.into()), &watch).unwrap();
    let mut probe = Probe::connect(relay.address()).unwrap();
    for collector in [Collector::Nws, Collector::Application] {
        let sample = probe.sample(collector).unwrap();
        let rate = sample.bandwidth.unwrap().bits_per_sec();
        assert!(sample.two_way >= Duration::from_millis(10), "{sample:?}");
        // The short message was on the wire too, and its time is taken off the long one's.
        assert!(rate > 0 && rate < 51_000_000, "{sample:?}");
    }
    assert!(probe.ping_pong(125_000).unwrap() >= Duration::from_millis(50));
}

#[test]
fn what_is_no_message_is_not_answered() {
    let mut stream = TcpStream::connect(answering()).unwrap();
    stream.write_all(&[0x7f, 0xff, 0xff, 0xff]).unwrap();
    let ended = stream.read(&mut [0]);
    assert!(matches!(ended, Ok(0)) || ended.is_err(), "{ended:?}");
}
