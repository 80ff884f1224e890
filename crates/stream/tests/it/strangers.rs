//! Visitors who say nothing, or say it wrong.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

use bytes::BytesMut;
use door::{Door, Limits};
use stream::{Ask, Caller, Counted, Endpoint, Greeting, Message, Mirror, Payload, Purpose, Role, Running, Security};
use testkit::{PATIENCE, wait_until};

use crate::world::{PassOn, collector, endpoint, path, sample, with_token, writer};

/// Many more than strangers have places, and than processes usually have descriptors.
const N_SILENT: usize = 1300;

/// How many of them stay connected: 36 more than strangers have places here, where several tests share the descriptors
/// of a process.
const N_HELD: usize = 100;

fn few_strangers() -> Door {
    Door::new(Limits { total: 4096, strangers: 64 })
}

fn server(text: &str, security: &Security) -> (Running<PassOn>, Endpoint) {
    let mut mirror = Mirror::new("server", PassOn).with_security(security.clone());
    let at = mirror.add(endpoint(text));
    let running = mirror.start().unwrap();
    let place = endpoint(&format!("source:{}", running.address(at).unwrap()));
    (running, place)
}

/// Connects often, says nothing, and asks then as anybody would.
fn check_gets_in<Silent>(running: &Running<PassOn>, connect: impl Fn() -> Silent, get_in: impl FnOnce()) {
    let mut silent = VecDeque::new();
    for _ in 0..N_SILENT {
        silent.push_back(connect());
        if silent.len() > N_HELD {
            silent.pop_front();
        }
    }
    get_in();
    assert_eq!(running.status()[0].counted.n_connected, 1);
}

#[test]
fn however_many_say_nothing_one_who_asks_is_answered() {
    let security = Security { door: few_strangers(), ..Security::default() };
    let (running, place) = server("server:tcp:0", &security);
    let address = running.status()[0].address.clone().unwrap().replace("tcp:", "");
    let ask = || {
        let mut caller = Caller::open(&place, &security).unwrap();
        caller.call(Ask::Status {}, PATIENCE).unwrap();
        // It is a guest by now.
        let counts = security.door.counts();
        assert!(counts.n_guests == 1 && counts.n_turned_out >= 36, "{counts:?}");
        caller.call(Ask::Status {}, PATIENCE).unwrap();
        std::mem::forget(caller);
    };
    check_gets_in(&running, || TcpStream::connect(&address).unwrap(), ask);

    let folder = tempfile::tempdir().unwrap();
    let socket = path(folder.path(), "socket");
    let (running, place) = server(&format!("server:unix:{socket}"), &Security { door: few_strangers(), ..security });
    let ask = || {
        let mut caller = Caller::open(&place, &Security::default()).unwrap();
        caller.call(Ask::Status {}, PATIENCE).unwrap();
        std::mem::forget(caller);
    };
    check_gets_in(&running, || UnixStream::connect(Path::new(&socket)).unwrap(), ask);
}

#[test]
fn however_many_do_not_log_in_one_who_does_reads() {
    let security = Security { door: few_strangers(), ..with_token("a-secret-of-some-length") };
    let writer = writer("connect:tcp:0", &security);
    let address = writer.address().replace("tcp:", "");
    let silent: Vec<_> = (0..N_SILENT)
        .filter_map(|at| Some(TcpStream::connect(&address).unwrap()).filter(|_| at + N_HELD >= N_SILENT))
        .collect();
    let reader = collector(&format!("source:tcp:{address}"), &security);
    writer.wait_for_reader();
    writer.send(Message::Sample(sample(1)));
    assert_eq!(reader.samples(1), [sample(1)]);
    assert!(security.door.counts().n_turned_out >= 36);
    drop(silent);
}

#[test]
fn a_writer_is_a_guest_from_its_first_frame_on() {
    let security = Security::default();
    let reader = collector("accept:tcp:0", &security);
    let address = reader.running.address(reader.at).unwrap().to_owned();
    let writer = writer(&format!("target:{address}"), &Security::default());
    wait_until("it is there", PATIENCE, || (security.door.counts().n_strangers == 1).then_some(()));
    writer.send(Message::Sample(sample(1)));
    assert_eq!(reader.samples(1), [sample(1)]);
    assert_eq!((security.door.counts().n_guests, security.door.counts().n_strangers), (1, 0));
}

/// Says this to a listener that wants a token, and gives what came back and what the listener counts then.
fn said(bytes: &[u8]) -> (Vec<u8>, Counted) {
    let security = with_token("a-secret-of-some-length");
    let writer = writer("connect:tcp:0", &security);
    let mut hostile = TcpStream::connect(writer.address().replace("tcp:", "")).unwrap();
    hostile.write_all(bytes).unwrap();
    let counted = wait_until("it is told", PATIENCE, || {
        Some(writer.running.status().swap_remove(writer.at.0).counted).filter(|counted| counted.n_failed_logins > 0)
    });
    let mut rest = Vec::new();
    // Whether it was told by an end or a reset is the system's matter.
    let _ = hostile.read_to_end(&mut rest);
    (rest, counted)
}

#[test]
fn failed_logins_are_counted_and_told_with_the_address() {
    let mut greeting = BytesMut::new();
    Greeting::Hello { purpose: Purpose::Writer, nonce: [7; 32] }.encode(&mut greeting).unwrap();
    let (rest, counted) = said(&greeting);
    assert!(rest.is_empty() && counted.n_failed_logins == 1, "{counted:?}");
    let mut clear = BytesMut::new();
    stream::encode(stream::Kind::Greeting, &mut clear, |out| {
        out.extend_from_slice(br#"{"role": "reader", "token": "a-secret-of-some-length"}"#);
        Ok(())
    })
    .unwrap();
    let (rest, counted) = said(&clear);
    let error = counted.last_error.unwrap();
    assert!(error.starts_with("127.0.0.1:") && error.contains("older version"), "{error}");
    assert!(rest.is_empty() && !error.contains("secret"), "{error}");
    // A frame that is longer than any greeting is not waited for.
    let (_, counted) = said(b"FT\x01\x07\x00\x00\x10\x00\0\0\0\0");
    assert!(counted.last_error.unwrap().contains("1024 is the limit"));
}

#[test]
fn a_listener_without_the_token_is_shown_nothing_and_given_nothing() {
    let with_token = with_token("a-secret-of-some-length");
    let (_running, place) = server("server:tcp:0", &Security::default());
    let error = Caller::open(&place, &with_token).err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the listener does not prove that it has the token: both sides need the same one, or neither");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("target:tcp:{}", listener.local_addr().unwrap());
    let writer = writer(&target, &with_token);
    writer.send(Message::Sample(sample(1)));
    let mut first = [0; 46];
    listener.accept().unwrap().0.read_exact(&mut first).unwrap();
    assert_eq!((first[3], &first[12..14]), (7, &[1, 2][..]), "a hello of a writer, and its nonce");
    assert_eq!(endpoint(&target).role, Role::Target);
}
