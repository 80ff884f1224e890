//! What becomes of samples when the server refuses, fails, hangs, or is not there.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use http_client::Login;
use remote_write::{Chunk, Place, Settings, Writer};
use testkit::{PATIENCE, wait_until};
use units::Timestamp;
use watch::Watch;

use crate::server::{Answer, Server, TAKES};

/// Batches of all that is there, at once.
fn settings(url: &str) -> Settings {
    Settings { batch_every: Duration::from_millis(1), ..Settings::new(url).unwrap() }
}

/// A chunk with one sample for each value.
fn chunk(values: &[f64]) -> Chunk {
    let mut chunk = Chunk::default();
    for value in values {
        chunk.push("a", [("b", "c")], Timestamp::from_nanos(1_800_000_000_000_000_000), *value);
    }
    chunk
}

fn put(writer: &Writer, values: &[f64]) {
    writer.put(&chunk(values)).unwrap();
}

#[track_caller]
fn wait_for_empty(writer: &Writer) {
    wait_until("nothing is pending", PATIENCE, || (writer.status().n_pending == 0).then_some(()));
}

#[test]
fn a_request_has_the_headers_of_the_protocol_and_those_that_are_wanted() {
    let server = Server::start(&[], |_| TAKES);
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "open-sesame\n").unwrap();
    let wanted = Settings {
        headers: BTreeMap::from([("X-Scope-OrgID".to_owned(), "team".to_owned())]),
        login: Login::Bearer { token_file: token.path().to_owned() },
        ..settings(&server.url)
    };
    let writer = Writer::start(&wanted, &Place::Memory, &Watch::default()).unwrap();
    put(&writer, &[1.0, 2.0]);
    wait_for_empty(&writer);
    let head = &server.seen().heads[0];
    for line in [
        "post /api/v1/write http/1.1",
        "content-encoding: snappy",
        "content-type: application/x-protobuf",
        "x-prometheus-remote-write-version: 0.1.0",
        "x-scope-orgid: team",
        "authorization: bearer open-sesame",
    ] {
        assert!(head.lines().any(|one| one == line), "no {line} in {head}");
    }
    assert!(head.contains("user-agent: foretop/"), "{head}");
}

#[test]
fn a_server_that_fails_hangs_or_closes_gets_everything_once_it_is_well() {
    let fails = Answer::Says(503, "", "no room");
    let server = Server::start(&[fails, Answer::Closes, Answer::Stalls], |_| TAKES);
    let writer = Writer::start(
        &Settings { timeout: Duration::from_millis(300), ..settings(&server.url) },
        &Place::Memory,
        &Watch::default(),
    )
    .unwrap();
    put(&writer, &[1.0]);
    let problem = wait_until("there is a problem", PATIENCE, || writer.status().problem);
    assert!(problem.contains(&server.url) && problem.contains("503") && problem.contains("no room"), "{problem}");
    put(&writer, &[2.0, 3.0]);
    wait_for_empty(&writer);
    let status = writer.status();
    assert_eq!(server.seen().taken, [1.0, 2.0, 3.0]);
    assert_eq!((status.n_sent, status.n_retries, status.problem), (3, 3, None));
    assert_eq!(status.dropped, Default::default());
}

#[test]
fn a_yes_without_an_end_is_a_yes() {
    let server = Server::start(&[Answer::Babbles], |_| TAKES);
    let writer = Writer::start(&settings(&server.url), &Place::Memory, &Watch::default()).unwrap();
    put(&writer, &[1.0]);
    wait_for_empty(&writer);
    put(&writer, &[2.0]);
    wait_for_empty(&writer);
    assert_eq!(server.seen().taken, [1.0, 2.0]);
}

