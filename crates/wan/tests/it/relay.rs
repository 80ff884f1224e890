//! Relays between sockets of this machine.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use testkit::{PATIENCE, wait_until};
use wan::{Protocol, Relay, RelayError, RelayPlan};
use watch::Watch;

const ONE_WAY: Duration = Duration::from_millis(20);

fn watch() -> Watch {
    Watch::new(Arc::new(clock::System::start()))
}

fn plan(protocol: Protocol, to: SocketAddr) -> RelayPlan {
    let there = netmodel::Description { latency: Some(ONE_WAY), ..Default::default() };
    let back = there.clone();
    RelayPlan { protocol, listen: ([127, 0, 0, 1], 0).into(), to, there, back, clients_max: 100, seed: 1 }
}

fn start(plan: &RelayPlan) -> Relay {
    Relay::start(plan, |_| Err(ErrorKind::NotFound.into()), &watch()).unwrap()
}

/// A server that gives back what each of `n` clients sends, until it ends.
fn echo(n: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(n) {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut reader = stream.try_clone().unwrap();
                std::io::copy(&mut reader, &mut stream).unwrap();
            });
        }
    });
    address
}

#[test]
fn a_connection_costs_a_round_trip_and_each_message_another() {
    let relay = start(&plan(Protocol::Tcp, echo(1)));
    let begun = clock::instant();
    let mut stream = TcpStream::connect(relay.address()).unwrap();
    let mut answer = [0; 4];
    stream.write_all(b"ping").unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert!(begun.elapsed() >= 4 * ONE_WAY, "{:?}", begun.elapsed());
    let again = clock::instant();
    stream.write_all(b"pong").unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert!(again.elapsed() >= 2 * ONE_WAY, "{:?}", again.elapsed());
    assert_eq!(&answer, b"pong");
    // What has been delivered is counted right after.
    wait_until("all bytes are counted", PATIENCE, || {
        let [there, back] = relay.directions().map(|counts| counts.traffic());
        ((there.arrived_bytes, back.arrived_bytes, there.in_flight_bytes) == (8, 8, 0)).then_some(())
    });
}

#[test]
fn all_bytes_arrive_in_order_and_then_the_end() {
    let mut plan = plan(Protocol::Tcp, echo(1));
    plan.there.bandwidth = "400Mbit/s".parse().ok();
    plan.there.queue = "64KiB".parse().ok();
    let relay = start(&plan);
    let mut stream = TcpStream::connect(relay.address()).unwrap();
    let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let (mut writer, bytes) = (stream.try_clone().unwrap(), sent.clone());
    let writer = thread::spawn(move || {
        writer.write_all(&bytes).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(received == sent, "{} of {} bytes, or in another order", received.len(), sent.len());
}

/// The bytes of one connection wait for those that were before them in the queue, and for no more: however many
/// connections send, and whatever each of them has ready.
#[test]
fn a_queue_holds_no_more_than_its_limit() {
    const QUEUE: u64 = 16 << 10;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = plan(Protocol::Tcp, listener.local_addr().unwrap());
    plan.there.bandwidth = "8Mbit/s".parse().ok();
    plan.there.queue = Some(units::ByteCount::new(QUEUE));
    let relay = start(&plan);
    let sinks = thread::spawn(move || {
        let sink = |stream: std::io::Result<TcpStream>| {
            thread::spawn(move || std::io::copy(&mut stream.unwrap(), &mut std::io::sink()).unwrap())
        };
        let sinks: Vec<_> = listener.incoming().take(4).map(sink).collect();
        sinks.into_iter().map(|sink| sink.join().unwrap()).sum::<u64>()
    });
    let senders = [(); 4].map(|()| {
        let mut stream = TcpStream::connect(relay.address()).unwrap();
        thread::spawn(move || stream.write_all(&[0; 100_000]).unwrap())
    });
    let there = &relay.directions()[0];
    let longest = wait_until("all has arrived", PATIENCE, || {
        let traffic = there.traffic();
        (traffic.arrived_bytes == 400_000).then_some(traffic.waiting_max_bytes)
    });
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    assert_eq!(sinks.join().unwrap(), 400_000);
    // How long the queue gets is up to the speed of this machine; that it is counted at all is not.
    assert!((1..=QUEUE).contains(&longest), "{longest} bytes waited");
}

#[test]
fn a_target_that_nobody_listens_at_ends_the_connection() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let relay = start(&plan(Protocol::Tcp, nobody));
    let mut stream = TcpStream::connect(relay.address()).unwrap();
    let ended = stream.read(&mut [0]);
    assert!(matches!(ended, Ok(0)) || ended.is_err(), "{ended:?}");
}

#[test]
fn one_connection_too_many_is_closed_and_the_others_go_on() {
    let mut plan = plan(Protocol::Tcp, echo(1));
    plan.clients_max = 1;
    let relay = start(&plan);
    let mut first = TcpStream::connect(relay.address()).unwrap();
    first.write_all(b"a").unwrap();
    first.read_exact(&mut [0]).unwrap();
    let refused = TcpStream::connect(relay.address()).and_then(|mut second| second.read(&mut [0]));
    assert!(matches!(refused, Ok(0)) || refused.is_err(), "{refused:?}");
    first.write_all(b"b").unwrap();
    first.read_exact(&mut [0]).unwrap();
}

/// Ten thousand, or as many as the limit of open files lets this process have, of which each needs four.
#[test]
fn ten_thousand_connections_are_carried_at_the_same_time() {
    const N_WANTED: usize = 10_000;
    const N_OTHERS: usize = 1_000;
    let limit = getrlimit(Resource::Nofile);
    let all = Some((4 * N_WANTED + N_OTHERS) as u64);
    // A limit that is reached can be exceeded by root alone.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: all, maximum: limit.maximum.max(all) })
        .or_else(|_| setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }));
    raised.unwrap();
    let room = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    let n = N_WANTED.min(room.saturating_sub(N_OTHERS) / 4);
    if n < N_WANTED {
        eprintln!("only {n} connections: the limit of open files is {room}");
    }
    // The usual queue of 128 that nobody has accepted yet overflows, and who is left out tries again after a second.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(N_WANTED as i32).unwrap();
    let listener = TcpListener::from(socket);
    let mut plan = plan(Protocol::Tcp, listener.local_addr().unwrap());
    plan.clients_max = N_WANTED;
    let relay = start(&plan);
    assert!((n..=N_WANTED).contains(&relay.clients_max()));
    let server = thread::spawn(move || {
        let greet = |stream: std::io::Result<TcpStream>| {
            let mut stream = stream.unwrap();
            stream.write_all(b"x").unwrap();
            stream
        };
        listener.incoming().take(n).map(greet).collect::<Vec<_>>()
    });
    let clients: Vec<TcpStream> = (0..n).map(|_| TcpStream::connect(relay.address()).unwrap()).collect();
    for mut client in &clients {
        client.read_exact(&mut [0]).unwrap();
    }
    assert_eq!(server.join().unwrap().len(), n);
}

