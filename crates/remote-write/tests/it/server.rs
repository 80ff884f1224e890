//! A server in this process that answers as the test says, and remembers what it took.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use testkit::remote_write::WriteRequest;

/// What the server does with one request.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// Answers with this status, these headers and this text.
    Says(u16, &'static str, &'static str),
    /// Closes without a word.
    Closes,
    /// Says nothing until the other side closes.
    Stalls,
    /// Says yes, and then never ends.
    Babbles,
}

pub const TAKES: Answer = Answer::Says(204, "", "");

/// What came to the server.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The head of each whole request, in small letters.
    pub heads: Vec<String>,
    /// The values of each whole request.
    pub values: Vec<Vec<f64>>,
    /// The values of those that it said yes to.
    pub taken: Vec<f64>,
}

/// A server that first gives these answers, and then what the values in a request are worth to it.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    pub fn start(first: &[Answer], then: impl Fn(&[f64]) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/v1/write", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (shared, mut first) = (Arc::clone(&seen), first.iter().copied().collect::<VecDeque<_>>());
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                // One connection for each request, so that the answers go in order.
                let answer = first.pop_front();
                serve(&mut stream, |values| answer.unwrap_or_else(|| then(values)), &shared);
            }
        });
        Server { url, seen }
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

/// The other side may have seen enough and closed.
fn serve(stream: &mut TcpStream, answer: impl FnOnce(&[f64]) -> Answer, seen: &Mutex<Seen>) -> Option<()> {
    let head = read_head(stream)?;
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let request = WriteRequest::read(&snap::raw::Decoder::new().decompress_vec(&body).unwrap()).unwrap();
    let samples = request.timeseries.iter().flat_map(|series| &series.samples);
    let values: Vec<f64> = samples.map(|sample| sample.value).collect();
    let answer = answer(&values);
    {
        let mut seen = seen.lock().unwrap();
        seen.heads.push(head);
        if matches!(answer, Answer::Says(200..300, ..) | Answer::Babbles) {
            seen.taken.extend(&values);
        }
        seen.values.push(values);
    }
    match answer {
        Answer::Says(status, headers, text) => {
            let length = text.len();
            write!(
                stream,
                "HTTP/1.1 {status} So\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{text}"
            )
            .ok()
        }
        Answer::Closes => None,
        Answer::Stalls => stream.read(&mut [0]).ok().map(drop),
        Answer::Babbles => {
            stream.write_all(b"HTTP/1.1 200 So\r\nTransfer-Encoding: chunked\r\n\r\n").ok()?;
            while stream.write_all(b"4\r\nblah\r\n").is_ok() {}
            None
        }
    }
}

/// Everything up to the empty line, in small letters.
fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    Some(String::from_utf8(bytes).unwrap().to_ascii_lowercase())
}
