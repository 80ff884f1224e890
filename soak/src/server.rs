//! The neighbours of the node that live in this process: an exporter whose every value is known, and a server that
//! takes remote write. Each can be gone for a while.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use testkit::remote_write::{TimeSeries, WriteRequest};
use units::Timestamp;

/// The one metric of the exporter.
pub const METRIC: &str = "soak_reads";

/// Name of the metric in remote-write requests.
const WRITTEN: &str = "foretop_exported_soak_reads";

/// A value that somebody was told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    pub at: Timestamp,
    pub value: f64,
}

/// Common part of both servers: a switch, and the values sent or received.
pub struct Server {
    pub address: SocketAddr,
    is_gone: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Told>>>,
}

impl Server {
    /// An exporter that says the next number each time.
    pub fn exporter() -> anyhow::Result<Self> {
        let n_reads = AtomicU32::new(0);
        Self::start(move |stream, _, seen| {
            let value = f64::from(n_reads.fetch_add(1, Ordering::SeqCst));
            let body = format!("# TYPE {METRIC} gauge\n{METRIC} {value}\n");
            answer(stream, "200 OK", &body)?;
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(Told { at: clock::now(), value });
            Ok(())
        })
    }

    /// A server that takes remote write, and keeps the exporter's metric of it, in the order in which it came.
    pub fn receiver() -> anyhow::Result<Self> {
        Self::start(|stream, body, seen| {
            let bytes = snap::raw::Decoder::new().decompress_vec(body).map_err(std::io::Error::other)?;
            let request = WriteRequest::read(&bytes)?;
            let is_it = |series: &&TimeSeries| {
                series.labels.iter().any(|label| label.name == "__name__" && label.value == WRITTEN)
            };
            let samples = request.timeseries.iter().filter(is_it).flat_map(|series| &series.samples);
            // A gap is written as a NaN.
            let samples = samples.filter(|sample| !sample.value.is_nan());
            let taken =
                samples.map(|one| Told { at: Timestamp::from_nanos(one.timestamp * 1_000_000), value: one.value });
            seen.lock().unwrap_or_else(PoisonError::into_inner).extend(taken);
            answer(stream, "204 No Content", "")
        })
    }

    fn start(
        respond: impl Fn(&mut TcpStream, &[u8], &Mutex<Vec<Told>>) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (is_gone, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (gone, kept, respond) = (Arc::clone(&is_gone), Arc::clone(&seen), Arc::new(respond));
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (gone, kept, respond) = (Arc::clone(&gone), Arc::clone(&kept), Arc::clone(&respond));
                // A connection that breaks is the node's to open again.
                thread::spawn(move || serve(stream, &gone, |stream, body| respond(stream, body, &kept)));
            }
        });
        Ok(Self { address, is_gone, seen })
    }

    /// Lets it answer nobody, or everybody again.
    pub fn set_gone(&self, is_gone: bool) {
        self.is_gone.store(is_gone, Ordering::SeqCst);
    }

    pub fn seen(&self) -> Vec<Told> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers the requests of one connection, until it ends or the server is gone.
fn serve(
    mut stream: TcpStream,
    is_gone: &AtomicBool,
    respond: impl Fn(&mut TcpStream, &[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    loop {
        let mut n_bytes = 0;
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            let line = line.to_ascii_lowercase();
            if let Some(length) = line.strip_prefix("content-length:") {
                n_bytes = length.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; n_bytes];
        lines.read_exact(&mut body)?;
        if is_gone.load(Ordering::SeqCst) {
            return Ok(());
        }
        respond(&mut stream, &body)?;
    }
}

fn answer(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let n = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {n}\r\n\r\n{body}")
}
