//! `foretop stream client`: prints any stream, and how old what arrives is.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use component::{Latencies, Watch};
use serde::Serialize;
use stream::{Message, Mirror};
use text::figure;
use units::Timestamp;

use super::line::Lines;
use super::wiring::Wiring;
use command_line::argument::TextOrJson;
use text::help::examples;

/// Print any stream, one line per message
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream client source:tcp:localhost:5006",
    "foretop stream pred-client --latency --quiet --count 1000 source:tcp:localhost:5008",
]))]
pub struct Client {
    #[command(flatten)]
    wiring: Wiring,

    /// Print JSON lines; see docs/formats/cli.md
    #[arg(long)]
    json: bool,

    /// Print at the end how old messages were on arrival, counted from their measurement
    #[arg(long)]
    latency: bool,

    /// Do not print the messages themselves
    #[arg(long)]
    quiet: bool,

    /// End after N messages, not counting descriptions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// State that is kept while messages come.
struct Arrivals {
    lines: Option<Lines>,
    /// Standard output itself: `main` holds the lock on the usual way to it.
    out: File,
    latencies: Latencies,
    n: u64,
    n_max: u64,
    first: Option<Instant>,
    last: Instant,
    done: SyncSender<()>,
}

/// Ages of messages at their arrival, as JSON.
#[derive(Serialize)]
struct Report {
    kind: &'static str,
    n: usize,
    min_seconds: f64,
    median_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
    per_second: f64,
}

impl Client {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let format = if self.json { TextOrJson::Json } else { TextOrJson::Text };
        let (done, is_done) = sync_channel(1);
        let arrivals = Arc::new(Mutex::new(Arrivals {
            out: File::from(io::stdout().as_fd().try_clone_to_owned()?),
            lines: (!self.quiet).then(|| Lines::new(format)),
            latencies: Latencies::default(),
            n: 0,
            n_max: self.count.unwrap_or(u64::MAX),
            first: None,
            last: clock::instant(),
            done,
        }));
        let watching = Arc::clone(&arrivals);
        let take = move |message: &Message, now| lock(&watching).take(message, now);
        let mirror = Mirror::new("client", Watch::new(take)).ending_with_inputs();
        // Standard output is for the messages, which the mirror's thread writes.
        self.wiring.run("client", mirror, Some(is_done), &mut io::sink())?;
        if self.latency {
            lock(&arrivals).report(format, out)?;
        }
        Ok(())
    }
}

fn lock(arrivals: &Mutex<Arrivals>) -> MutexGuard<'_, Arrivals> {
    arrivals.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arrivals {
    fn take(&mut self, message: &Message, now: Timestamp) {
        if self.n == self.n_max {
            return;
        }
        if let Some(time) = message.time() {
            self.latencies.note(now.saturating_since(time));
            self.n += 1;
            self.last = clock::instant();
            self.first.get_or_insert(self.last);
        }
        let line = self.lines.as_mut().and_then(|lines| lines.line(message));
        let is_written = line.is_none_or(|line| self.out.write_all((line + "\n").as_bytes()).is_ok());
        if self.n == self.n_max || !is_written {
            self.n_max = self.n;
            // Somebody said so already, where it cannot be said.
            let _ = self.done.try_send(());
        }
    }

    fn report(&self, format: TextOrJson, out: &mut dyn Write) -> anyhow::Result<()> {
        let latency = self.latencies.latency().context("no message with a known age came")?;
        let span = self.first.map_or(Duration::ZERO, |first| self.last - first).as_secs_f64();
        let report = Report {
            kind: "latency",
            n: latency.n,
            min_seconds: latency.min.as_secs_f64(),
            median_seconds: latency.median.as_secs_f64(),
            p99_seconds: latency.p99.as_secs_f64(),
            max_seconds: latency.max.as_secs_f64(),
            per_second: if span > 0.0 { (self.n - 1) as f64 / span } else { 0.0 },
        };
        if format == TextOrJson::Json {
            return Ok(writeln!(out, "{}", serde_json::to_string(&report)?)?);
        }
        let seconds = |value| figure::format(value, "seconds");
        writeln!(
            out,
            "{} messages, {} per second; age at arrival: least {}, median {}, 99th percentile {}, greatest {}",
            report.n,
            figure::number(report.per_second),
            seconds(report.min_seconds),
            seconds(report.median_seconds),
            seconds(report.p99_seconds),
            seconds(report.max_seconds),
        )?;
        Ok(())
    }
}
