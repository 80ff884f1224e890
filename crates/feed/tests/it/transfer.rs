//! Transfers between real sockets of this machine, and what happens when one side misbehaves.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Barrier, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use feed::transfer::{
    Directions, Responder, ResponderCounts, ResponderSettings, TransferSettings, TransferSettingsError, TransferSource,
};
use secret::Token;
use signal::{Readings, Source};
use testkit::{PATIENCE, wait_until};
use watch::Watch;

const TOKEN: &str = "a token that both sides have";

/// Of a greeting and of a request.
const GREETING_BYTES: usize = 37;
const REQUEST_BYTES: usize = 45;

fn token() -> Token {
    Token::new(TOKEN).unwrap()
}

fn responder_settings() -> ResponderSettings {
    let patient =
        ResponderSettings { handshake_max: PATIENCE, idle_max: PATIENCE, turn_wait: PATIENCE, ..open_settings() };
    ResponderSettings { span_max: PATIENCE, ..patient }
}

fn open_settings() -> ResponderSettings {
    ResponderSettings::new("127.0.0.1:0".parse().unwrap(), token())
}

fn settings(address: SocketAddr) -> TransferSettings {
    // However slow the machine is, all bytes arrive.
    let settings = TransferSettings::new("peer", address.to_string(), token());
    TransferSettings { span: Duration::from_secs(60), patience: PATIENCE, directions: Directions::Both, ..settings }
}

/// What one read of a source gave: values by id, and the error if there was one.
fn read(source: &mut TransferSource) -> (BTreeMap<String, f64>, Option<String>) {
    let n_errors = source.n_errors();
    let mut readings = Readings::default();
    source.read(Duration::ZERO, &mut readings);
    let values = readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect();
    let has_failed = source.n_errors() > n_errors;
    (values, source.last_error().filter(|_| has_failed))
}

/// The error of one transfer, which gives nothing.
#[track_caller]
fn check_refused(settings: TransferSettings, words: &[&str]) {
    let mut source = TransferSource::new(TransferSettings { directions: Directions::Send, ..settings }).unwrap();
    let (values, error) = read(&mut source);
    assert_eq!((values, source.n_errors()), (BTreeMap::new(), 1));
    let error = error.unwrap();
    assert!(words.iter().all(|word| error.contains(word)), "{words:?} in `{error}`");
    assert!(!error.contains(TOKEN), "{error}");
}

fn wait_for_counts(responder: &Responder, expected: ResponderCounts) {
    let what = format!("{expected:?}, at last {:?}", responder.counts());
    wait_until(&what, PATIENCE, || (responder.counts() == expected).then_some(()));
}

#[test]
fn a_transfer_measures_both_ways_within_what_was_moved_in_the_time_it_took() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let settings = settings(responder.address());
    let n_bytes = settings.n_bytes as f64;
    let mut source = TransferSource::new(settings).unwrap();
    let start = clock::instant();
    let (values, error) = read(&mut source);
    let passed = start.elapsed().as_secs_f64();
    assert_eq!(error, None);

    // The whole took no longer than the read; half of the bytes, no longer than the whole.
    assert!(values["flow.peer.transfer"] >= n_bytes / passed, "{values:?} in {passed} s");
    assert!(values["flow.peer"] >= n_bytes / 2.0 / passed, "{values:?} in {passed} s");
    assert!(values["flow.peer.received"] >= n_bytes / 2.0 / passed, "{values:?} in {passed} s");
    let round_trip = values["flow.peer.round_trip"];
    assert!(round_trip > 0.0 && round_trip <= passed, "{values:?} in {passed} s");
    assert!((0.0..=1.0).contains(&values["flow.peer.retransmits"]), "{values:?}");
    assert!(values["flow.peer.delivery"] > 0.0, "{values:?}");
    wait_for_counts(&responder, ResponderCounts { n_served: 2, ..Default::default() });
}

#[test]
fn a_transfer_of_one_byte_is_one() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let mut source = TransferSource::new(TransferSettings { n_bytes: 1, ..settings(responder.address()) }).unwrap();
    let (values, error) = read(&mut source);
    assert_eq!(error, None);
    assert_eq!(values["flow.peer"], values["flow.peer.transfer"]);
}

#[test]
fn a_transfer_that_takes_too_long_is_measured_by_what_had_arrived() {
    let responder =
        Responder::start(ResponderSettings { n_bytes_max: 1 << 30, ..responder_settings() }, &Watch::default())
            .unwrap();
    // No machine moves 1 GiB through the loopback in this time.
    let settings =
        TransferSettings { n_bytes: 1 << 30, span: Duration::from_millis(20), ..settings(responder.address()) };
    let mut source = TransferSource::new(settings).unwrap();
    let (values, _) = wait_until("both directions have begun in time", PATIENCE, || {
        Some(read(&mut source)).filter(|(_, error)| error.is_none())
    });
    assert!(values["flow.peer"] > 0.0 && values["flow.peer.received"] > 0.0, "{values:?}");
}

