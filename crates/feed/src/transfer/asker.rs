//! The side of a transfer that asks for it and measures.

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use secret::proof::Seal;
use socket2::SockRef;

use super::{
    TransferSettings,
    message::{Direction, Greeting, MessageError, Request, Verdict},
    progress::Progress,
    tcp_info::TcpInfo,
    timed::Timed,
};

/// The number of bytes written and read at once. Of the smallest transfers, too, the later half begins between two
/// writes.
const CHUNK_BYTES: usize = 16 << 10;

/// The longest time that a read or write may wait before the kernel is asked how many bytes have arrived.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The responder's greeting and its verdict.
const N_HANDSHAKE_SEGMENTS: u32 = 2;

/// The report of the responder: how many bytes it has received.
const REPORT_BYTES: usize = 8;

/// The measurements of sending.
#[derive(Debug)]
pub(super) struct Sent {
    pub progress: Progress,
    pub round_trip: Duration,
    /// Segments sent again per segment sent.
    pub retransmits: Option<f64>,
    /// The delivery rate of the last round trip, if the kernel has seen one.
    pub delivery_rate_bytes_per_sec: Option<f64>,
}

/// The reason why a transfer gave nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum TransferError {
    #[error("cannot find the address of `{address}`")]
    Address { address: String, source: io::Error },
    #[error("cannot connect to `{address}`")]
    Connect { address: String, source: io::Error },
    #[error("`{address}` did not greet: it is not a responder, or has no room for another connection")]
    Greet { address: String, source: io::Error },
    #[error("`{address}` gave no verdict: it has another token, or has waited too long")]
    Answer { address: String, source: io::Error },
    #[error("`{address}` did not answer like a responder")]
    Message { address: String, source: MessageError },
    #[error("`{address}` lets through {limit} bytes in one transfer, but {asked} were requested")]
    TooManyBytes { address: String, asked: u64, limit: u64 },
    #[error("`{address}` lets a transfer take {limit:?}, but {asked:?} was requested")]
    TooLong { address: String, asked: Duration, limit: Duration },
    #[error("`{address}` was busy with other transfers")]
    Busy { address: String },
    #[error("`{address}` lets this host transfer {per_minute} times a minute, and these are used up")]
    TooOften { address: String, per_minute: u64 },
    #[error("no byte had arrived after {span:?}: use a longer span if the path is that slow")]
    Stalled { span: Duration },
    #[error("the transfer broke off after {n_bytes} bytes")]
    Broken { n_bytes: u64, source: io::Error },
    #[error("the other side received {reported} bytes of {sent}")]
    Report { reported: u64, sent: u64 },
    #[error("the system has no random bytes")]
    Random { source: getrandom::Error },
    #[error("the kernel gives no statistics of the connection")]
    Kernel { source: io::Error },
}

/// A connection on which the responder has said that bytes may come.
#[derive(Debug)]
pub(super) struct Admitted {
    stream: TcpStream,
    n_bytes: u64,
    span: Duration,
}

impl Admitted {
    /// Connects, greets and asks.
    pub(super) fn ask(settings: &TransferSettings, direction: Direction) -> Result<Admitted, TransferError> {
        let until = clock::instant() + settings.patience;
        let address = || settings.address.clone();
        let stream = connect(&settings.address, until)?;
        let mut timed = Timed::new(&stream, until);

        let seal = greet(&mut timed, settings)?;
        let request = Request { direction, n_bytes: settings.n_bytes, span: settings.span };
        let mut verdict = [0; Verdict::N_BYTES];
        let answered = timed.write_all(&request.encode(&seal)).and_then(|()| timed.read_exact(&mut verdict));
        answered.map_err(|source| TransferError::Answer { address: address(), source })?;
        let verdict =
            Verdict::decode(&verdict, &seal).map_err(|source| TransferError::Message { address: address(), source })?;
        match verdict {
            Verdict::Go => Ok(Admitted { stream, n_bytes: settings.n_bytes, span: settings.span }),
            Verdict::TooManyBytes { limit } => {
                Err(TransferError::TooManyBytes { address: address(), asked: settings.n_bytes, limit })
            }
            Verdict::TooLong { limit } => {
                Err(TransferError::TooLong { address: address(), asked: settings.span, limit })
            }
            Verdict::Busy => Err(TransferError::Busy { address: address() }),
            Verdict::TooOften { per_minute } => Err(TransferError::TooOften { address: address(), per_minute }),
        }
    }

    /// Sends until the responder has everything or the time is up.
    pub(super) fn send(self) -> Result<Sent, TransferError> {
        let mut filler = [0; CHUNK_BYTES];
        // What a compressing tunnel cannot make smaller.
        getrandom::fill(&mut filler).map_err(|source| TransferError::Random { source })?;
        let before = self.info()?;
        let mut sending = Sending { stream: &self.stream, filler, n_left: self.n_bytes, report: Vec::new() };
        let mut progress = Progress::default();
        let mut after = before;

        look_often(&self.stream).map_err(broken(&progress))?;
        let start = clock::instant();
        while sending.report.len() < REPORT_BYTES && start.elapsed() < self.span {
            sending.go_on().map_err(broken(&progress))?;
            after = self.info()?;
            progress.note(start.elapsed(), after.arrived_bytes.saturating_sub(before.arrived_bytes));
        }
        match sending.reported() {
            Some(reported) if reported != self.n_bytes => {
                return Err(TransferError::Report { reported, sent: self.n_bytes });
            }
            Some(_) => {}
            None => self.cut_off().map_err(broken(&progress))?,
        }
        self.check_arrived(progress.n_bytes())?;

        let n_segments = after.n_segments_out.saturating_sub(before.n_segments_out);
        let n_sent_again = after.n_sent_again.saturating_sub(before.n_sent_again);
        Ok(Sent {
            progress,
            round_trip: after.round_trip,
            retransmits: (n_segments > 0).then(|| f64::from(n_sent_again) / f64::from(n_segments)),
            delivery_rate_bytes_per_sec: Some(after.delivery_rate_bytes_per_sec as f64).filter(|rate| *rate > 0.0),
        })
    }

