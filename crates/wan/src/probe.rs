//! What a real link is like: messages to another host that answers, timed.
//!
//! A message is its length in four bytes, highest first, and that many bytes; the answer is four bytes, or, where the highest bit of the length is set, as
//! many bytes as the message had beside its length. `docs/formats/wan.md` has it in bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use door::{Door, Limits, Pass};
use socket2::SockRef;
use units::Bandwidth;

/// The bit of a length that asks for as many bytes back.
const ECHO: u32 = 1 << 31;
/// The longest message.
const MESSAGE_BYTES_MAX: u32 = 16 << 20;
/// The most that is written at once.
const BLOCK_BYTES: usize = 16 << 10;
/// What an answer may take before the other side counts as gone.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Connections that are answered at the same time.
const N_CONNECTIONS: usize = 256;

/// What a probe sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// As the Network Weather Service: 4 bytes, then four times 16 KiB through a socket buffer of 32 KiB.
    Nws,
    /// As in a program that exchanges messages: 8 bytes, then two of 32 KiB, blocking.
    Application,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Of the short message and its answer.
    pub two_way: Duration,
    /// Of the long ones, without the two-way latency. `None` where they took no longer than that.
    pub bandwidth: Option<Bandwidth>,
}

/// A connection to a host that answers.
#[derive(Debug)]
pub struct Probe(TcpStream);

impl Probe {
    /// Connects, with Nagle's algorithm off, and exchanges one message that is not timed: the first one may pay for the connection.
    ///
    /// # Errors
    /// When nobody answers there.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, ANSWER_MAX)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        let mut probe = Self(stream);
        probe.message(0, 0)?;
        Ok(probe)
    }

    /// Measures once.
    ///
    /// # Errors
    /// When the other side is gone.
    pub fn sample(&mut self, collector: Collector) -> io::Result<Sample> {
        let (short_bytes, long_bytes, n_long) = match collector {
            Collector::Nws => {
                SockRef::from(&self.0).set_send_buffer_size(32 << 10)?;
                (0, 64 << 10, 1)
            }
            Collector::Application => (4, 32 << 10, 2),
        };
        let two_way = self.message(short_bytes, 0)?;
        let mut on_the_wire = Duration::ZERO;
        for _ in 0..n_long {
            on_the_wire += self.message(long_bytes, 0)?.saturating_sub(two_way);
        }
        let bits = f64::from(long_bytes * n_long * 8);
        let rate = (bits / on_the_wire.as_secs_f64()).min(1e18);
        Ok(Sample { two_way, bandwidth: Bandwidth::new(rate as u64).filter(|_| !on_the_wire.is_zero()) })
    }

    /// What a message of `size_bytes` and one back take together.
    ///
    /// # Errors
    /// When the other side is gone, or the message is longer than 16 MiB.
    pub fn ping_pong(&mut self, size_bytes: u32) -> io::Result<Duration> {
        self.message(size_bytes, ECHO)
    }

    fn message(&mut self, size_bytes: u32, echo: u32) -> io::Result<Duration> {
        if size_bytes > MESSAGE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let message = [&(size_bytes | echo).to_be_bytes()[..], &vec![0; size_bytes as usize]].concat();
        let mut answer = vec![0; if echo == 0 { 4 } else { size_bytes as usize }];
        let stopwatch = clock::Stopwatch::start();
        message.chunks(BLOCK_BYTES).try_for_each(|block| self.0.write_all(block))?;
        self.0.read_exact(&mut answer)?;
        Ok(stopwatch.elapsed())
    }
}

/// Answers probes until the process ends.
///
/// # Errors
/// When the listener breaks.
pub fn answer(listener: &TcpListener) -> io::Result<()> {
    let door = Door::new(Limits::of(N_CONNECTIONS));
    loop {
        let (stream, peer) = listener.accept()?;
        let stream = Arc::new(stream);
        let ended = Arc::clone(&stream);
        // Who has no place, or gives it to another, sees the connection end.
        let turn_out = move || drop(ended.shutdown(Shutdown::Both));
        let Ok(pass) = door.enter(Some(peer.ip()), turn_out) else { continue };
        std::thread::Builder::new().name("wan answer".to_owned()).spawn(move || answer_one(&stream, pass))?;
    }
}

/// Until the other side ends the connection, or says something that is no message.
fn answer_one(stream: &TcpStream, mut pass: Pass) {
    let mut block = vec![0; BLOCK_BYTES];
    let mut one = || -> io::Result<()> {
        let mut stream = stream;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        let size_bytes = length & !ECHO;
        if size_bytes > MESSAGE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut left = size_bytes as usize;
        while left > 0 {
            let n = stream.read(&mut block[..left.min(BLOCK_BYTES)])?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= n;
        }
        if length & ECHO == 0 {
            return stream.write_all(&length.to_be_bytes());
        }
        stream.write_all(&vec![0; size_bytes as usize])
    };
    let set_up = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(None));
    let mut is_welcome = set_up.is_ok();
    while is_welcome && one().is_ok() {
        is_welcome = pass.welcome();
    }
}