#[test]
fn another_token_is_turned_away_without_a_word() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let other = Token::new("a token that one side has").unwrap();
    check_refused(TransferSettings { token: other, ..settings(responder.address()) }, &["another token"]);
    wait_for_counts(&responder, ResponderCounts { n_turned_away: 1, ..Default::default() });
}

#[test]
fn ten_terabytes_are_refused_with_the_limit() {
    let settings_max = TransferSettings { n_bytes: 10_000_000_000_000, ..settings("127.0.0.1:1".parse().unwrap()) };
    let refused = TransferSource::new(settings_max).unwrap_err();
    assert_eq!(refused, TransferSettingsError::Bytes { n_bytes: 10_000_000_000_000 });
    assert!(refused.to_string().contains("1073741824"), "{refused}");

    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let much = TransferSettings { n_bytes: 1 << 30, ..settings(responder.address()) };
    check_refused(much, &["lets through 16777216 bytes in one transfer", "1073741824 were requested"]);
    wait_for_counts(&responder, ResponderCounts { n_refused: 1, ..Default::default() });
}

#[test]
fn a_long_transfer_is_refused_with_the_limit() {
    let limited = ResponderSettings { span_max: Duration::from_secs(5), ..responder_settings() };
    let responder = Responder::start(limited, &Watch::default()).unwrap();
    check_refused(settings(responder.address()), &["lets a transfer take 5s", "60s was requested"]);
}

#[test]
fn an_address_that_asks_too_often_is_refused_with_the_limit() {
    let limited = ResponderSettings { per_minute_max: 0, ..responder_settings() };
    let responder = Responder::start(limited, &Watch::default()).unwrap();
    check_refused(settings(responder.address()), &["0 times a minute"]);
}

#[test]
fn who_waits_in_vain_for_a_turn_is_told_that_others_were_served() {
    let busy = ResponderSettings { n_at_once_max: 0, turn_wait: Duration::from_millis(1), ..responder_settings() };
    let responder = Responder::start(busy, &Watch::default()).unwrap();
    check_refused(settings(responder.address()), &["busy"]);
}

#[test]
fn peers_that_measure_at_the_same_moment_take_turns() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let address = responder.address();
    let start = Arc::new(Barrier::new(3));
    let measure = |_| {
        let start = Arc::clone(&start);
        thread::spawn(move || {
            start.wait();
            read(&mut TransferSource::new(settings(address)).unwrap())
        })
    };
    let peers: Vec<_> = (0..3).map(measure).collect();
    for (values, error) in peers.into_iter().map(|peer| peer.join().unwrap()) {
        assert_eq!((values.len(), error), (6, None));
    }
}

#[test]
fn one_address_may_not_take_all_connections() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(responder.address()).unwrap()).collect();
    // The ninth from the same address is closed at once, while the eight have said nothing.
    check_refused(settings(responder.address()), &["did not greet", "no room"]);
    drop(silent);
    wait_for_counts(&responder, ResponderCounts { n_turned_away: 9, ..Default::default() });
    let (values, error) = read(&mut TransferSource::new(settings(responder.address())).unwrap());
    assert_eq!((values.len(), error), (6, None), "there is room again");
}

#[test]
fn garbage_ends_the_connection_after_the_length_of_a_greeting() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let mut stream = TcpStream::connect(responder.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[0x47; GREETING_BYTES]).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty(), "nothing is said to whoever does not greet: {answer:?}");
    wait_for_counts(&responder, ResponderCounts { n_turned_away: 1, ..Default::default() });
}

#[test]
fn who_drips_is_cut_off_when_the_time_for_asking_is_over() {
    let hasty = ResponderSettings { handshake_max: Duration::from_millis(50), ..responder_settings() };
    let responder = Responder::start(hasty, &Watch::default()).unwrap();
    let mut stream = TcpStream::connect(responder.address()).unwrap();
    // A byte at a time, which a limit on each read would let go on for ever.
    wait_until("the responder has closed", PATIENCE, || stream.write_all(b"F").err());
    wait_for_counts(&responder, ResponderCounts { n_turned_away: 1, ..Default::default() });
}

#[test]
fn a_recorded_handshake_is_of_no_use() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let proxy = Proxy::start(responder.address(), usize::MAX);
    let small = TransferSettings { n_bytes: 1, directions: Directions::Send, ..settings(proxy.address) };
    let (values, error) = read(&mut TransferSource::new(small).unwrap());
    assert_eq!((values.len(), error), (5, None));
    wait_for_counts(&responder, ResponderCounts { n_served: 1, ..Default::default() });

    let recorded = proxy.said();
    let mut stream = TcpStream::connect(responder.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&recorded[..GREETING_BYTES + REQUEST_BYTES]).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.len(), GREETING_BYTES, "a greeting, and no verdict");
    wait_for_counts(&responder, ResponderCounts { n_served: 1, n_turned_away: 1, ..Default::default() });
}

