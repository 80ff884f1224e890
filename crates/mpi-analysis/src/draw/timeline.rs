//! Timelines of ranks computing and communicating: a bar for each rank.

use mpi_trace::{Family, Placed, Timeline};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale};

use super::{CHART, unit};

/// Colour outside of MPI.
const COMPUTING: Colour = Colour(0x00, 0x9e, 0x73);
/// Colour in a call.
const COMMUNICATING: Colour = Colour(0xd5, 0x1a, 0x1a);
/// Columns of the picture: what is shorter than one column gets the colour of the greater share in it.
const N_COLUMNS: usize = 600;

/// All ranks between two moments of the timeline, by default from the first call to the last: green where a rank
/// computes, red where it is in MPI. Before a rank's first call and after its last one nothing is known, and nothing
/// drawn. The library's own start and end do not count: they take longer than many a program.
#[must_use]
pub fn timeline(timeline: &Timeline<'_>, window_ns: Option<(u64, u64)>) -> Picture {
    let is_call = |call: &&Placed| call.event.operation.family() != Family::Life && !call.event.is_part();
    let calls = || timeline.calls().iter().filter(is_call);
    let (from_ns, to_ns) = window_ns.unwrap_or_else(|| {
        let begin = calls().map(|call| call.start_ns).min().unwrap_or(0);
        (begin, calls().map(|call| call.end_ns).max().unwrap_or(begin))
    });
    let span = to_ns.saturating_sub(from_ns).max(1) as f64;
    let (ns, unit) = unit(span);
    let n_ranks = timeline.n_ranks();
    let height = (0.7 * 340.0 / f64::from(n_ranks.max(1))).clamp(1.0, 24.0);
    let mut bars = Vec::new();
    for calls in timeline.by_rank() {
        let rank = calls[0].rank;
        let calls: Vec<&Placed> = calls.iter().filter(is_call).collect();
        for (begin, end, is_busy) in runs(&calls, from_ns, to_ns) {
            let x = |column: usize| column as f64 / N_COLUMNS as f64 * span / ns;
            let colour = if is_busy { COMMUNICATING } else { COMPUTING };
            bars.push(Mark::Bar { from: (x(begin), f64::from(rank)), to: (x(end), f64::from(rank)), colour, height });
        }
    }
    let chart = Chart {
        title: "Timeline".to_owned(),
        caption: format!("{n_ranks} ranks; a column shows what took more of it."),
        x: Axis { label: format!("time ({unit})"), scale: Scale::Linear, range: (0.0, span / ns) },
        y: Axis { label: "rank".to_owned(), scale: Scale::Whole, range: (-0.7, f64::from(n_ranks.max(1)) - 0.3) },
        marks: bars,
    };
    let legend = vec![("computing".to_owned(), COMPUTING), ("communicating".to_owned(), COMMUNICATING)];
    Panel { chart, legend }.picture(CHART)
}

/// Columns that are alike: the first, the one after the last, and whether the rank was in MPI for most of them.
fn runs(calls: &[&Placed], from_ns: u64, to_ns: u64) -> Vec<(usize, usize, bool)> {
    let column_ns = (to_ns.saturating_sub(from_ns) as f64 / N_COLUMNS as f64).max(1.0);
    let place = |ns: u64| (ns.saturating_sub(from_ns) as f64 / column_ns).min(N_COLUMNS as f64);
    let mut busy = [0.0; N_COLUMNS];
    for call in calls.iter().filter(|call| call.start_ns < to_ns && call.end_ns > from_ns) {
        let (start, end) = (place(call.start_ns), place(call.end_ns));
        for (column, share) in busy.iter_mut().enumerate().take(end.ceil() as usize).skip(start as usize) {
            *share += end.min(column as f64 + 1.0) - start.max(column as f64);
        }
    }
    let begin = calls.iter().map(|call| call.start_ns).min().unwrap_or(to_ns);
    let end = calls.iter().map(|call| call.end_ns).max().unwrap_or(from_ns);
    let known = place(begin) as usize..place(end).ceil() as usize;
    let mut runs: Vec<(usize, usize, bool)> = Vec::new();
    for column in known {
        let is_busy = busy[column] >= 0.5;
        match runs.last_mut() {
            Some(run) if run.2 == is_busy => run.1 = column + 1,
            _ => runs.push((column, column + 1, is_busy)),
        }
    }
    runs
}
