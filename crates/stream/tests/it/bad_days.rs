//! Peers that stop reading, die in the middle, or say what makes no sense.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;

use stream::{Handler, InputId, Measurement, Message, Mirror, OpenError, Outputs, Panicked, Security};
use testkit::{PATIENCE, wait_until};

use crate::world::{PassOn, collector, description, endpoint, path, sample, writer};

fn frames(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut bytes = bytes::BytesMut::new();
    numbers.for_each(|number| Message::Sample(sample(number)).encode(&mut bytes).unwrap());
    bytes.to_vec()
}

#[test]
fn a_reader_that_stops_reading_loses_and_holds_nobody_up() {
    let writer = writer("connect:tcp:0?backlog=64KiB", &Security::default());
    let address = writer.address().strip_prefix("tcp:").unwrap().to_owned();
    let stuck = TcpStream::connect(&address).unwrap();
    let reader = collector(&format!("source:tcp:{address}"), &Security::default());
    writer.wait_for_readers(2);
    let mut number = 0;
    wait_until("frames of the stuck one are dropped", PATIENCE, || {
        for _ in 0..100 {
            // As many as both backlogs hold, so that the reader that reads gets them all.
            (0..1000).for_each(|at| writer.send(Message::Sample(sample(number + at))));
            assert_eq!(reader.samples(1000)[999], sample(number + 999));
            number += 1000;
        }
        (writer.running.status()[writer.at.0].counted.n_dropped > 0).then_some(())
    });
    drop(stuck);
    wait_until("it is gone", PATIENCE, || {
        (writer.running.status()[writer.at.0].counted.n_connected == 1).then_some(())
    });
}

#[test]
fn a_reader_that_may_not_lag_is_disconnected() {
    let writer = writer("connect:tcp:0?backlog=64KiB&overflow=disconnect", &Security::default());
    let mut stuck = TcpStream::connect(writer.address().strip_prefix("tcp:").unwrap()).unwrap();
    writer.wait_for_reader();
    let mut number = 0;
    wait_until("it is let go", PATIENCE, || {
        for _ in 0..1000 {
            let _ = writer.inlet.send(Message::Sample(sample(number)));
            number += 1;
        }
        (writer.running.status()[writer.at.0].counted.n_connected == 0).then_some(())
    });
    let mut rest = Vec::new();
    stuck.read_to_end(&mut rest).unwrap_or_default();
    assert!(!rest.is_empty());
}

#[test]
fn a_writer_that_dies_in_the_middle_is_connected_to_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let reader = collector(&format!("source:tcp:{}", listener.local_addr().unwrap()), &Security::default());
    let bytes = frames(0..3);
    let mut first = listener.accept().unwrap().0;
    first.write_all(&bytes[..bytes.len() - 5]).unwrap();
    drop(first);
    let mut second = listener.accept().unwrap().0;
    second.write_all(&frames(3..4)).unwrap();
    assert_eq!(reader.samples(3), [sample(0), sample(1), sample(3)]);
    let counted = &reader.running.status()[0].counted;
    assert_eq!((counted.n_bad, counted.n_connects), (1, 2));
    assert!(counted.last_error.as_ref().unwrap().contains("the data end 5 bytes before the frame does"), "{counted:?}");
}

#[test]
fn a_writer_that_comes_and_goes_is_found_each_time() {
    const N_TIMES: u64 = 5;
    let folder = tempfile::tempdir().unwrap();
    let place = path(folder.path(), "comes-and-goes");
    let reader = collector(&format!("source:unix:{place}"), &Security::default());
    for number in 0..N_TIMES {
        wait_until("its absence is told", PATIENCE, || {
            let counted = &reader.running.status()[0].counted;
            (counted.n_connected == 0 && counted.last_error.as_ref()?.contains("No such file")).then_some(())
        });
        let listener = UnixListener::bind(&place).unwrap();
        let mut connection = listener.accept().unwrap().0;
        connection.write_all(&frames(number..number + 1)).unwrap();
        assert_eq!(reader.samples(1), [sample(number)]);
        fs::remove_file(&place).unwrap();
    }
    let counted = &reader.running.status()[0].counted;
    assert_eq!((counted.n_connects, counted.n_bad), (N_TIMES, 0));
}

#[test]
fn readers_that_come_and_go_leave_nothing_behind() {
    let writer = writer("connect:tcp:0", &Security::default());
    for number in 0..20 {
        let reader = collector(&format!("source:{}", writer.address()), &Security::default());
        writer.wait_for_reader();
        writer.send(Message::Sample(sample(number)));
        assert_eq!(reader.samples(1), [sample(number)]);
        drop(reader);
        wait_until("it is gone", PATIENCE, || {
            (writer.running.status()[writer.at.0].counted.n_connected == 0).then_some(())
        });
    }
    let counted = &writer.running.status()[writer.at.0].counted;
    assert_eq!((counted.n_connects, counted.n_dropped), (20, 0));
}

#[test]
fn a_frame_that_no_datagram_holds_is_counted_as_dropped() {
    // The socket only keeps the port; nobody has to read.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let writer = writer(&format!("target:udp:{}", socket.local_addr().unwrap()), &Security::default());
    writer.wait_for_reader();
    let long = Measurement { number: 0, time: sample(0).time, values: vec![0.5; 10_000] };
    writer.send(Message::Measurement(long));
    writer.send(Message::Sample(sample(1)));
    let counted = wait_until("both are worked on", PATIENCE, || {
        let counted = writer.running.status().remove(writer.at.0).counted;
        (counted.n_dropped + counted.n_frames == 2).then_some(counted)
    });
    assert_eq!((counted.n_dropped, counted.n_frames), (1, 1));
    let reason = counted.last_error.unwrap();
    assert!(reason.starts_with("a frame of 8") && reason.ends_with("there is room for 65507"), "{reason}");
}

