//! `foretop wan probe`, `answer` and `compare`: what real links are like, and whether emulated ones are.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use netmodel::Trace;
use statistics::median;
use text::Table;
use units::span;
use wan::Collector;

use super::record::Output;
use super::relay::address;
use crate::publisher::Publishing;
use command_line::interruption;
use text::help::examples;

/// Sizes of messages that are compared: powers of 4 up to 1 MiB.
const SIZES: [u32; 11] = [1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Allreduces that are timed together, so that both sides go on at once.
const N_SUMS: u32 = 5;

/// Measure latency and bandwidth to a host that answers, and write them as a trace
#[derive(Args)]
#[command(after_help = examples(&["foretop wan probe 10.0.0.5:7312 --every 60s --for 24h --out link.csv"]))]
pub struct Probe {
    /// The address of `foretop wan answer`
    #[arg(value_name = "HOST:PORT", value_parser = address)]
    to: SocketAddr,

    /// The time between two probes
    #[arg(long, value_name = "TIME", value_parser = span::parse, default_value = "60s")]
    every: Duration,

    /// Stop after this time [default: until it is interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = span::parse)]
    span: Option<Duration>,

    /// The messages to send
    #[arg(long, value_enum, default_value = "nws")]
    style: Style,

    /// The name of published signals, `wan.NAME.latency` [default: the host's address]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    publishing: Publishing,
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    /// Messages of the Network Weather Service: 4 bytes, then four times 16 KiB
    Nws,
    /// Messages as in a program: 8 bytes, then two messages of 32 KiB
    Application,
}

/// Answer the probes of other hosts
#[derive(Args)]
#[command(after_help = examples(&["foretop wan answer --listen 10.0.0.5:7312"]))]
pub struct Answer {
    /// The address to listen on
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: SocketAddr,
}

/// Compare a real link with its emulation by the times of ping-pongs and allreduces, by size
#[derive(Args)]
#[command(after_help = examples(&["foretop wan compare --real 10.0.0.5:7312 --emulated 127.0.0.1:7313"]))]
pub struct Compare {
    /// The address of `foretop wan answer` over the real link
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    real: SocketAddr,

    /// Its address over the emulated link
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    emulated: SocketAddr,

    /// The number of ping-pongs of each size, and of allreduces
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: u32,
}

impl Probe {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let interruptions = interruption::interruptions()?;
        let collector = match self.style {
            Style::Nws => Collector::Nws,
            Style::Application => Collector::Application,
        };
        let mut probe = connect(self.to)?;
        let name = format!("wan.{}", self.name.clone().unwrap_or_else(|| self.to.ip().to_string()));
        let mut publisher = self.publishing.start("wan-probe", &name, self.every)?;
        let (mut latencies, mut bandwidths) = (Vec::new(), Vec::new());
        let begun = clock::instant();
        for number in 1.. {
            let at = begun.elapsed();
            let sample = probe.sample(collector).with_context(|| format!("{} has ceased to answer", self.to))?;
            let latency = Duration::from_nanos((sample.two_way.as_nanos() as u64).div_ceil(2));
            latencies.push((at, latency));
            if let Some(publisher) = &mut publisher {
                let bytes_per_sec = sample.bandwidth.map_or(f64::NAN, |rate| rate.bits_per_sec() as f64 / 8.0);
                publisher.send([
                    (format!("{name}.latency"), "s", latency.as_secs_f64()),
                    (format!("{name}.bandwidth"), "bytes/s", bytes_per_sec),
                ]);
            }
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
        self.output.write(&Trace::new(latencies, bandwidths)?, out)
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
        let mut links = [connect(self.real)?, connect(self.emulated)?];
        let n = self.repeats.max(1);
        writeln!(out, "half a round trip, medians of {n}:")?;
        write!(out, "{}", compared(&SIZES, n, &mut links, |link, size| link.ping_pong(size).map(|took| took / 2))?)?;
        writeln!(out, "allreduce of two ranks, medians of {n} by {N_SUMS}:")?;
        let vectors: Vec<u32> = SIZES.iter().copied().filter(|size| size % 8 == 0).collect();
        Ok(write!(out, "{}", compared(&vectors, n, &mut links, |link, size| link.sums(size, N_SUMS))?)?)
    }
}

/// Returns the table of what `measure` finds over the real link and its emulation.
fn compared(
    sizes: &[u32],
    n: u32,
    links: &mut [wan::Probe; 2],
    measure: impl Fn(&mut wan::Probe, u32) -> std::io::Result<Duration>,
) -> std::io::Result<Table> {
    let mut table = Table::of_figures(&["bytes", "real", "emulated", "error", "ratio"]);
    for size in sizes {
        let mut times = [Vec::new(), Vec::new()];
        // In turns, so that what changes on the machine meets both.
        for _ in 0..n {
            for (link, times) in links.iter_mut().zip(&mut times) {
                times.push(measure(link, *size)?.as_nanos() as f64);
            }
        }
        let [real, emulated] = times.map(|times| median(&times).unwrap_or(f64::NAN));
        let span = text::figure::span_ns;
        let ratio = format!("{:+.2}%", (emulated / real - 1.0) * 100.0);
        table.row([size.to_string(), span(real), span(emulated), span(emulated - real), ratio]);
    }
    Ok(table)
}

fn connect(to: SocketAddr) -> anyhow::Result<wan::Probe> {
    wan::Probe::connect(to)
        .with_context(|| format!("nobody answers at {to}; run there: foretop wan answer --listen {to}"))
}
