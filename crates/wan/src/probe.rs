//! Measurement of a real link: messages to another host that answers, timed.
//!
//! A message is its length in four bytes, highest first, and that many bytes; the answer is four bytes, or, where
//! the highest bit of the length is set, as many bytes as the message had beside its length. Where the second
//! highest is set, sums of so many bytes follow, which both sides make. `docs/formats/wan.md` has it in bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use door::{Door, Limits, Pass};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;
use units::Bandwidth;

/// The bit of a length that asks for as many bytes back.
const ECHO: u32 = 1 << 31;
/// The bit of a length that asks for sums of vectors of that length; their number follows in four bytes.
const SUM: u32 = 1 << 30;
/// Value of each word of a vector before the first sum: of the side that asked, and of the side that is asked.
const OWN: [u64; 2] = [1, 2];
/// Bytes of a word of a vector, and of the longest vector.
const WORD_BYTES: u32 = 8;
const VECTOR_BYTES_MAX: u32 = 4 << 20;
/// Bytes of a length.
pub(crate) const LENGTH_BYTES: u64 = 4;
/// Greatest number of sums that can be asked for at once.
const SUMS_MAX: u32 = 10_000;
/// Bytes of the longest message.
const MESSAGE_BYTES_MAX: u32 = 16 << 20;
/// Greatest number of bytes that are written at once.
const BLOCK_BYTES: usize = 16 << 10;
/// Greatest time of an answer, or for which an answer stands unread, before the other side counts as gone.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Greatest number of connections that are answered at the same time. Each takes three vectors at most: 384 MiB
/// together.
const N_CONNECTIONS: usize = 32;

/// Messages that a probe sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// Messages of the Network Weather Service: 4 bytes, then four times 16 KiB through a socket buffer of 32 KiB.
    Nws,
    /// Messages as in a program that exchanges messages: 8 bytes, then two of 32 KiB, blocking.
    Application,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the short message and its answer.
    pub two_way: Duration,
    /// Bandwidth of the long messages, without the two-way latency. `None` if they took no longer than that.
    pub bandwidth: Option<Bandwidth>,
}

/// A connection to a host that answers.
#[derive(Debug)]
pub struct Probe(TcpStream);

impl Probe {
    /// Connects, with Nagle's algorithm off, and exchanges one message that is not timed: the first one may pay for
    /// the connection.
    ///
    /// # Errors
    /// If nobody answers there.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, ANSWER_MAX)?)
    }

    /// Builds a probe over a connection that is there, likewise.
    pub(crate) fn over(stream: TcpStream) -> io::Result<Self> {
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
    /// If the other side is gone.
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

    /// Measures the time of a message of `size_bytes` and one back together.
    ///
    /// # Errors
    /// If the other side is gone, or the message is longer than 16 MiB.
    pub fn ping_pong(&mut self, size_bytes: u32) -> io::Result<Duration> {
        self.message(size_bytes, ECHO)
    }

    /// Measures the mean time of a sum over both sides, each of which has a vector of `size_bytes` in words of 8: an
    /// allreduce of two ranks. They make `n` sums one after the other, and one before that is not timed.
    ///
    /// # Errors
    /// If the other side is gone, has another sum, or the vector is of no such size or longer than 4 MiB.
    pub fn sums(&mut self, size_bytes: u32, n: u32) -> io::Result<Duration> {
        if !is_vector(size_bytes) || !(1..SUMS_MAX).contains(&n) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let asked = [(size_bytes | SUM).to_be_bytes(), (n + 1).to_be_bytes()].concat();
        self.0.write_all(&asked)?;
        let mut sums = Sums::begin(&self.0, size_bytes, OWN[0])?;
        sums.make(1)?;
        let stopwatch = clock::Stopwatch::start();
        sums.make(n)?;
        let took = stopwatch.elapsed() / n;
        // Both have 3 after the first sum, and twice as much after each other one.
        let right = 1_u64.checked_shl(n).unwrap_or(0).wrapping_mul(OWN[0] + OWN[1]);
        if sums.own.iter().any(|word| *word != right) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the other side has another sum"));
        }
        sums.end()?;
        Ok(took)
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
/// If the listener breaks.
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

/// Answers until the other side ends the connection, or sends something that is no message.
fn answer_one(stream: &TcpStream, mut pass: Pass) {
    let mut is_welcome = prepare(stream).is_ok();
    while is_welcome && answer_message(stream).is_ok() {
        is_welcome = pass.welcome();
    }
}

/// Prepares a connection: a peer that has gone silently, or does not read its answers, does not keep its place.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_keepalive(true)?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    stream.set_nodelay(true)
}