#[test]
fn a_server_that_asks_for_time_gets_it() {
    let server = Server::start(&[Answer::Says(429, "Retry-After: 2\r\n", "")], |_| TAKES);
    let begun = clock::instant();
    let writer = Writer::start(&settings(&server.url), &Place::Memory, &Watch::default()).unwrap();
    put(&writer, &[1.0]);
    wait_for_empty(&writer);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(server.seen().taken, [1.0]);
}

#[test]
fn of_a_batch_with_a_chunk_that_is_refused_all_others_arrive() {
    let server = Server::start(&[Answer::Says(500, "", "")], |values| match values.contains(&13.0) {
        true => Answer::Says(400, "", "out of order sample\n"),
        false => TAKES,
    });
    let writer = Writer::start(&settings(&server.url), &Place::Memory, &Watch::default()).unwrap();
    // Those that wait while the server is away become one batch.
    put(&writer, &[0.0]);
    wait_until("the server has failed", PATIENCE, || writer.status().problem);
    (1..=20).for_each(|value| put(&writer, &[f64::from(value), 100.0 + f64::from(value)]));
    wait_for_empty(&writer);
    put(&writer, &[21.0]);
    wait_for_empty(&writer);
    let taken = server.seen().taken;
    let firsts: Vec<f64> = taken.iter().copied().filter(|value| *value < 100.0).collect();
    let expected: Vec<f64> = (0..=21).filter(|value| *value != 13).map(f64::from).collect();
    assert_eq!(firsts, expected);
    let status = writer.status();
    assert_eq!(status.dropped.refused, BTreeMap::from([(400, 2)]));
    assert_eq!((status.n_sent, status.problem), (40, None));
}

#[test]
fn a_server_that_wants_none_of_it_is_not_asked_twice() {
    let server = Server::start(&[Answer::Says(404, "", "404 page not found")], |_| TAKES);
    let writer = Writer::start(&settings(&server.url), &Place::Memory, &Watch::default()).unwrap();
    put(&writer, &[1.0, 2.0]);
    wait_for_empty(&writer);
    let status = writer.status();
    assert_eq!(status.dropped.refused, BTreeMap::from([(404, 2)]));
    let problem = status.problem.unwrap();
    assert!(problem.contains("refuses 2 samples with status 404, and says: 404 page not found"), "{problem}");
    put(&writer, &[3.0]);
    wait_for_empty(&writer);
    assert_eq!(server.seen().values, [vec![1.0, 2.0], vec![3.0]]);
}

#[test]
fn without_a_server_the_buffer_keeps_the_newest_it_has_room_for_and_another_run_sends_them() {
    let nobody = format!("http://{}/", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let place = Place::File(folder.path().join("buffer.db"));
    let small = Settings { buffer_bytes: 64 << 10, ..settings(&nobody) };
    let writer = Writer::start(&small, &place, &Watch::default()).unwrap();
    // No first try is under way any more that could keep the first chunk in the buffer: it waits for its turn.
    put(&writer, &[0.0]);
    wait_until("nobody is there", PATIENCE, || writer.status().problem);
    let n = 3_000;
    (1..n).for_each(|value| put(&writer, &[f64::from(value)]));
    let status = writer.status();
    assert!(status.pending_bytes <= small.buffer_bytes && status.n_pending > 100, "{status:?}");
    assert_eq!(status.n_pending + status.dropped.n_overflowed, n as u64);
    drop(writer);

    let server = Server::start(&[], |_| TAKES);
    let writer = Writer::start(&settings(&server.url), &place, &Watch::default()).unwrap();
    wait_for_empty(&writer);
    let taken = server.seen().taken;
    assert_eq!(writer.status().n_sent, taken.len() as u64);
    assert!(taken.is_sorted() && taken.last() == Some(&f64::from(n - 1)), "{taken:?}");
    // What is being tried when the buffer runs full is kept, up to half of it, beside the newest.
    let newest = taken.iter().rev().zip((0..n).rev()).take_while(|(value, expected)| **value == f64::from(*expected));
    assert!(newest.count() * 5 >= taken.len() * 2, "{taken:?}");
}