    /// Reads until everything is there or the time is up.
    pub(super) fn receive(self) -> Result<Progress, TransferError> {
        let mut bytes = [0; CHUNK_BYTES];
        let mut n_bytes = 0;
        // Counted in segments, which count when they arrive. Bytes can be read when all before them are there.
        let mut segments = Progress::default();
        look_often(&self.stream).map_err(|source| TransferError::Broken { n_bytes, source })?;
        let start = clock::instant();
        while n_bytes < self.n_bytes && start.elapsed() < self.span {
            let n_missing = usize::try_from(self.n_bytes - n_bytes).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let read = (&self.stream).read(&mut bytes[..n_missing]);
            n_bytes += unless_late(not_ended(read)).map_err(|source| TransferError::Broken { n_bytes, source })? as u64;
            segments.note(start.elapsed(), self.info()?.n_segments_in.saturating_sub(N_HANDSHAKE_SEGMENTS).into());
        }
        if n_bytes < self.n_bytes {
            self.cut_off().map_err(|source| TransferError::Broken { n_bytes, source })?;
        }
        self.check_arrived(n_bytes)?;
        Ok(segments.rescaled(n_bytes))
    }

    fn info(&self) -> Result<TcpInfo, TransferError> {
        TcpInfo::of(&self.stream).map_err(|source| TransferError::Kernel { source })
    }

    fn check_arrived(&self, n_bytes: u64) -> Result<(), TransferError> {
        match n_bytes {
            0 => Err(TransferError::Stalled { span: self.span }),
            _ => Ok(()),
        }
    }

    /// Has what is still queued thrown away when the connection is closed, on both sides, so that it takes no more of
    /// the path.
    fn cut_off(&self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }
}

/// The state of sending.
struct Sending<'a> {
    stream: &'a TcpStream,
    filler: [u8; CHUNK_BYTES],
    n_left: u64,
    report: Vec<u8>,
}

impl Sending<'_> {
    /// Writes some of what is left, or reads some of the report, or finds that neither is possible yet.
    fn go_on(&mut self) -> io::Result<()> {
        if self.n_left > 0 {
            let n_bytes = usize::try_from(self.n_left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            self.n_left -= unless_late(self.stream.write(&self.filler[..n_bytes]))? as u64;
        } else {
            let mut bytes = [0; REPORT_BYTES];
            let n_missing = REPORT_BYTES - self.report.len();
            let n_read = unless_late(not_ended(self.stream.read(&mut bytes[..n_missing])))?;
            self.report.extend_from_slice(&bytes[..n_read]);
        }
        Ok(())
    }

    /// Returns the number of bytes that the responder has received, once its report is complete.
    fn reported(&self) -> Option<u64> {
        self.report.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// Connects to the first address that `address` stands for and that answers.
fn connect(address: &str, until: Instant) -> Result<TcpStream, TransferError> {
    let found = address.to_socket_addrs();
    let found = found.map_err(|source| TransferError::Address { address: address.to_owned(), source })?;
    let mut outcome = Err(io::ErrorKind::AddrNotAvailable.into());
    for candidate in found {
        let left = until.saturating_duration_since(clock::instant());
        if left.is_zero() {
            break;
        }
        outcome = TcpStream::connect_timeout(&candidate, left);
        if outcome.is_ok() {
            break;
        }
    }
    let connected = outcome.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    connected.map_err(|source| TransferError::Connect { address: address.to_owned(), source })
}

/// Exchanges greetings, and gives the seal that follows from them.
fn greet(timed: &mut Timed<'_>, settings: &TransferSettings) -> Result<Seal, TransferError> {
    let address = || settings.address.clone();
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|source| TransferError::Random { source })?;
    let mut greeting = [0; Greeting::N_BYTES];
    let greeted = timed.write_all(&Greeting { nonce }.encode()).and_then(|()| timed.read_exact(&mut greeting));
    greeted.map_err(|source| TransferError::Greet { address: address(), source })?;
    let theirs = Greeting::decode(&greeting).map_err(|source| TransferError::Message { address: address(), source })?;
    Ok(Seal::new(settings.token.clone(), nonce, theirs.nonce))
}

fn look_often(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    stream.set_write_timeout(Some(LOOK_EVERY))
}

/// A read or write that found nothing to do for a while has moved no bytes.
fn unless_late(outcome: io::Result<usize>) -> io::Result<usize> {
    match outcome {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        outcome => outcome,
    }
}

/// A read of no bytes is the end of a connection.
fn not_ended(outcome: io::Result<usize>) -> io::Result<usize> {
    match outcome {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        outcome => outcome,
    }
}

fn broken(progress: &Progress) -> impl Fn(io::Error) -> TransferError {
    let n_bytes = progress.n_bytes();
    move |source| TransferError::Broken { n_bytes, source }
}
