//! Media from servers, good and bad ones.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use tempfile::tempdir;

use crate::medium::tone;
use crate::{fails, foretop_play, succeeds};

/// What a server does with a request for bytes from a place on; the number of the request comes with it.
type Answer = fn(&mut TcpStream, &[u8], usize, usize);

/// A server of one medium on a free port; its address.
fn serve(medium: Vec<u8>, answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/tone.wav", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut from = 0;
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(line)) = lines.next()
                && !line.is_empty()
            {
                if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
                    from = range.trim_end_matches('-').parse().unwrap();
                }
            }
            answer(&mut stream, &medium, from, number);
        }
    });
    address
}

fn head(stream: &mut TcpStream, status: &str, length: usize) {
    // A client that went away is none of a server's business.
    let _ = write!(stream, "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
}

fn whole(seconds: f64) -> Vec<u8> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    tone(&path, seconds);
    std::fs::read(path).unwrap()
}

fn play(address: &str) -> std::process::Output {
    foretop_play(tempdir().unwrap().path(), &[address, "--virtual", "--null"])
}

#[test]
fn a_connection_that_breaks_off_is_taken_up_where_it_was() {
    let address = serve(whole(10.0), |stream, medium, from, number| {
        let rest = &medium[from..];
        head(stream, "206 Partial Content", rest.len());
        // The first three break off after 80 kB.
        let _ = stream.write_all(if number < 3 { &rest[..rest.len().min(80_000)] } else { rest });
    });
    let said = succeeds(&play(&address));
    assert!(said.starts_with("10.0 s of the medium"), "{said}");
}

#[test]
fn a_server_that_ignores_ranges_is_read_up_to_the_place() {
    let address = serve(whole(10.0), |stream, medium, _, number| {
        head(stream, "200 OK", medium.len());
        let _ = stream.write_all(if number == 0 { &medium[..90_000] } else { medium });
    });
    let said = succeeds(&play(&address));
    assert!(said.starts_with("10.0 s of the medium"), "{said}");
}

#[test]
fn a_server_that_gives_up_is_told_after_what_came_was_played() {
    let address = serve(whole(10.0), |stream, medium, from, number| match number {
        0 => {
            head(stream, "206 Partial Content", medium.len() - from);
            let _ = stream.write_all(&medium[from..from + 90_000]);
        }
        _ => head(stream, "410 Gone", 0),
    });
    fails(&play(&address), 1, "status 410");
}

#[test]
fn answers_without_a_medium_are_told() {
    let missing = serve(Vec::new(), |stream, _, _, _| head(stream, "404 Not Found", 0));
    fails(&play(&missing), 1, "status 404");
    let circle = serve(Vec::new(), |stream, _, _, _| {
        let _ =
            write!(stream, "HTTP/1.1 302 Found\r\nlocation: /again\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    });
    fails(&play(&circle), 1, "redirect");
    fails(&play("http://user:secret@127.0.0.1/tone.wav"), 2, "is no address of a server");
}

#[test]
fn lengths_that_lie_and_ends_that_come_early_are_lived_with() {
    // Promises twice what there is, and has nothing from there on.
    let longer = serve(whole(10.0), |stream, medium, from, number| {
        head(stream, "206 Partial Content", if number == 0 { 2 * medium.len() } else { 0 });
        let _ = stream.write_all(&medium[from.min(medium.len())..]);
    });
    let said = succeeds(&play(&longer));
    assert!(said.starts_with("10.0 s of the medium"), "{said}");
    // Half of it is all that was promised.
    let shorter = serve(whole(10.0), |stream, medium, _, _| {
        head(stream, "200 OK", medium.len() / 2);
        let _ = stream.write_all(medium);
    });
    let said = succeeds(&play(&shorter));
    assert!(said.starts_with("5.00 s of the medium"), "{said}");
}

#[test]
fn a_stream_without_an_end_is_played_until_its_sender_goes() {
    let endless = serve(whole(10.0), |stream, medium, _, _| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
        for chunk in medium.chunks(4_000) {
            let _ = write!(stream, "{:x}\r\n", chunk.len());
            let _ = stream.write_all(chunk);
            let _ = write!(stream, "\r\n");
        }
        let _ = write!(stream, "0\r\n\r\n");
    });
    let said = succeeds(&play(&endless));
    assert!(said.starts_with("10.0 s of the medium"), "{said}");
}
