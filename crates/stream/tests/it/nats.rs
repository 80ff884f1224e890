//! NATS, with a real server: what every transport has to do, what JetStream keeps, and what a restart costs.

use std::path::Path;
use std::time::Duration;

use stream::registry::{Query, Registry, find};
use stream::{Caller, Message, NatsServer, Reader, Security};
use testkit::{PATIENCE, wait_until};

use crate::conformance::{check_stream, wait_for_source};
use crate::control::check_calls;
use crate::world::{Collected, Writer, collector, description, endpoint, sample, writer};

fn server(folder: &Path) -> (testkit::NatsServer, Security) {
    let server = testkit::NatsServer::start(folder);
    let nats = NatsServer { url: Some(server.url()), credentials: None };
    (server, Security { nats, ..Security::default() })
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn nats_subjects() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, security) = server(folder.path());
    for (source, target) in [("a.b", "a.b"), ("c.>", "c.d.e"), ("f.*", "f.g?durable=yes")] {
        let reader = collector(&format!("source:nats:{source}"), &security);
        wait_for_source(&reader);
        let writer = writer(&format!("target:nats:{target}"), &security);
        writer.wait_for_reader();
        check_stream(&writer, &reader);
    }
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn what_is_asked_is_answered_over_nats() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, security) = server(folder.path());
    check_calls("server:nats:foretop.ask", &security);
    let mut nobody = Caller::open(&endpoint("source:nats:nobody"), &security).unwrap();
    let error = nobody.call(stream::Ask::Status {}, PATIENCE).unwrap_err();
    let reasons = format!("{error}: {:?}", std::error::Error::source(&error));
    assert!(reasons.contains("nobody answers at the subject nobody"), "{reasons}");
}

/// A writer into JetStream that has sent so many samples, all acknowledged.
fn kept(subject: &str, n: u64, security: &Security) -> Writer {
    let writer = writer(&format!("target:nats:{subject}?durable=yes"), security);
    writer.wait_for_reader();
    writer.send(Message::Description(description()));
    for number in 0..n {
        writer.send(Message::Sample(sample(number)));
        writer.wait_for_written(number + 2);
    }
    writer
}

fn numbers(reader: &Collected, n: usize) -> Vec<u64> {
    reader.samples(n).iter().map(|sample| sample.number).collect()
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn who_comes_late_is_given_what_jetstream_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, security) = server(folder.path());
    let writer = kept("load", 20, &security);
    let last = collector("source:nats:load?replay=5", &security);
    assert_eq!(numbers(&last, 5), [15, 16, 17, 18, 19]);
    let all = collector("source:nats:load?since=1h", &security);
    assert_eq!(numbers(&all, 20), (0..20).collect::<Vec<_>>());
    writer.send(Message::Sample(sample(20)));
    assert_eq!((numbers(&last, 1), numbers(&all, 1)), (vec![20], vec![20]), "and then what comes");
    let mut reader = Reader::open(&endpoint("source:nats:load?replay=1"), &security).unwrap();
    assert_eq!(reader.next(PATIENCE).unwrap(), Some(Message::Sample(sample(20))));
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn a_subject_that_nobody_keeps_is_told_until_somebody_does() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, security) = server(folder.path());
    let reader = collector("source:nats:later?replay=5", &security);
    let error = wait_until("it is told", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    assert!(error.contains("source:nats:later?replay=5") && error.contains("no JetStream stream keeps"), "{error}");
    let _writer = kept("later", 1, &security);
    assert_eq!(numbers(&reader, 1), [0]);
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn a_server_that_is_killed_under_load_costs_nothing_that_was_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, security) = server(folder.path());
    let writer = writer("target:nats:load?durable=yes&backlog=16MiB", &security);
    writer.wait_for_reader();
    let reader = collector("source:nats:load?since=1h", &security);
    let mut number = 0;
    for _ in 0..3 {
        // Killed with some acknowledged, some on their way and some not sent.
        for _ in 0..5000 {
            writer.send(Message::Sample(sample(number)));
            number += 1;
        }
        writer.wait_for_written(number - 4000);
        server.kill();
        for _ in 0..5000 {
            writer.send(Message::Sample(sample(number)));
            number += 1;
        }
        server.start_again();
        writer.wait_for_written(number);
    }
    let given = numbers(&reader, usize::try_from(number).unwrap());
    let wrong = (0..).zip(&given).find(|(expected, given)| expected != *given);
    assert_eq!((given.len() as u64, wrong), (number, None), "each of them, once, in order");
    assert_eq!(writer.running.status()[writer.at.0].counted.n_dropped, 0);
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn streams_of_other_sites_are_found_by_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, security) = server(folder.path());
    let registry =
        |site: &str| Registry { folder: Some(folder.path().join(site)), announces: true, lan: false, across: true };
    let [here, there] = ["here", "there"].map(|site| Security { registry: registry(site), ..security.clone() });
    let reader = collector("source:name:load", &here);
    let writer = writer("target:nats:sites.load", &there);
    writer.send(Message::Description(description()));
    wait_for_source(&reader);
    let found = find(
        &Query { stream: Some("load".parse().unwrap()), host: Some("pyramid".parse().unwrap()), ..Query::default() },
        Duration::ZERO,
        &here,
    )
    .unwrap();
    assert_eq!(found[0].addresses, ["nats:sites.load"]);
    writer.send(Message::Sample(sample(1)));
    assert_eq!(numbers(&reader, 1), [1]);
}

