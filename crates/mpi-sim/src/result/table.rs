//! Results as text for people.

use mpi_run::{MalformedRecord, Outcome};
use statistics::{median, quantile};
use text::Table;
use text::figure::{percent, span_ns};

use super::record::{AlgorithmUsed, CallUse, Draw, Ending, Point, RankTimes, Run, Waiting, kind};
use super::waited_most;

/// Ranks that have a row each; of more, those that compute and wait most and least speak for all.
const ROWS_MAX: usize = 32;

pub(super) fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text: String = outcome.header.assumptions.iter().map(|assumption| format!("- {assumption}\n")).collect();
    text.extend(outcome.warnings().iter().map(|warning| format!("warning: {warning}\n")));
    for run in outcome.all::<Run>(kind::RUN)? {
        text += &format!("\n{}\n", summary(&run));
        if run.n_slow_advances > 0 {
            text += &format!("slow advance: {} times, bounds grew too slowly to wait for\n", run.n_slow_advances);
        }
    }
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK)?;
    if !ranks.is_empty() {
        text += &format!("\n{}", of_ranks(&ranks));
        for rank in ranks.iter().filter(|rank| rank.n_unreceived + rank.n_unfinished > 0).take(ROWS_MAX) {
            let left =
                [("messages never received", rank.n_unreceived), ("requests never completed", rank.n_unfinished)];
            let left = left.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what} {n}"));
            text += &format!("rank {}: {}\n", rank.rank, left.collect::<Vec<_>>().join(", "));
        }
        for rank in ranks.iter().filter(|rank| rank.n_forks > 0).take(ROWS_MAX) {
            text += &format!("rank {}: processes forked {}, which are not simulated\n", rank.rank, rank.n_forks);
        }
    }
    let calls: Vec<CallUse> = outcome.all(kind::CALL)?;
    if !calls.is_empty() {
        text += &format!("\n{}", of_calls(calls));
    }
    let algorithms: Vec<AlgorithmUsed> = outcome.all(kind::ALGORITHM)?;
    text.extend(algorithms.chunk_by(|one, other| one.call == other.call).map(of_algorithms));
    let draws: Vec<Draw> = outcome.all(kind::DRAW)?;
    if !draws.is_empty() {
        text += &format!("\n{}\n", of_draws(&draws));
    }
    let points: Vec<Point> = outcome.all(kind::POINT)?;
    if !points.is_empty() {
        text += &format!("\n{}", of_points(&points));
    }
    for ending in outcome.all::<Ending>(kind::ENDING)? {
        text += &format!(
            "\nended before its time: rank {} at {}: {}\n",
            ending.rank,
            span_ns(ending.at_ns as f64),
            ending.reason
        );
        let waits = |wait: &Waiting| {
            let call = wait.call.as_ref().map_or(String::new(), |call| format!(" in {call}"));
            format!("  rank {} waits{call} since {} for {}\n", wait.rank, span_ns(wait.since_ns as f64), wait.awaits)
        };
        text.extend(ending.waiting.iter().take(ROWS_MAX).map(waits));
        if ending.waiting.len() > ROWS_MAX {
            text += &format!("  and {} more\n", ending.waiting.len() - ROWS_MAX);
        }
    }
    Ok(text)
}

fn summary(run: &Run) -> String {
    let stretch = run.stretched_ns.checked_div(run.n_stretches).unwrap_or(0);
    format!(
        "{} ranks take {}; {} messages, {} bytes; {} rounds, {} null messages; ranks go on for {} until they have to wait",
        run.n_ranks,
        span_ns(run.span_ns as f64),
        run.n_messages,
        run.n_bytes,
        run.n_rounds,
        run.n_null_messages,
        span_ns(stretch as f64)
    )
}