/// A peer that stops reading holds up its own source, not the others, and what is kept for it has a limit.
#[test]
fn a_peer_that_stops_reading_holds_up_nobody_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = start(&plan(Protocol::Tcp, listener.local_addr().unwrap()));
    let mut greedy = TcpStream::connect(relay.address()).unwrap();
    let (_never_read, _) = listener.accept().unwrap();
    greedy.set_nonblocking(true).unwrap();
    let block = vec![0; 1 << 20];
    let mut n_sent = 0;
    let there = &relay.directions()[0];
    wait_until("the source is held up", PATIENCE, || {
        let before = there.traffic().arrived_bytes;
        while let Ok(n) = greedy.write(&block) {
            n_sent += n;
        }
        // Nothing more can be written, and all that the relay has read has crossed.
        (n_sent > 0 && there.traffic().in_flight_bytes == 0 && there.traffic().arrived_bytes == before).then_some(())
    });
    let mut other = TcpStream::connect(relay.address()).unwrap();
    other.write_all(b"x").unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    accepted.read_exact(&mut [0]).unwrap();
}

#[test]
fn datagrams_cross_in_both_directions_and_get_lost() {
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let relay = start(&plan(Protocol::Udp, target.local_addr().unwrap()));
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    let begun = clock::instant();
    client.send_to(b"ping", relay.address()).unwrap();
    let mut buffer = [0; 16];
    let (n, from) = target.recv_from(&mut buffer).unwrap();
    assert!(n == 4 && begun.elapsed() >= ONE_WAY);
    target.send_to(b"answer", from).unwrap();
    assert_eq!(client.recv(&mut buffer).unwrap(), 6);
    assert!(begun.elapsed() >= 2 * ONE_WAY);

    let mut lossy = plan(Protocol::Udp, target.local_addr().unwrap());
    lossy.there.loss = "100%".parse().ok();
    let relay = start(&lossy);
    client.send_to(b"ping", relay.address()).unwrap();
    let there = &relay.directions()[0];
    wait_until("it is counted as lost", PATIENCE, || (there.traffic().n_dropped_loss == 1).then_some(()));
    assert_eq!((there.traffic().n_arrived, there.traffic().in_flight_bytes), (0, 0));
}

/// What the kernel has no room for at a receiver is lost, and nothing of it stays with the relay.
#[test]
fn a_peer_that_does_not_read_loses_datagrams_and_holds_up_nobody_else() {
    const N_SENT: usize = 500;
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let relay = start(&plan(Protocol::Udp, target.local_addr().unwrap()));
    let clients = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let mut buffer = vec![0; 1 << 16];
    let [idle_at, other_at] = clients.each_ref().map(|client| {
        client.send_to(b"x", relay.address()).unwrap();
        target.recv_from(&mut buffer).unwrap().1
    });
    for _ in 0..N_SENT {
        target.send_to(&[0; 60_000], idle_at).unwrap();
    }
    target.send_to(b"y", other_at).unwrap();
    let [idle, other] = &clients;
    assert_eq!(other.recv(&mut buffer).unwrap(), 1);
    let back = &relay.directions()[1];
    wait_until("nothing is on the way", PATIENCE, || (back.traffic().in_flight_bytes == 0).then_some(()));
    idle.set_nonblocking(true).unwrap();
    let n_received = std::iter::from_fn(|| idle.recv(&mut buffer).ok()).count();
    assert!((1..N_SENT).contains(&n_received), "{n_received} of {N_SENT} were kept");
}

#[test]
fn a_connection_cannot_lose_bytes() {
    let mut plan = plan(Protocol::Tcp, echo(0));
    plan.back.loss = "1%".parse().ok();
    let refused = Relay::start(&plan, |_| Err(ErrorKind::NotFound.into()), &watch());
    assert!(matches!(refused, Err(RelayError::Stream)));
}