#[test]
fn who_answers_without_the_token_is_not_believed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let impostor = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut greeting = [0; GREETING_BYTES];
        stream.read_exact(&mut greeting).unwrap();
        // The asker's own greeting, and its own proof after the word that means go.
        stream.write_all(&greeting).unwrap();
        let mut request = [0; REQUEST_BYTES];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(&[&[0; 9], &request[13..]].concat()).unwrap();
    });
    check_refused(settings(address), &["did not answer like a responder", "proof of the token is wrong"]);
    impostor.join().unwrap();
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hasty = settings(listener.local_addr().unwrap());
    check_refused(TransferSettings { patience: Duration::from_millis(20), ..hasty }, &["did not greet", "timed out"]);
}

#[test]
fn a_peer_that_dies_in_the_middle_is_a_gap_and_comes_back() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    // Enough for the handshake, and not for the bytes.
    let proxy = Proxy::start(responder.address(), 100_000);
    let once = TransferSettings { directions: Directions::Send, ..settings(proxy.address) };
    let mut source = TransferSource::new(once).unwrap();
    let (values, error) = read(&mut source);
    assert_eq!(values, BTreeMap::new());
    assert!(error.as_deref().is_some_and(|error| error.contains("broke off")), "{error:?}");

    let (values, error) = read(&mut source);
    assert_eq!((values.len(), error, source.n_errors()), (5, None, 1));
}

#[test]
fn a_peer_that_is_gone_is_a_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    check_refused(settings(address), &["cannot connect", "refused"]);
    let nowhere = TransferSettings { address: "no port".to_owned(), ..settings(address) };
    check_refused(nowhere, &["cannot find the address of `no port`"]);
}

#[test]
fn a_responder_that_is_dropped_ends_at_once_whatever_runs() {
    let responder = Responder::start(responder_settings(), &Watch::default()).unwrap();
    let address = responder.address();
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(responder);
    // Closed or reset: the connection may not have been accepted yet.
    assert!(matches!(silent.read(&mut [0]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn settings_out_of_range_are_refused() {
    let base = || settings("127.0.0.1:1".parse().unwrap());
    for peer in ["", "web.received", "web.round_trip"] {
        let refused = TransferSource::new(TransferSettings { peer: peer.to_owned(), ..base() }).unwrap_err();
        assert_eq!(refused, TransferSettingsError::Peer { peer: peer.to_owned() });
    }
    let refused = TransferSource::new(TransferSettings { n_bytes: 0, ..base() }).unwrap_err();
    assert_eq!(refused, TransferSettingsError::Bytes { n_bytes: 0 });
    let refused = TransferSource::new(TransferSettings { span: Duration::MAX, ..base() }).unwrap_err();
    assert_eq!(refused, TransferSettingsError::Span { span: Duration::MAX });
    let refused = TransferSource::new(TransferSettings { patience: Duration::ZERO, ..base() }).unwrap_err();
    assert_eq!(refused, TransferSettingsError::Patience);
}

#[test]
fn a_token_is_long_and_never_printed() {
    let refused = Token::new("fifteen letters").unwrap_err();
    assert_eq!(refused.to_string(), "a token of 15 bytes can be guessed; it needs at least 16");
    let printed = format!("{:?} {:?}", settings("127.0.0.1:1".parse().unwrap()), responder_settings());
    assert!(!printed.contains(TOKEN), "{printed}");
}

/// Passes the bytes of connections on, writes down what the asker says, and cuts the first one off after so many bytes.
struct Proxy {
    address: SocketAddr,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    fn start(responder: SocketAddr, n_bytes_first: usize) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&said);
        thread::spawn(move || {
            for n_bytes_max in [n_bytes_first, usize::MAX] {
                let (near, _) = listener.accept().unwrap();
                pass_on(&near, &TcpStream::connect(responder).unwrap(), n_bytes_max, &record);
            }
        });
        Proxy { address, said }
    }

    fn said(&self) -> Vec<u8> {
        self.said.lock().unwrap().clone()
    }
}

/// Until one side closes, or `n_bytes_max` have gone from `near` to `far`.
fn pass_on(near: &TcpStream, far: &TcpStream, n_bytes_max: usize, record: &Mutex<Vec<u8>>) {
    let back: JoinHandle<io::Result<u64>> = {
        let (mut far, mut near) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut far, &mut near))
    };
    let (mut from, mut to, mut n_left) = (near, far, n_bytes_max);
    let mut bytes = [0; 4096];
    while n_left > 0 {
        let Ok(n_read @ 1..) = from.read(&mut bytes[..n_left.min(4096)]) else { break };
        record.lock().unwrap().extend_from_slice(&bytes[..n_read]);
        if to.write_all(&bytes[..n_read]).is_err() {
            break;
        }
        n_left -= n_read;
    }
    // Either may have closed before.
    let _ = near.shutdown(Shutdown::Both);
    let _ = far.shutdown(Shutdown::Both);
    let _ = back.join().unwrap();
}
