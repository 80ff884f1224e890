//! `foretop wan probe`, `answer` and `compare`: what real links are like, and whether emulated ones are.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use netmodel::Trace;
use statistics::median;
use text::Table;
use units::span;
use wan::Collector;

use super::relay::address;
use crate::help::examples;
use crate::interruption;

/// Sizes of messages that are compared: powers of 4 up to 1 MiB.
const SIZES: [u32; 11] = [1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Measure latency and bandwidth to a host that answers, and write them as a trace
#[derive(Args)]
#[command(after_help = examples(&["foretop wan probe 10.0.0.5:7312 --every 60s --for 24h --out link.csv"]))]
pub struct Probe {
    /// Where `foretop wan answer` listens
    #[arg(value_name = "HOST:PORT", value_parser = address)]
    to: SocketAddr,

    /// How often
    #[arg(long, value_name = "TIME", value_parser = span::parse, default_value = "60s")]
    every: Duration,

    /// How long [default: until it is interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = span::parse)]
    span: Option<Duration>,

    /// What is sent
    #[arg(long, value_enum, default_value = "nws")]
    style: Style,

    /// The file to write [default: standard output]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    /// As the Network Weather Service: 4 bytes, then four times 16 KiB
    Nws,
    /// As in a program: 8 bytes, then two messages of 32 KiB
    Application,
}

/// Answer the probes of other hosts
#[derive(Args)]
#[command(after_help = examples(&["foretop wan answer --listen 10.0.0.5:7312"]))]
pub struct Answer {
    /// Where
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: SocketAddr,
}

/// Compare a real link with its emulation by the times of ping-pongs, by size
#[derive(Args)]
#[command(after_help = examples(&["foretop wan compare --real 10.0.0.5:7312 --emulated 127.0.0.1:7313"]))]
pub struct Compare {
    /// Where `foretop wan answer` listens, over the real link
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    real: SocketAddr,

    /// Where it listens over the emulated link
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    emulated: SocketAddr,

    /// Ping-pongs of each size
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,
}

impl Probe {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let interruptions = interruption::interruptions()?;
        let collector = match self.style {
            Style::Nws => Collector::Nws,
            Style::Application => Collector::Application,
        };
        let mut probe = connect(self.to)?;
        let (mut latencies, mut bandwidths) = (Vec::new(), Vec::new());
        let begun = clock::instant();
        for number in 1.. {
            let at = begun.elapsed();
            let sample = probe.sample(collector).with_context(|| format!("{} has ceased to answer", self.to))?;
            latencies.push((at, Duration::from_nanos((sample.two_way.as_nanos() as u64).div_ceil(2))));
            bandwidths.extend(sample.bandwidth.map(|rate| (at, rate)));
            let next = self.every * number;
            if self.span.is_some_and(|span| next >= span) {
                break;
            }
            let rest = (begun + next).saturating_duration_since(clock::instant());
            if interruptions.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        let trace = Trace::new(latencies, bandwidths)?.to_csv();
        match &self.out {
            None => write!(out, "{trace}")?,
            Some(path) => std::fs::write(path, trace).with_context(|| format!("cannot write `{}`", path.display()))?,
        }
        Ok(())
    }
}

impl Answer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let listener = TcpListener::bind(self.listen).with_context(|| format!("cannot listen at {}", self.listen))?;
        writeln!(out, "answering at {}", listener.local_addr()?)?;
        out.flush()?;
        wan::answer(&listener).context("cannot go on answering")
    }
}

impl Compare {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (mut real, mut emulated) = (connect(self.real)?, connect(self.emulated)?);
        let mut table = Table::of_figures(&["bytes", "real", "emulated", "error", "ratio"]);
        for size in SIZES {
            let (mut real_ns, mut emulated_ns) = (Vec::new(), Vec::new());
            // In turns, so that what changes on the machine meets both.
            for _ in 0..self.repeats.max(1) {
                real_ns.push(real.ping_pong(size)?.as_nanos() as f64);
                emulated_ns.push(emulated.ping_pong(size)?.as_nanos() as f64);
            }
            let [real, emulated] = [real_ns, emulated_ns].map(|times| median(&times).unwrap_or(f64::NAN) / 2.0);
            let span = text::figure::span_ns;
            let ratio = format!("{:+.2}%", (emulated / real - 1.0) * 100.0);
            table.row([size.to_string(), span(real), span(emulated), span(emulated - real), ratio]);
        }
        Ok(write!(out, "half a round trip, medians of {}:\n{table}", self.repeats.max(1))?)
    }
}

fn connect(to: SocketAddr) -> anyhow::Result<wan::Probe> {
    wan::Probe::connect(to)
        .with_context(|| format!("nobody answers at {to}; run there: foretop wan answer --listen {to}"))
}