fn of_ranks(ranks: &[RankTimes]) -> String {
    let columns =
        ["rank", "time", "computing", "sending", "receiving", "waiting", "most for", "messages sent", "bytes sent"];
    let mut table = Table::of_figures(&columns);
    let shown: Vec<&RankTimes> = if ranks.len() <= ROWS_MAX { ranks.iter().collect() } else { extremes(ranks) };
    for rank in &shown {
        let share = |span_ns: u64| percent(span_ns as f64 / (rank.span_ns as f64).max(1.0));
        let most = waited_most(&rank.waiting_for).map_or(String::new(), |(other, _)| format!("rank {other}"));
        table.row([
            rank.rank.to_string(),
            span_ns(rank.span_ns as f64),
            share(rank.computing_ns),
            share(rank.sending_ns),
            share(rank.receiving_ns),
            share(rank.waiting_ns),
            most,
            rank.n_sent.to_string(),
            rank.n_bytes_sent.to_string(),
        ]);
    }
    let left_out = if shown.len() < ranks.len() {
        format!("of {} ranks, those that compute or wait most and least, and the last to end\n", ranks.len())
    } else {
        String::new()
    };
    format!("{table}{left_out}")
}

fn extremes(ranks: &[RankTimes]) -> Vec<&RankTimes> {
    let by = |key: fn(&RankTimes) -> u64| {
        let least = ranks.iter().min_by_key(|rank| key(rank));
        least.into_iter().chain(ranks.iter().max_by_key(|rank| key(rank)))
    };
    let mut chosen: Vec<&RankTimes> =
        by(|rank| rank.computing_ns).chain(by(|rank| rank.waiting_ns)).chain(by(|rank| rank.span_ns).skip(1)).collect();
    chosen.sort_by_key(|rank| rank.rank);
    chosen.dedup_by_key(|rank| rank.rank);
    chosen
}

/// Those of one call.
fn of_algorithms(used: &[AlgorithmUsed]) -> String {
    let names: Vec<&str> = used.iter().map(|used| used.algorithm.as_str()).collect();
    format!("{} by {}\n", used[0].call, names.join(", "))
}

fn of_calls(mut calls: Vec<CallUse>) -> String {
    calls.sort_by_key(|call| (std::cmp::Reverse(call.span_ns), call.call.clone()));
    let mut table = Table::of_figures(&["call", "calls", "time of all ranks", "each", "bytes"]);
    for call in calls {
        let each = call.span_ns as f64 / call.n_calls.max(1) as f64;
        let spans = [span_ns(call.span_ns as f64), span_ns(each)];
        let [whole, each] = spans;
        table.row([call.call, call.n_calls.to_string(), whole, each, call.n_bytes.to_string()]);
    }
    table.to_string()
}

fn of_draws(draws: &[Draw]) -> String {
    let spans: Vec<f64> = draws.iter().map(|draw| draw.span_ns as f64).collect();
    let at = |share: f64| quantile(&spans, share).unwrap_or(f64::NAN);
    format!(
        "{} draws: {} (median), 95 % between {} and {}",
        draws.len(),
        span_ns(at(0.5)),
        span_ns(at(0.025)),
        span_ns(at(0.975))
    )
}

fn of_points(points: &[Point]) -> String {
    let mut table =
        Table::of_figures(&["ranks", "latency x", "bandwidth x", "mapping", "collectives", "time", "waiting"]);
    for point in points {
        table.row([
            point.n_ranks.to_string(),
            point.latency.to_string(),
            point.bandwidth.to_string(),
            point.mapping.clone(),
            point.collectives.to_string(),
            span_ns(point.span_ns as f64),
            percent(point.waiting_ratio),
        ]);
    }
    table.to_string()
}

/// A predicted time beside real ones, all in nanoseconds: the error, and how far the real ones are off each other.
#[must_use]
pub fn compared(predicted_ns: f64, real_ns: &[f64]) -> String {
    let middle = median(real_ns).unwrap_or(f64::NAN);
    let at = |share: f64| quantile(real_ns, share).unwrap_or(f64::NAN);
    let spread = (at(1.0) - at(0.0)) / middle;
    let error = (predicted_ns - middle) / middle;
    let verdict = match real_ns {
        [_] => "one real run says nothing of how far runs are apart",
        _ if (at(0.0)..=at(1.0)).contains(&predicted_ns) => "within the real runs",
        _ => "outside the real runs",
    };
    format!(
        "predicted {}, measured {} (median of {}, {} to {}): error {}{}, real runs {} apart; {verdict}",
        span_ns(predicted_ns),
        span_ns(middle),
        real_ns.len(),
        span_ns(at(0.0)),
        span_ns(at(1.0)),
        if error < 0.0 { "-" } else { "+" },
        percent(error.abs()),
        percent(spread),
    )
}
