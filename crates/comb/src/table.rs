//! A result as people read it.

use std::fmt::Write;

use mpi_run::{AWAY_RATIO_MAX, MalformedRecord, Outcome};
use text::figure::{bytes_per_sec, percent, span_ns};
use text::{Align, Table};

use super::record::{BUFFERING, Buffering, DRIFT, Drift, PING_PONG, POLLING, PWW, PingPong, Polling, PostWorkWait};
use super::verdict::{VERDICT, Verdict};
use super::words::{pair, size, spread};

/// Drift of calibrated work that is told of: lengths of work are then off by as much.
const DRIFT_TOLD_RATIO: f64 = 0.05;

/// All that was measured, section by section.
///
/// # Errors
/// The record that is not what its kind says.
pub(crate) fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text = head(outcome)?;
    text += &ping_pong(&outcome.all(PING_PONG)?);
    text += &post_work_wait(&outcome.all(PWW)?);
    text += &polling(&outcome.all(POLLING)?);
    text += &buffering(&outcome.all(BUFFERING)?);
    text += &verdicts(&outcome.all(VERDICT)?);
    Ok(text)
}

fn head(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let header = &outcome.header;
    let mut text = format!("{}\n", header.mpi);
    for place in &header.ranks {
        let cpus = place.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        line(&mut text, &format!("rank {} on {}, cores {cpus}", place.rank, place.host));
    }
    let drifts: Vec<Drift> = outcome.all(DRIFT)?;
    let drift = drifts.iter().max_by(|a, b| a.drift_ratio.abs().total_cmp(&b.drift_ratio.abs()));
    let drift = drift.filter(|drift| drift.drift_ratio.abs() > DRIFT_TOLD_RATIO).map(|drift| {
        format!(
            "work on rank {} took {:+.1} % longer than when it was calibrated: lengths of work are off by as much, availabilities are not",
            drift.rank,
            100.0 * drift.drift_ratio
        )
    });
    for warning in outcome.warnings().into_iter().chain(drift).chain(off_core(outcome)?) {
        text += &format!("warning: {warning}\n");
    }
    Ok(text)
}

/// Counts the measurements that were not of MPI alone.
fn off_core(outcome: &Outcome) -> Result<Option<String>, MalformedRecord> {
    let mut aways: Vec<f64> = Vec::new();
    aways.extend(outcome.all::<PingPong>(PING_PONG)?.iter().map(|record| record.away_ratio));
    aways.extend(outcome.all::<PostWorkWait>(PWW)?.iter().map(|record| record.away_ratio));
    aways.extend(outcome.all::<Polling>(POLLING)?.iter().map(|record| record.away_ratio));
    aways.extend(outcome.all::<Buffering>(BUFFERING)?.iter().map(|record| record.away_ratio));
    let n_away = aways.iter().filter(|away| **away > AWAY_RATIO_MAX).count();
    let told = || {
        let (n, limit) = (aways.len(), percent(AWAY_RATIO_MAX));
        format!(
            "in {n_away} of {n} measurements a rank was off its core for over {limit} of the time: those describe time slicing"
        )
    };
    Ok((n_away > 0).then(told))
}

fn ping_pong(records: &[PingPong]) -> String {
    let mut text = String::new();
    for of_pair in records_by(records, |record| record.pair) {
        title(&mut text, &format!("Ping-pong, {}", pair(of_pair[0].pair)));
        let mut table = figures(&["size", "bandwidth", "off core", "half round trip"]);
        for record in of_pair {
            table.row([
                size(record.size_bytes),
                bytes_per_sec(record.bandwidth_bytes_per_sec),
                percent(record.away_ratio),
                spread(&record.half_round_trip),
            ]);
        }
        text += &table.to_string();
    }
    text
}

