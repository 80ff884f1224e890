//! Tables of a trace: where the time went, by operation and rank, and who waited for whom.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mpi_trace::{Matching, Operation, Timeline, Usage};
use text::{Align, Table};
use units::Rank;

use super::{count, n_lost, read};
use text::help::examples;

/// Pairs of ranks that are listed unless all are asked for.
const N_PAIRS: usize = 10;

/// Print where the time went, by operation and rank
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi trace show foretop-trace",
    "foretop mpi trace show trace-1a2b-3c4d5e --by-rank",
]))]
pub struct Show {
    /// A folder of trace files, a trace file, or a running job
    trace: PathBuf,

    /// Show each operation of each rank, and all pairs of ranks that waited
    #[arg(long)]
    by_rank: bool,
}

impl Show {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let recordings = read(&self.trace)?;
        let timeline = Timeline::of(&recordings);
        let usage = timeline.usage();
        write!(out, "{}\n{}", ranks(&timeline, &usage), operations(&timeline, &usage, self.by_rank))?;
        self.waits(&timeline, out)
    }

    fn waits(&self, timeline: &Timeline, out: &mut dyn Write) -> anyhow::Result<()> {
        let matching = Matching::of(timeline);
        let waits = matching.waits(timeline);
        let mut pairs: Vec<_> = waits.span_ns.iter().collect();
        pairs.sort_by_key(|(_, span_ns)| std::cmp::Reverse(**span_ns));
        let n_shown = if self.by_rank { pairs.len() } else { N_PAIRS.min(pairs.len()) };
        writeln!(
            out,
            "\nmatched: {}, {}; unmatched: {}, {}; against the clocks: {}",
            count(matching.messages.len(), "message"),
            count(matching.meetings.len(), "collective call"),
            count(matching.n_unreceived as usize, "send"),
            count(matching.n_unsent as usize, "receive"),
            matching.n_contradicted,
        )?;
        writeln!(
            out,
            "waited for late senders {}, for late receivers {}, in collective calls {}",
            span(waits.late_sender_ns),
            span(waits.late_receiver_ns),
            span(waits.collective_ns),
        )?;
        if n_shown == 0 {
            return Ok(());
        }
        let mut table =
            Table::new(&[("rank", Align::Right), ("waited for rank", Align::Right), ("time", Align::Right)]);
        for ((rank, whom), span_ns) in &pairs[..n_shown] {
            table.row([rank.to_string(), whom.to_string(), span(**span_ns)]);
        }
        write!(out, "\n{table}")?;
        if n_shown < pairs.len() {
            writeln!(out, "and {} pairs more: --by-rank", pairs.len() - n_shown)?;
        }
        Ok(())
    }
}

fn span(span_ns: u64) -> String {
    text::figure::span_ns(span_ns as f64)
}

/// Returns the time of each rank from its first call to the end of its last.
fn spans(timeline: &Timeline) -> BTreeMap<Rank, u64> {
    let span = |calls: &[mpi_trace::Placed]| {
        let last_end = calls.iter().map(|call| call.end_ns).max().unwrap_or(0);
        (calls[0].rank, last_end - calls[0].start_ns)
    };
    timeline.by_rank().map(span).collect()
}

fn ranks(timeline: &Timeline, usage: &BTreeMap<(Rank, Operation), Usage>) -> Table {
    let spans = spans(timeline);
    let columns = [
        ("rank", Align::Right),
        ("host", Align::Left),
        ("calls", Align::Right),
        ("traced", Align::Right),
        ("in MPI", Align::Right),
        ("share", Align::Right),
        ("lost", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for recording in timeline.recordings() {
        let rank = recording.head.rank;
        let total =
            sum(usage.range((rank, Operation::INIT)..).take_while(|((of, _), _)| *of == rank).map(|(_, usage)| usage));
        let traced_ns = spans.get(&rank).copied().unwrap_or(0);
        table.row([
            rank.to_string(),
            recording.head.host.clone(),
            total.n_calls.to_string(),
            span(traced_ns),
            span(total.span_ns),
            share(total.span_ns, traced_ns),
            n_lost(recording).to_string(),
        ]);
    }
    table
}

fn operations(timeline: &Timeline, usage: &BTreeMap<(Rank, Operation), Usage>, is_by_rank: bool) -> Table {
    let spans = spans(timeline);
    let traced_ns: u64 = spans.values().sum();
    let columns = [
        ("call", Align::Left),
        ("rank", Align::Right),
        ("calls", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("mean", Align::Right),
        ("bytes", Align::Right),
        ("failed", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let mut by_operation: BTreeMap<Operation, Vec<(Rank, &Usage)>> = BTreeMap::new();
    for ((rank, operation), usage) in usage {
        by_operation.entry(*operation).or_default().push((*rank, usage));
    }
    let mut totals: Vec<_> = by_operation
        .iter()
        .map(|(operation, by_rank)| (operation, by_rank, sum(by_rank.iter().map(|(_, usage)| *usage))))
        .collect();
    totals.sort_by_key(|(_, _, total)| std::cmp::Reverse(total.span_ns));
    let mut row = |name: &str, rank: String, usage: &Usage, traced_ns: u64| {
        table.row([
            name.to_owned(),
            rank,
            usage.n_calls.to_string(),
            span(usage.span_ns),
            share(usage.span_ns, traced_ns),
            span(usage.span_ns / usage.n_calls.max(1)),
            usage.bytes.to_string(),
            usage.n_failed.to_string(),
        ]);
    };
    for (operation, by_rank, total) in totals {
        row(operation.name(), "all".to_owned(), &total, traced_ns);
        for (rank, usage) in by_rank.iter().filter(|_| is_by_rank) {
            row("", rank.to_string(), usage, spans[rank]);
        }
    }
    table
}

fn sum<'a>(parts: impl Iterator<Item = &'a Usage>) -> Usage {
    parts.fold(Usage::default(), |sum, part| Usage {
        n_calls: sum.n_calls + part.n_calls,
        span_ns: sum.span_ns + part.span_ns,
        bytes: sum.bytes.saturating_add(part.bytes),
        n_failed: sum.n_failed + part.n_failed,
    })
}

fn share(part_ns: u64, whole_ns: u64) -> String {
    text::figure::percent(part_ns as f64 / whole_ns.max(1) as f64)
}
