//! Traces of a Prometheus server: ranges of a query's answer (HTTP API, `/api/v1/query_range`).

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use crossval::Trace;
use feed::{PastSeries, Query, QuerySettings};
use http_client::Trust;
use units::Timestamp;

use command_line::failure::OrUsage;

/// Moments of a request: a server refuses to give more than 11,000 at once.
const N_MOMENTS_MAX: u32 = 10_000;
/// Moments to a trace, whatever the server would give.
const N_SAMPLES_MAX: u32 = 10_000_000;
const N_SERIES_MAX: usize = 1000;
/// An answer of a thousand series and ten thousand moments would be 300 MB; no sensible one is a fifth of that.
const N_BYTES_MAX: u64 = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Moments that are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub from: Timestamp,
    /// Left out.
    pub to: Timestamp,
    pub step: Duration,
}

/// A trace for each series of the answer; moments without a value are gaps.
pub fn ask(url: &str, query: &str, range: Range, trust: Trust) -> anyhow::Result<Vec<Trace>> {
    let n_moments = range.to.saturating_since(range.from).as_nanos().div_ceil(range.step.as_nanos());
    let n_moments = u32::try_from(n_moments).ok().filter(|n| (1..=N_SAMPLES_MAX).contains(n));
    let n_moments =
        n_moments.with_context(|| format!("from 1 to {N_SAMPLES_MAX} samples must lie between the two ends"));
    let n_moments = n_moments.or_usage()?;
    let asked = Query::open(QuerySettings { trust, ..settings(url, query).or_usage()? }, range.step).or_usage()?;
    let mut traces: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for first in (0..n_moments).step_by(N_MOMENTS_MAX as usize) {
        let n = (n_moments - first).min(N_MOMENTS_MAX);
        let answer = asked.past(range.from + range.step * first, n, range.step);
        for PastSeries { labels, samples } in answer.with_context(|| format!("asking `{url}` for `{query}`"))? {
            let trace = traces.entry(name(&labels, query)).or_insert_with(|| vec![f64::NAN; n_moments as usize]);
            samples.into_iter().for_each(|(idx, value)| trace[(first + idx) as usize] = value);
        }
        ensure!(traces.len() <= N_SERIES_MAX, "`{query}` has more than {N_SERIES_MAX} series; ask for fewer");
    }
    ensure!(!traces.is_empty(), "`{url}` has no series for `{query}` in this time");
    traces.into_iter().map(|(name, samples)| Ok(Trace::new(name, trimmed(&samples))?)).collect()
}

fn settings(url: &str, query: &str) -> anyhow::Result<QuerySettings> {
    let settings = QuerySettings::new(url, "traces", query)?;
    // What is asked for is the past, and by pages.
    Ok(QuerySettings { timeout: TIMEOUT, answer_bytes_max: N_BYTES_MAX, history: Duration::ZERO, ..settings })
}

/// Returns the name as the server would write it; the query itself for an answer without labels.
fn name(metric: &BTreeMap<String, String>, query: &str) -> String {
    let labels = metric.iter().filter(|(label, _)| *label != "__name__");
    let labels: Vec<String> = labels.map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    let metric = metric.get("__name__").map_or("", String::as_str);
    match (metric, &labels[..]) {
        ("", []) => query.to_owned(),
        (metric, []) => metric.to_owned(),
        (metric, labels) => format!("{metric}{{{}}}", labels.join(",")),
    }
}

/// Returns the samples without the gaps at both ends.
fn trimmed(samples: &[f64]) -> Vec<f64> {
    let is_known = |sample: &f64| !sample.is_nan();
    let first = samples.iter().position(is_known).unwrap_or(0);
    let last = samples.iter().rposition(is_known).map_or(0, |last| last + 1);
    samples[first..last].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_called_as_the_server_writes_it() {
        let metric = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(name(&metric(&[("__name__", "load1"), ("job", "a")]), "q"), "load1{job=\"a\"}");
        assert_eq!(name(&metric(&[("__name__", "load1")]), "q"), "load1");
        assert_eq!(name(&metric(&[]), "sum(load1)"), "sum(load1)");
    }

    #[test]
    fn gaps_at_both_ends_are_left_out() {
        assert_eq!(trimmed(&[f64::NAN, 1.0, 2.0, f64::NAN]), [1.0, 2.0]);
        assert!(trimmed(&[f64::NAN]).is_empty());
    }
}