fn post_work_wait(records: &[PostWorkWait]) -> String {
    let mut text = String::new();
    for points in records_by(records, |record| (record.pair, record.size_bytes)) {
        let first = points[0];
        title(&mut text, &format!("Post-work-wait, {} each way, {}", size(first.size_bytes), pair(first.pair)));
        let mut table =
            figures(&["work", "alone", "post", "work longer by", "wait", "received", "off core", "availability"]);
        for point in points {
            table.row([
                span_ns(point.work_interval_ns as f64),
                span_ns(point.dry.median_ns),
                span_ns(point.post.median_ns),
                span_ns(point.inflation.median_ns),
                span_ns(point.wait.median_ns),
                bytes_per_sec(point.received_bytes_per_sec),
                percent(point.away_ratio),
                point.availability.to_string(),
            ]);
        }
        text += &table.to_string();
    }
    text
}

fn polling(records: &[Polling]) -> String {
    let mut text = String::new();
    for points in records_by(records, |record| (record.pair, record.size_bytes)) {
        let first = points[0];
        title(
            &mut text,
            &format!("Polling, {} each way, queue of {}, {}", size(first.size_bytes), first.queue, pair(first.pair)),
        );
        let mut table = figures(&["interval", "polls", "messages", "received", "off core", "availability"]);
        for point in points {
            table.row([
                span_ns(point.poll_interval_ns as f64),
                point.n_polls.to_string(),
                format!("{:.0}", point.n_received),
                bytes_per_sec(point.received_bytes_per_sec),
                percent(point.away_ratio),
                point.availability.to_string(),
            ]);
        }
        text += &table.to_string();
    }
    text
}

fn buffering(records: &[Buffering]) -> String {
    let mut text = String::new();
    for record in records {
        title(
            &mut text,
            &format!(
                "Double buffering, {} numbers in buffers of {}, from rank {} to rank {}",
                record.n_values,
                size(record.buffer_bytes),
                record.pair.worker,
                record.pair.support
            ),
        );
        let mut table = figures(&["numbers per second", "time", "of"]);
        let rows = [
            (&record.produce, "producing alone"),
            (&record.sum, "summing alone"),
            (&record.single, "one buffer on each side"),
            (&record.double, "two buffers on each side"),
        ];
        for (span, what) in rows {
            let per_sec = 1e9 * record.n_values as f64 / span.median_ns.max(1.0);
            table.row([format!("{:.1} million", per_sec / 1e6), spread(span), what.to_owned()]);
        }
        text += &table.to_string();
        let (speedup, bound) = (&record.speedup_interval, &record.bound_interval);
        line(
            &mut text,
            &format!(
                "A second buffer: {:.3} [{:.3}, {:.3}] times as fast.",
                record.speedup, speedup.lower, speedup.upper
            ),
        );
        line(
            &mut text,
            &format!(
                "Of the time with two buffers, the slower side alone takes {:.3} [{:.3}, {:.3}]; 1 is complete overlap.",
                record.bound_ratio, bound.lower, bound.upper
            ),
        );
        line(&mut text, &format!("Sums agree: {}", record.total));
        if record.away_ratio > AWAY_RATIO_MAX {
            line(&mut text, &format!("A rank was off its core for {} of the time.", percent(record.away_ratio)));
        }
    }
    text
}

fn verdicts(records: &[Verdict]) -> String {
    let mut text = String::new();
    for of_pair in records_by(records, |record| record.pair) {
        title(&mut text, &format!("Verdict, {}", pair(of_pair[0].pair)));
        for verdict in of_pair {
            line(&mut text, &format!("{}: {}", size(verdict.size_bytes), verdict.progress));
            line(&mut text, &format!("  {}", verdict.posting));
            line(&mut text, &format!("  {}", verdict.cost));
        }
    }
    text
}

/// Records that belong together, in the order in which their first ones were measured.
pub(super) fn records_by<T, K: PartialEq>(records: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|group| key(group[0]) == key(record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

/// A table with figures in all columns but the last one, which may hold words.
fn figures(columns: &[&str]) -> Table {
    let align = |idx| if idx + 1 == columns.len() { Align::Left } else { Align::Right };
    let columns: Vec<_> = columns.iter().enumerate().map(|(idx, name)| (name, align(idx))).collect();
    Table::new(&columns).indented("  ")
}

fn title(text: &mut String, title: &str) {
    writeln!(text, "\n{title}").expect("a String takes everything");
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "  {line}").expect("a String takes everything");
}