/// Somebody wrote such announcements, was connected to at a port of this host, and had a pipe made.
#[test]
#[ignore = "needs nats-server; run by make test"]
fn what_somebody_writes_of_this_host_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (server, security) = server(folder.path());
    let registry = Registry { folder: Some(folder.path().join("here")), across: true, ..Registry::default() };
    let security = Security { registry, ..security };
    // Looking makes the bucket.
    assert_eq!(find(&Query::default(), Duration::ZERO, &security).unwrap(), []);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let pipe = folder.path().join("pipe");
    let places = [format!("tcp:{}", listener.local_addr().unwrap()), format!("pipe:{}", pipe.display())];
    let [tcp, pipe_place] = &places;
    let announced = format!(
        r#"{{"stream": "load", "host": "pyramid", "carries": "sample", "signals": [], "addresses": ["{tcp}", "{pipe_place}"],
            "servers": ["{tcp}"], "pid": 1, "heartbeat_ns": 0}}"#
    );
    publish(&server, "$KV.foretop_streams.00000000.1-00000000", announced.as_bytes());
    let reader = collector("source:name:load", &security);
    let error = wait_until("it is told", PATIENCE, || {
        let error = reader.running.status()[0].counted.last_error.clone()?;
        error.contains("ignored").then_some(error)
    });
    assert!(error.contains("3 places were ignored"), "{error}");
    reader.running.stop();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err() && !pipe.exists());
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn without_jetstream_a_backlog_waits_for_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, security) = server(folder.path());
    server.kill();
    let writer = writer("target:nats:load", &security);
    let reader = collector("source:nats:load", &security);
    let error = wait_until("it is told", PATIENCE, || writer.running.status()[writer.at.0].counted.last_error.clone());
    assert!(error.contains("target:nats:load"), "{error}");
    server.start_again();
    wait_for_source(&reader);
    writer.send(Message::Sample(sample(1)));
    assert_eq!(numbers(&reader, 1), [1]);
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn a_message_that_is_no_frame_costs_itself_only() {
    let folder = tempfile::tempdir().unwrap();
    let (server, security) = server(folder.path());
    let reader = collector("source:nats:load", &security);
    wait_for_source(&reader);
    publish(&server, "load", b"Dear reader");
    let error = wait_until("it is told", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    assert!(error.contains("a frame must begin with `FT`"), "{error}");
    let writer = writer("target:nats:load", &security);
    writer.wait_for_reader();
    writer.send(Message::Sample(sample(1)));
    assert_eq!(numbers(&reader, 1), [1]);
    assert_eq!(reader.running.status()[0].counted.n_connects, 1, "it stayed connected");
}

/// By a client that is not ours.
fn publish(server: &testkit::NatsServer, subject: &str, payload: &[u8]) {
    use std::io::Write;
    let mut connection = std::net::TcpStream::connect(server.url().trim_start_matches("nats://")).unwrap();
    write!(connection, "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n", payload.len()).unwrap();
    connection.write_all(payload).unwrap();
    connection.write_all(b"\r\nPING\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"PONG\r\n") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut connection, &mut byte).unwrap();
        answer.push(byte[0]);
    }
}

#[test]
#[ignore = "needs nats-server; run by make test"]
fn who_the_server_does_not_know_is_told_and_the_password_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let security = Security {
        nats: NatsServer { url: None, credentials: Some(folder.path().join("missing.creds")) },
        ..Security::default()
    };
    let reader = collector("source:nats:load", &security);
    let error = wait_until("it is told", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    assert!(error.contains("cannot use the NATS credentials in"), "{error}");
    let secret = NatsServer { url: Some("nats://me:hunter2@broker".to_owned()), credentials: None };
    assert!(!format!("{secret:?}").contains("hunter2"));
}