/// Takes a message, and answers.
pub(crate) fn answer_message(mut stream: &TcpStream) -> io::Result<()> {
    let mut number = || {
        let mut bytes = [0; LENGTH_BYTES as usize];
        stream.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes))
    };
    let length = number()?;
    let size_bytes = length & !(ECHO | SUM);
    if size_bytes > MESSAGE_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if length & SUM != 0 {
        let n = number()?;
        if !is_vector(size_bytes) || n > SUMS_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut sums = Sums::begin(stream, size_bytes, OWN[1])?;
        sums.make(n)?;
        return sums.end();
    }
    let mut block = [0; BLOCK_BYTES];
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
    // What the answer says does not matter; as many bytes at once as the message came in.
    let mut left = size_bytes as usize;
    while left > 0 {
        let n = left.min(BLOCK_BYTES);
        stream.write_all(&block[..n])?;
        left -= n;
    }
    Ok(())
}

fn is_vector(size_bytes: u32) -> bool {
    (WORD_BYTES..=VECTOR_BYTES_MAX).contains(&size_bytes) && size_bytes.is_multiple_of(WORD_BYTES)
}

/// One side's part in sums over two.
struct Sums<'s> {
    stream: &'s TcpStream,
    own: Vec<u64>,
    theirs: Vec<u8>,
}

impl<'s> Sums<'s> {
    /// Begins sums. The stream does not block from here on, as both sides write before they read.
    fn begin(stream: &'s TcpStream, size_bytes: u32, word: u64) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let own = vec![word; (size_bytes / WORD_BYTES) as usize];
        Ok(Self { stream, own, theirs: vec![0; size_bytes as usize] })
    }

    fn make(&mut self, n: u32) -> io::Result<()> {
        for _ in 0..n {
            let sent: Vec<u8> = self.own.iter().flat_map(|word| word.to_be_bytes()).collect();
            exchange(self.stream, &sent, &mut self.theirs)?;
            let (theirs, _) = self.theirs.as_chunks();
            for (own, theirs) in self.own.iter_mut().zip(theirs) {
                *own = own.wrapping_add(u64::from_be_bytes(*theirs));
            }
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        self.stream.set_nonblocking(false)
    }
}

/// Sends and receives at the same time, each as it can.
fn exchange(mut stream: &TcpStream, sent: &[u8], received: &mut [u8]) -> io::Result<()> {
    let (mut n_sent, mut n_received) = (0, 0);
    let limit = Timespec { tv_sec: ANSWER_MAX.as_secs() as i64, tv_nsec: 0 };
    while n_sent < sent.len() || n_received < received.len() {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::OUT, n_sent < sent.len());
        wanted.set(PollFlags::IN, n_received < received.len());
        if poll(&mut [PollFd::new(stream, wanted)], Some(&limit))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if n_sent < sent.len() {
            n_sent += unless_blocked(stream.write(&sent[n_sent..]))?;
        }
        if n_received < received.len() {
            n_received += match stream.read(&mut received[n_received..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                other => unless_blocked(other)?,
            };
        }
    }
    Ok(())
}

fn unless_blocked(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        done => done,
    }
}
