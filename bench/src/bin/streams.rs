//! Limits of a composed system: the parts of RPS's optimum (section 8.2), and a chain of processes that do nothing but
//! pass bytes on.
//!
//! `bench-streams parts` writes JSON: what a forecast takes, what it takes to pass a message of each size to another
//! thread, and how many forecasts a monolith gives a reader in its process. `bench-streams chain` sends a message
//! through processes at a given pace and writes how old it is at the end. Tables are made by streams.py.

use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use bench::timing::best_seconds;
use component::{Monolith, Synthetic};
use serde_json::json;

/// Bytes of a frame with a load measurement, a sample, and a forecast of 30 steps.
const SIZES: [usize; 3] = [52, 36, 520];

/// Number of messages over which a transfer is timed.
const N_MESSAGES: usize = 20_000;

/// Reader of the output of a process of Figure 9, beside the one that passes it on.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nobody,
    /// The load client, or the evaluator at the prediction server.
    Before,
    /// The evaluator at the measurement buffer.
    After,
}

/// Bytes that each process of Figure 9 between sensor and client passes on, `predserver_core` included, and its reader
/// beside.
const CHAIN: [(usize, Beside); 6] = [
    (36, Beside::Nobody),
    (36, Beside::After),
    (36, Beside::Nobody),
    (520, Beside::Nobody),
    (520, Beside::Before),
    (520, Beside::Nobody),
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["parts"] => parts(),
        ["chain", every_us, n] => chain(Duration::from_micros(every_us.parse()?), n.parse()?),
        ["relay", source, n_in, n_out, n_readers] => relay(source, n_in.parse()?, n_out.parse()?, n_readers.parse()?),
        ["sink", source, n_in] => sink(source, n_in.parse()?),
        _ => anyhow::bail!("usage: bench-streams parts | chain EVERY_US N"),
    }
}

fn parts() -> anyhow::Result<()> {
    let mut system = monolith()?;
    // Past the window, so that the model speaks.
    for _ in 0..2000 {
        black_box(system.step());
    }
    let in_process_seconds = best_seconds(|| system.step().map(|forecast| forecast.means[29]));
    let samples: Vec<f64> = (0..600).map(|t| f64::from(t * 7919 % 101)).collect();
    let mut predictor = predict::fit(&"AR(16)".parse()?, &samples)?.predictor();
    let mut forecast = predict::Forecast::default();
    let forecast_seconds = best_seconds(|| {
        predictor.step(3.0);
        predictor.forecast_into(30, &mut forecast);
        forecast.means()[29]
    });
    let transfers = |pair: fn() -> io::Result<Ends>| -> anyhow::Result<serde_json::Value> {
        let seconds = SIZES.map(|size| Ok((size.to_string(), json!(transfer_seconds(pair()?, size)?))));
        Ok(seconds.into_iter().collect::<anyhow::Result<serde_json::Map<_, _>>>()?.into())
    };
    let figures = json!({
        "forecast_seconds": forecast_seconds,
        "in_process_seconds": in_process_seconds,
        "tcp_transfer_seconds": transfers(tcp_pair)?,
        "unix_transfer_seconds": transfers(unix_pair)?,
    });
    Ok(writeln!(io::stdout(), "{figures}")?)
}

fn monolith() -> anyhow::Result<Monolith<Synthetic>> {
    let meter = Synthetic::new(1, 10.0, 0.9)?;
    Ok(Monolith::new("bench", "bench", meter, "AR(16)".parse()?, 600, 30))
}

/// Both ends of a connection.
type Ends = (Box<dyn Read + Send>, Box<dyn Write>);

fn tcp_pair() -> io::Result<Ends> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let out = TcpStream::connect(listener.local_addr()?)?;
    out.set_nodelay(true)?;
    Ok((Box::new(listener.accept()?.0), Box::new(out)))
}

fn unix_pair() -> io::Result<Ends> {
    let (read, write) = UnixStream::pair()?;
    Ok((Box::new(read), Box::new(write)))
}

/// Seconds a message, one call to write and one to read each, as RPS counted it: the best of several runs.
fn transfer_seconds((mut read, mut write): Ends, size: usize) -> anyhow::Result<f64> {
    const N_RUNS: usize = 5;
    let reader = thread::spawn(move || {
        let mut message = vec![0; size];
        (0..N_RUNS * N_MESSAGES).try_for_each(|_| read.read_exact(&mut message))
    });
    let message = vec![7; size];
    let mut best = f64::INFINITY;
    for _ in 0..N_RUNS {
        let start = clock::instant();
        (0..N_MESSAGES).try_for_each(|_| write.write_all(&message))?;
        best = best.min(start.elapsed().as_secs_f64() / N_MESSAGES as f64);
    }
    reader.join().expect("the reader does not panic")?;
    Ok(best)
}

