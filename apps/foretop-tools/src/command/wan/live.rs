//! Traffic of links, as a table that is written anew while they carry it, and as a stream.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use text::Table;
use wan::{Counts, Traffic};
use watch::Watch;

use component::Publisher;

/// Interval at which the table is written on a terminal, and sent.
pub const EVERY: Duration = Duration::from_secs(1);

/// A direction of a link.
pub struct Way {
    /// Name in the table.
    title: String,
    /// Name in the names of signals.
    name: String,
    counts: Arc<Counts>,
}

/// Traffic of a direction since the last look.
struct Seen {
    traffic: Traffic,
    bytes_per_sec: f64,
    dropped_per_sec: f64,
}

impl Way {
    pub fn new(name: &str, counts: Arc<Counts>) -> Self {
        Self { title: name.to_owned(), name: name.to_owned(), counts }
    }

    /// Builds the direction from one site to another.
    pub fn between((from, to): (String, String), counts: Arc<Counts>) -> Self {
        Self { title: format!("{from} → {to}"), name: format!("{from}.{to}"), counts }
    }

    fn look(&self, before: &mut Traffic, since: Duration) -> Seen {
        let traffic = self.counts.traffic();
        let dropped = |traffic: &Traffic| traffic.n_dropped_queue + traffic.n_dropped_loss + traffic.n_dropped_ended;
        let per_sec = |now: u64, before: u64| (now - before) as f64 / since.as_secs_f64();
        let seen = Seen {
            traffic,
            bytes_per_sec: per_sec(traffic.arrived_bytes, before.arrived_bytes),
            dropped_per_sec: per_sec(dropped(&traffic), dropped(before)),
        };
        *before = traffic;
        seen
    }

    /// The signals of this direction; what nothing is known of yet is a gap.
    fn signals(&self, seen: &Seen) -> [(String, &'static str, f64); 6] {
        let late = |late: Option<Duration>| late.map_or(f64::NAN, |late| late.as_secs_f64());
        [
            ("rate", "bytes/s", seen.bytes_per_sec),
            ("in_flight", "bytes", seen.traffic.in_flight_bytes as f64),
            ("queue", "bytes", seen.queue_bytes() as f64),
            ("dropped", "1/s", seen.dropped_per_sec),
            ("late_median", "s", late(seen.traffic.late_median)),
            ("late_95", "s", late(seen.traffic.late_95)),
        ]
        .map(|(what, unit, value)| (format!("wan.{}.{what}", self.name), unit, value))
    }
}

impl Seen {
    fn queue_bytes(&self) -> u64 {
        self.traffic.waiting_bytes.min(self.traffic.in_flight_bytes)
    }
}

/// Shows directions, and sends what they carry, until somebody interrupts; where standard output is no terminal, shows
/// once at the end.
pub fn show(
    out: &mut dyn Write,
    directions: &[Way],
    mut publisher: Option<Publisher>,
    interruptions: &Receiver<()>,
    watch: &Watch,
) -> anyhow::Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut before: Vec<Traffic> = directions.iter().map(|way| way.counts.traffic()).collect();
    let mut since = clock::Stopwatch::start();
    let mut n_lines = 0;
    loop {
        let is_over = interruptions.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
        if let Some(fatal) = watch.fatal() {
            anyhow::bail!("{fatal}");
        }
        if is_terminal || is_over || publisher.is_some() {
            let look = |(way, before): (&Way, &mut Traffic)| way.look(before, since.elapsed());
            let seen: Vec<Seen> = directions.iter().zip(&mut before).map(look).collect();
            since = clock::Stopwatch::start();
            if let Some(publisher) = &mut publisher {
                publisher.send(directions.iter().zip(&seen).flat_map(|(way, seen)| way.signals(seen)));
            }
            if !is_terminal && !is_over {
                continue;
            }
            let shown = table(directions, &seen);
            if n_lines > 0 {
                write!(out, "\x1b[{n_lines}A\x1b[J")?;
            }
            write!(out, "{shown}")?;
            out.flush()?;
            n_lines = if is_terminal { shown.lines().count() } else { 0 };
        }
        if is_over {
            return Ok(());
        }
    }
}

/// Nothing where no site has a link.
fn table(directions: &[Way], seen: &[Seen]) -> String {
    if directions.is_empty() {
        return String::new();
    }
    let mut table = Table::of_figures(&[
        "link",
        "rate",
        "carried",
        "in flight",
        "queue",
        "dropped",
        "lost",
        "late median",
        "95%",
        "99.9%",
    ]);
    for (way, seen) in directions.iter().zip(seen) {
        let traffic = &seen.traffic;
        let late = |span: Option<Duration>| {
            span.map_or_else(|| "-".to_owned(), |span| text::figure::span_ns(span.as_nanos() as f64))
        };
        let bytes = |bytes: u64| text::figure::format_short(bytes as f64, "B");
        table.row([
            way.title.clone(),
            text::figure::bytes_per_sec(seen.bytes_per_sec),
            bytes(traffic.arrived_bytes),
            bytes(traffic.in_flight_bytes),
            bytes(seen.queue_bytes()),
            (traffic.n_dropped_queue + traffic.n_dropped_ended).to_string(),
            traffic.n_dropped_loss.to_string(),
            late(traffic.late_median),
            late(traffic.late_95),
            late(traffic.late_999),
        ]);
    }
    table.to_string()
}