#[track_caller]
fn check_refused_bytes(bytes: &[u8], reason: &str) {
    let reader = collector("accept:tcp:0", &Security::default());
    let address = reader.running.address(reader.at).unwrap().strip_prefix("tcp:").unwrap().to_owned();
    let mut hostile = TcpStream::connect(&address).unwrap();
    hostile.write_all(bytes).unwrap();
    let error = wait_until("it is told", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    assert!(error.contains(reason), "{error}");
    // It was let go, and others are still served.
    assert!(matches!(hostile.read(&mut [0]), Ok(0) | Err(_)));
    TcpStream::connect(&address).unwrap().write_all(&frames(7..8)).unwrap();
    assert_eq!(reader.samples(1), [sample(7)]);
}

#[test]
fn bytes_that_are_no_frames_cost_their_sender_the_connection() {
    check_refused_bytes(b"GET / HTTP/1.1\r\n\r\n", "a frame must begin with `FT`");
    check_refused_bytes(b"FT\x02\x03\0\0\0\0\0\0\0\0", "a frame of version 2");
    check_refused_bytes(b"FT\x01\x03\xff\xff\xff\xff\0\0\0\0", "a payload of 4294967295 bytes is announced");
    let mut damaged = frames(0..1);
    damaged[20] ^= 1;
    check_refused_bytes(&damaged, "it was damaged in transit");
}

#[test]
fn a_damaged_file_gives_what_is_whole_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "damaged");
    let mut bytes = frames(0..5);
    bytes[36 * 2 + 20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let reader = collector(&format!("source:file:{file}"), &Security::default());
    assert_eq!(reader.samples(4), [sample(0), sample(1), sample(3), sample(4)]);
    assert_eq!(reader.running.status()[0].counted.n_bad, 1);
}

#[test]
fn half_a_frame_at_the_end_of_a_file_is_cut_off_before_more_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "torn");
    let bytes = frames(0..2);
    fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    let writer = writer(&format!("target:file:{file}"), &Security::default());
    writer.send(Message::Sample(sample(9)));
    writer.wait_for_written(1);
    writer.running.stop();
    let reader = collector(&format!("source:file:{file}"), &Security::default());
    assert_eq!(reader.samples(2), [sample(0), sample(9)]);
}

#[test]
fn a_file_of_something_else_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "letter");
    fs::write(&file, "Dear reader").unwrap();
    let writer = writer(&format!("target:file:{file}"), &Security::default());
    let error =
        wait_until("it is refused", PATIENCE, || writer.running.status()[writer.at.0].counted.last_error.clone());
    assert!(error.contains(&file) && error.contains("a frame must begin with `FT`"), "{error}");
    writer.running.stop();
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear reader");
}

#[test]
fn a_place_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("connect:tcp:127.0.0.1:{}", taken.local_addr().unwrap().port());
    let mut mirror = Mirror::new("second", PassOn);
    mirror.add(endpoint(&text));
    let error = mirror.start().map(|_| ()).unwrap_err();
    assert!(matches!(&error, OpenError::Io { endpoint, .. } if *endpoint == text), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let letter = path(folder.path(), "letter");
    fs::write(&letter, "Dear reader").unwrap();
    let mut mirror = Mirror::new("second", PassOn);
    mirror.add(endpoint(&format!("connect:unix:{letter}")));
    assert!(matches!(mirror.start().map(|_| ()), Err(OpenError::Occupied { .. })));
    assert_eq!(fs::read_to_string(&letter).unwrap(), "Dear reader");
}

#[test]
fn a_component_that_starts_later_than_its_readers_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let socket = path(folder.path(), "late");
    let reader = collector(&format!("source:unix:{socket}"), &Security::default());
    wait_until("the reader has tried", PATIENCE, || reader.running.status()[0].counted.last_error.clone());
    let writer = writer(&format!("connect:unix:{socket}"), &Security::default());
    writer.wait_for_reader();
    writer.send(Message::Description(description()));
    assert_eq!(reader.next(), Message::Description(description()));
}

#[test]
fn what_was_sent_before_the_end_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "end");
    fs::write(&file, frames(0..5000)).unwrap();
    let copy = path(folder.path(), "copy");
    let mut mirror = Mirror::new("copy", PassOn).ending_with_inputs();
    mirror.add(endpoint(&format!("source:file:{file}")));
    mirror.add(endpoint(&format!("target:file:{copy}")));
    mirror.start().unwrap().join();
    assert!(fs::read(&file).unwrap() == fs::read(&copy).unwrap(), "a copy has the same bytes");
}

/// Fails at the message of number 1, as a handler with a fault does.
struct Faulty;

impl Handler for Faulty {
    fn message(&mut self, _: InputId, message: Message, _: &mut Outputs) {
        assert_ne!(message.number(), Some(1), "the fault of this test");
    }
}

#[test]
fn a_task_that_panics_ends_its_mirror() {
    for input in ["inlet", "accept:tcp:0"] {
        let mut mirror = Mirror::new("faulty", Faulty);
        let (_, inlet) = mirror.inlet(1);
        let at = mirror.add(endpoint("accept:tcp:0"));
        let running = mirror.start().unwrap();
        let address = running.address(at).unwrap().replace("tcp:", "");
        match input {
            "inlet" => inlet.send(Message::Sample(sample(1))).unwrap(),
            _ => TcpStream::connect(address).unwrap().write_all(&frames(1..2)).unwrap(),
        }
        assert_eq!(running.outcome().err(), Some(Panicked), "{input}");
    }
}
