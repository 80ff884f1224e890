//! Sources of media: a file, standard input, or a server. Each brings bytes from a thread of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use http_client::{Address, Trust, media_agent};
use program::Failure;
use ureq::Agent;

use crate::capture::{Capture, Medium, Next};

/// Nothing for so long, and the connection is made anew.
const SILENCE: Duration = Duration::from_secs(10);

/// Connections that brought nothing, one after the other, until a source gives up.
const N_TRIES: u32 = 5;

/// Waits before the next try, longer each time.
const WAIT: Duration = Duration::from_millis(500);

/// Bytes brought at a time, so that arrival is seen as it comes.
const BLOCK: usize = 4_096;

/// A place that media come from.
pub enum Source {
    /// A file on this host.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// A server, by HTTP.
    Server(Address),
}

impl Source {
    /// `-` is standard input, what begins with `http://` or `https://` a server, anything else a file.
    pub fn of(text: &str) -> Result<Self, Failure> {
        match text {
            "-" => Ok(Self::Stdin),
            text if text.contains("://") => {
                // What a medium is asked for has a path, which may have anything.
                text.parse().map(Self::Server).map_err(Failure::usage)
            }
            text => Ok(Self::File(text.into())),
        }
    }

    /// Returns the part that a slow arrival is blamed on.
    pub fn blamed(&self) -> &'static str {
        match self {
            Self::File(_) => "disk",
            Self::Stdin => "sender",
            Self::Server(_) => "network",
        }
    }

    /// Opens it, and brings what it has from a thread of its own.
    pub fn start(self, capture: Capture) -> Result<(), Failure> {
        let thread: Box<dyn FnOnce() + Send> = match self {
            Self::File(path) => {
                let cannot = |error| Failure::work(format!("cannot read `{}`: {error}", path.display()));
                let file = File::open(&path).map_err(cannot)?;
                let facts = file.metadata().map_err(cannot)?;
                let length = facts.is_file().then_some(facts.len());
                capture.opened(Medium { length, is_seekable: facts.is_file() });
                Box::new(move || from_file(file, &capture))
            }
            Self::Stdin => {
                capture.opened(Medium::default());
                Box::new(move || from_stdin(&capture))
            }
            Self::Server(address) => Box::new(move || from_server(&address, &capture, SILENCE, WAIT)),
        };
        std::thread::Builder::new()
            .name("source".to_owned())
            .spawn(thread)
            .map(drop)
            .map_err(|error| Failure::work(format!("cannot start a thread: {error}")))
    }
}

fn from_file(mut file: File, capture: &Capture) {
    let mut block = [0; BLOCK];
    loop {
        let next = match file.read(&mut block) {
            Ok(0) => capture.end(None),
            Ok(n) => capture.bring(&block[..n]),
            Err(error) => capture.end(Some(error.to_string())),
        };
        match next {
            Next::More => {}
            Next::From(place) => {
                if let Err(error) = file.seek(SeekFrom::Start(place)) {
                    capture.end(Some(error.to_string()));
                    return;
                }
            }
            Next::Nothing => return,
        }
    }
}

fn from_stdin(capture: &Capture) {
    let mut block = [0; BLOCK];
    let mut stdin = io::stdin().lock();
    loop {
        let next = match stdin.read(&mut block) {
            Ok(0) => capture.end(None),
            Ok(n) => capture.bring(&block[..n]),
            Err(error) => capture.end(Some(error.to_string())),
        };
        if next == Next::Nothing {
            return;
        }
    }
}

/// Goes on where a connection broke off, if the server can; a medium without a length goes on where its sender is.
fn from_server(address: &Address, capture: &Capture, silence: Duration, wait: Duration) {
    let agent = media_agent(silence, &Trust::System);
    let mut at = 0_u64;
    let mut n_tries = 0;
    let mut why = String::new();
    loop {
        let next = if n_tries == N_TRIES {
            n_tries = 0;
            capture.end(Some(format!("{address}: {why}")))
        } else {
            match connect(&agent, address, at) {
                Ok((medium, mut body)) => {
                    capture.opened(medium);
                    relay(&mut *body, medium, &mut at, &mut n_tries, &mut why, capture)
                }
                Err(Refusal::ForGood(told)) => capture.end(Some(format!("{address}: {told}"))),
                Err(Refusal::ForNow(told)) => {
                    why = told;
                    n_tries += 1;
                    clock::sleep(wait * n_tries);
                    capture.bring(&[])
                }
            }
        };
        match next {
            Next::More => {}
            Next::From(place) => at = place,
            Next::Nothing => return,
        }
    }
}