/// Sends the time through processes that are connected as those of Figure 9 are, and looks how old it is at the end.
fn chain(every: Duration, n: usize) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut children = Vec::new();
    let (mut address, mut n_in) = (listener.local_addr()?.to_string(), SIZES[0]);
    let mut beside = Beside::Before;
    for (n_out, beside_next) in CHAIN {
        let mut start = |arguments: &[&str]| -> anyhow::Result<String> {
            let (child, line) = start(arguments)?;
            children.push(child);
            Ok(line)
        };
        let n_in_text = n_in.to_string();
        let beside_this = ["sink", &address, &n_in_text];
        if beside == Beside::Before {
            start(&beside_this)?;
        }
        let n_readers = if beside_next == Beside::Nobody { "1" } else { "2" };
        let next = start(&["relay", &address, &n_in_text, &n_out.to_string(), n_readers])?;
        if beside == Beside::After {
            start(&beside_this)?;
        }
        (address, n_in, beside) = (next, n_out, beside_next);
    }
    let mut end = TcpStream::connect(&address)?;
    let mut readers = accept(&listener, 2)?;
    let reader = thread::spawn(move || ages(&mut end, n_in, n));
    let begin = clock::instant();
    let mut message = [0; SIZES[0]];
    for number in 1..=u32::try_from(n)? {
        clock::sleep((begin + every * number).saturating_duration_since(clock::instant()));
        message[..8].copy_from_slice(&now_ns().to_le_bytes());
        readers.iter_mut().try_for_each(|reader| reader.write_all(&message))?;
    }
    drop(readers);
    let mut ages = reader.join().expect("the reader does not panic")?;
    for mut child in children {
        child.wait()?;
    }
    ages.sort_unstable();
    let at = |share: f64| ages[(share * (ages.len() - 1) as f64) as usize] as f64 * 1e-9;
    let figures = json!({ "min_seconds": at(0.0), "median_seconds": at(0.5), "p99_seconds": at(0.99) });
    Ok(writeln!(io::stdout(), "{figures}")?)
}

/// Starts a process of this program, and returns what it says once it is connected.
fn start(arguments: &[&str]) -> anyhow::Result<(Child, String)> {
    let mut child = Command::new(env::current_exe()?).args(arguments).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output is a pipe")?).read_line(&mut line)?;
    Ok((child, line.trim().to_owned()))
}

fn accept(listener: &TcpListener, n_readers: usize) -> io::Result<Vec<TcpStream>> {
    let accept = |_| listener.accept().and_then(|(reader, _)| reader.set_nodelay(true).map(|()| reader));
    (0..n_readers).map(accept).collect()
}

/// Passes messages on, each cut or filled to `n_out` bytes, until the source ends.
fn relay(source: &str, n_in: usize, n_out: usize, n_readers: usize) -> anyhow::Result<()> {
    let mut source = TcpStream::connect(source)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    let mut readers = accept(&listener, n_readers)?;
    let mut message = vec![0; n_in.max(n_out)];
    while source.read_exact(&mut message[..n_in]).is_ok() {
        readers.iter_mut().try_for_each(|reader| reader.write_all(&message[..n_out]))?;
    }
    Ok(())
}

/// Reads messages until the source ends.
fn sink(source: &str, n_in: usize) -> anyhow::Result<()> {
    let mut source = TcpStream::connect(source)?;
    writeln!(io::stdout(), "connected")?;
    let mut message = vec![0; n_in];
    while source.read_exact(&mut message).is_ok() {}
    Ok(())
}

fn ages(end: &mut TcpStream, size: usize, n: usize) -> anyhow::Result<Vec<u64>> {
    let mut message = vec![0; size];
    let mut ages = Vec::with_capacity(n);
    for _ in 0..n {
        end.read_exact(&mut message)?;
        let sent = u64::from_le_bytes(message[..8].try_into()?);
        ages.push(now_ns().saturating_sub(sent));
    }
    Ok(ages)
}

fn now_ns() -> u64 {
    u64::try_from(clock::now().as_nanos()).unwrap_or(0)
}
