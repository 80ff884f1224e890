//! What every transport has to do, in one body: bring what was sent, in order, and say first what it is.

use std::net::UdpSocket;

use stream::{Message, Security};
use testkit::{PATIENCE, wait_until};

use crate::world::{Collected, Writer, collector, description, path, sample, writer};

/// What a transport promises about messages that are sent while the reader is there.
#[track_caller]
pub fn check_stream(writer: &Writer, reader: &Collected) {
    writer.send(Message::Description(description()));
    for number in 0..1000 {
        writer.send(Message::Sample(sample(number)));
    }
    assert_eq!(reader.next(), Message::Description(description()));
    let samples = reader.samples(1000);
    assert!(samples.iter().eq(&(0..1000).map(sample).collect::<Vec<_>>()), "all of them, in order");
    assert_eq!(reader.running.status()[reader.at.0].counted.n_bad, 0);
    assert_eq!(writer.running.status()[writer.at.0].counted.n_dropped, 0);
}

/// Whoever comes late is told what it is that comes.
#[track_caller]
fn check_late_reader(writer: &Writer, open: impl Fn() -> Collected) {
    let late = open();
    writer.wait_for_readers(2);
    writer.send(Message::Sample(sample(1000)));
    assert_eq!(late.next(), Message::Description(description()));
    assert_eq!(late.next(), Message::Sample(sample(1000)));
}

#[track_caller]
fn check_connect(output: &str, security: &Security) {
    let writer = writer(output, security);
    let open = || collector(&format!("source:{}", writer.address()), security);
    let reader = open();
    writer.wait_for_reader();
    check_stream(&writer, &reader);
    check_late_reader(&writer, open);
}

#[track_caller]
fn check_target(input: &str, security: &Security) {
    let reader = collector(input, security);
    let writer = writer(&format!("target:{}", reader.running.address(reader.at).unwrap()), security);
    writer.wait_for_reader();
    check_stream(&writer, &reader);
}

/// The same place at both ends.
#[track_caller]
fn check_shared(place: &str) {
    let security = Security::default();
    let reader = collector(&format!("source:{place}"), &security);
    wait_for_source(&reader);
    let writer = writer(&format!("target:{place}"), &security);
    writer.wait_for_reader();
    check_stream(&writer, &reader);
}

/// A reader whose place does not show the writer that it is there.
pub fn wait_for_source(reader: &Collected) {
    wait_until("the reader is there", PATIENCE, || (reader.running.status()[0].counted.n_connected == 1).then_some(()));
}

/// A port that was free a moment ago, of a transport that has no other way to agree on one.
fn udp_port(address: &str) -> Option<u16> {
    UdpSocket::bind((address, 0)).ok().map(|socket| socket.local_addr().unwrap().port())
}

#[test]
fn tcp_that_readers_connect_to() {
    check_connect("connect:tcp:0", &Security::default());
    check_connect("connect:tcp:[::1]:0", &Security::default());
}

#[test]
fn tcp_that_writers_connect_to() {
    check_target("accept:tcp:0", &Security::default());
}

#[test]
fn unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    check_connect(&format!("connect:unix:{}", path(folder.path(), "out")), &Security::default());
    check_target(&format!("accept:unix:{}", path(folder.path(), "in")), &Security::default());
}

#[test]
fn udp_to_a_host() {
    check_shared(&format!("udp:127.0.0.1:{}", udp_port("127.0.0.1").unwrap()));
    check_shared(&format!("udp:[::1]:{}", udp_port("::1").unwrap()));
}

#[test]
fn named_pipes() {
    let folder = tempfile::tempdir().unwrap();
    check_shared(&format!("pipe:{}", path(folder.path(), "pipe")));
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("file:{}", path(folder.path(), "recorded"));
    let writer = writer(&format!("target:{place}"), &Security::default());
    writer.send(Message::Description(description()));
    for number in 0..1000 {
        writer.send(Message::Sample(sample(number)));
    }
    writer.wait_for_written(1001);
    let reader = collector(&format!("source:{place}"), &Security::default());
    assert_eq!(reader.next(), Message::Description(description()));
    assert!(reader.samples(1000).iter().eq(&(0..1000).map(sample).collect::<Vec<_>>()));
}
