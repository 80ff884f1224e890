//! What links carry, as a table that is written anew while they do.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use text::Table;
use wan::{Counts, Traffic};
use watch::Watch;

/// How often the table is written on a terminal.
const EVERY: Duration = Duration::from_secs(1);

/// Shows the named directions until somebody interrupts; where standard output is no terminal, once at the end.
pub fn show(
    out: &mut dyn Write,
    directions: &[(String, Arc<Counts>)],
    interruptions: &Receiver<()>,
    watch: &Watch,
) -> anyhow::Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut before: Vec<Traffic> = directions.iter().map(|(_, counts)| counts.traffic()).collect();
    let mut n_lines = 0;
    loop {
        let is_over = interruptions.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
        if let Some(fatal) = watch.fatal() {
            anyhow::bail!("{fatal}");
        }
        if is_terminal || is_over {
            let shown = table(directions, &mut before);
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

fn table(directions: &[(String, Arc<Counts>)], before: &mut [Traffic]) -> String {
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
    for ((name, counts), before) in directions.iter().zip(before) {
        let traffic = counts.traffic();
        let rate = (traffic.arrived_bytes - before.arrived_bytes) as f64 / EVERY.as_secs_f64();
        let late = |span: Option<Duration>| {
            span.map_or_else(|| "-".to_owned(), |span| text::figure::span_ns(span.as_nanos() as f64))
        };
        let bytes = |bytes: u64| text::figure::format_short(bytes as f64, "B");
        table.row([
            name.clone(),
            text::figure::bytes_per_sec(rate),
            bytes(traffic.arrived_bytes),
            bytes(traffic.in_flight_bytes),
            bytes(traffic.waiting_bytes.min(traffic.in_flight_bytes)),
            (traffic.n_dropped_queue + traffic.n_dropped_ended).to_string(),
            traffic.n_dropped_loss.to_string(),
            late(traffic.late_median),
            late(traffic.late_95),
            late(traffic.late_999),
        ]);
        *before = traffic;
    }
    table.to_string()
}
