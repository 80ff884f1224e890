//! A connection that is read and written until a moment, however slowly the other side drips.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// A time-out of a socket may not be zero.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// A connection whose reads and writes fail with [`io::ErrorKind::TimedOut`] when the moment has come.
#[derive(Debug)]
pub(super) struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
    /// The longest time of one read or write, if that is less than the time left.
    at_once: Duration,
}

impl<'a> Timed<'a> {
    pub(super) fn new(stream: &'a TcpStream, until: Instant) -> Timed<'a> {
        Timed { stream, until, at_once: Duration::MAX }
    }

    /// The same, which also fails when nothing came or went for `idle`.
    pub(super) fn with_idle(self, idle: Duration) -> Timed<'a> {
        Timed { at_once: idle, ..self }
    }

    fn timeout(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(clock::instant());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Some(left.min(self.at_once).max(TIMEOUT_MIN)))
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.timeout()?)?;
        self.stream.read(bytes).map_err(said_as_timeout)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.timeout()?)?;
        self.stream.write(bytes).map_err(said_as_timeout)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Linux says that a read would block when it has timed out.
fn said_as_timeout(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}
