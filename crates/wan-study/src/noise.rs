//! Delays of ranks beside those of the WAN: P3's question whether the WAN's latency hides in noise.

use mpi_run::Section;
use noise::record::{Late, Row};
use text::figure::{percent, span_ns};

use crate::record::{Noise, Run};

/// P3's number of calls, and of those with a rank later than so many milliseconds.
const PUBLISHED: (u64, [(f64, u64); 4]) = (15_000, [(1.0, 15_000), (5.0, 359), (10.0, 223), (30.0, 41)]);
const NOTE: &str = "P3 counts calls of five clusters with up to 138 ranks, here there are two ranks at two sites: fewer ranks, fewer late ones. A rank is late by how much \
    longer than its own median it computes. What noise could hide at most: the time by which ranks that were late by more than 1 ms were late, \
    had all of it passed while a message was on its way, by the time of all such ways.";

/// Returns the section of the measurements of noise.
pub(crate) fn section(noise: &Noise, run: &Run) -> Section {
    let of_row = |row: Row, threshold_ns: f64| {
        let is_it = |late: &&Late| late.row == row && !late.is_allreduce && late.threshold_ns == threshold_ns;
        noise.late.iter().find(is_it)
    };
    let share = |n: u64, of: u64| format!("{n} of {of} ({})", percent(n as f64 / of.max(1) as f64));
    let (n_published, thresholds) = PUBLISHED;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (ms, n_late) in thresholds {
        let here = of_row(Row::Computation, ms * 1e6).map_or("-".to_owned(), |late| share(late.n_late, run.n));
        rows.push(vec![format!("calls with a rank late by more than {ms} ms"), share(n_late, n_published), here]);
    }
    let analysis = &noise.analysis;
    let last = analysis.last_arrivals().into_iter().next();
    let last = last.map_or("-".to_owned(), |last| format!("{}, {}", last.name, percent(last.share)));
    rows.push(vec!["last to arrive at the root".to_owned(), "2W 69 %, Dominic 23 %".to_owned(), last]);
    let far = analysis.paths.iter().map(|path| analysis.costs(path)).find(|costs| costs.wan_ns > 0.0);
    if let Some(costs) = far {
        let whole = costs.wan_ns + costs.lan_ns + costs.hosts_ns.values().sum::<f64>();
        let published = "58 % from 2W, else 87 to 89 %".to_owned();
        rows.push(vec!["the WAN's share of a far path".to_owned(), published, percent(costs.wan_ns / whole)]);
        rows.push(vec!["what of it is the way there and back".to_owned(), "-".to_owned(), span_ns(costs.wan_ns)]);
        // Of whole iterations is told what they lost.
        if let Some(lost_ns) = of_row(Row::Iteration, 1e6).and_then(|late| late.lost_ns) {
            let most = (lost_ns / (run.n as f64 * costs.wan_ns)).min(1.0);
            rows.push(vec!["of the WAN, noise could hide at most".to_owned(), "too little".to_owned(), percent(most)]);
        }
    }
    Section::new("Noise, and what of the WAN it could hide", &["", "published (P3)", "here"], rows, &[NOTE])
}