/// Brings a body to its end, or to where it breaks off.
fn relay(
    body: &mut dyn Read,
    medium: Medium,
    at: &mut u64,
    n_tries: &mut u32,
    why: &mut String,
    capture: &Capture,
) -> Next {
    let mut block = [0; BLOCK];
    loop {
        match body.read(&mut block) {
            Ok(0) if medium.length.is_none_or(|length| *at >= length) => return capture.end(None),
            Ok(0) => {
                "the server ended before the length that it gave".clone_into(why);
                *n_tries += 1;
                return capture.bring(&[]);
            }
            Ok(n) => {
                *at += n as u64;
                *n_tries = 0;
                let next = capture.bring(&block[..n]);
                if next != Next::More {
                    return next;
                }
            }
            Err(error) => {
                *why = error.to_string();
                *n_tries += 1;
                return capture.bring(&[]);
            }
        }
    }
}

/// The reason why there is no body.
enum Refusal {
    /// Another try may help.
    ForNow(String),
    /// None will.
    ForGood(String),
}

/// A body from a place on. A server that ignores ranges is read up to there, as far as that is worth it.
fn connect(agent: &Agent, address: &Address, at: u64) -> Result<(Medium, Box<dyn Read>), Refusal> {
    let request = agent.get(address.uri()).header("range", format!("bytes={at}-"));
    let answer = request.call().map_err(|error| match error {
        ureq::Error::TooManyRedirects => Refusal::ForGood(error.to_string()),
        error => Refusal::ForNow(error.to_string()),
    })?;
    let status = answer.status().as_u16();
    let number = |name: &str| answer.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
    let left = number("content-length");
    let medium = match status {
        206 => Medium { length: left.map(|left| left + at), is_seekable: left.is_some() },
        200 => Medium { length: left, is_seekable: false },
        // A place at or after the end.
        416 => return Ok((Medium { length: Some(at), is_seekable: true }, Box::new(io::empty()))),
        500..=599 | 408 | 429 => return Err(Refusal::ForNow(format!("the server answers with status {status}"))),
        status => {
            return Err(Refusal::ForGood(format!(
                "the server answers with status {status}, and media come with 200 or 206"
            )));
        }
    };
    let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    if status == 200 && at > 0 && left.is_some() {
        let n =
            io::copy(&mut (&mut body).take(at), &mut io::sink()).map_err(|error| Refusal::ForNow(error.to_string()))?;
        if n < at {
            return Err(Refusal::ForGood(format!("the medium has {n} bytes, and was to go on from {at}")));
        }
    }
    Ok((medium, Box::new(body)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    /// A server that says its head and then `bytes`, one after the other, and keeps the connection.
    fn serve(bytes: &'static [u8], pause: Duration) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/x", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4_096]);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
                for byte in bytes {
                    let _ = stream.write_all(&[*byte]).and_then(|()| stream.flush());
                    clock::sleep(pause);
                }
                kept.push(stream);
            }
        });
        address.parse().unwrap()
    }

    #[test]
    fn a_server_that_stops_for_ever_is_given_up_after_some_tries() {
        let (address, capture) = (serve(b"", Duration::ZERO), Capture::new(1_000));
        let source = capture.clone();
        let thread = std::thread::spawn(move || {
            from_server(&address, &source, Duration::from_millis(20), Duration::from_millis(1));
        });
        while !capture.level().has_ended {
            capture.rest(Duration::from_millis(10));
        }
        let failure = capture.level().failure.unwrap();
        assert!(failure.contains("timeout"), "{failure}");
        capture.close();
        thread.join().unwrap();
    }

    #[test]
    fn a_server_that_sends_a_byte_at_a_time_is_not_given_up() {
        let (address, capture) = (serve(b"slowly", Duration::from_millis(2)), Capture::new(1_000));
        let source = capture.clone();
        std::thread::spawn(move || {
            from_server(&address, &source, Duration::from_secs(60), Duration::from_millis(1));
        });
        while capture.level().n_received < 6 {
            capture.rest(Duration::from_millis(10));
        }
        assert!(!capture.level().has_ended);
        capture.close();
    }
}
