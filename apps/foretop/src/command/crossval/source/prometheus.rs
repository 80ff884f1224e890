//! Traces of a Prometheus server: ranges of a query's answer (HTTP API, `/api/v1/query_range`).

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use crossval::Trace;
use serde::Deserialize;
use units::Timestamp;
use ureq::Agent;

use crate::failure::OrUsage;

/// A server refuses to give more than 11,000 moments at once.
const N_MOMENTS_MAX: u32 = 10_000;
/// Moments to a trace, whatever the server would give.
const N_SAMPLES_MAX: u128 = 10_000_000;
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

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Answer {
    Success { data: Data },
    Error { error: String },
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// A trace for each series of the answer; moments without a value are gaps.
pub fn ask(url: &str, query: &str, range: Range) -> anyhow::Result<Vec<Trace>> {
    let named = || format!("asking `{url}` for `{query}`");
    let n_moments = range.to.saturating_since(range.from).as_nanos().div_ceil(range.step.as_nanos());
    if !(1..=N_SAMPLES_MAX).contains(&n_moments) {
        return Err(anyhow::anyhow!(
            "{n_moments} samples lie between the two ends; there have to be from 1 to {N_SAMPLES_MAX}"
        ))
        .or_usage();
    }
    let agent: Agent =
        Agent::config_builder().http_status_as_error(false).timeout_global(Some(TIMEOUT)).proxy(None).build().into();
    let mut traces: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let n_moments = n_moments as usize;
    for first in (0..n_moments).step_by(N_MOMENTS_MAX as usize) {
        let n = (n_moments - first).min(N_MOMENTS_MAX as usize);
        for series in page(&agent, url, query, range, first, n).with_context(named)? {
            let samples = traces.entry(name(&series.metric, query)).or_insert_with(|| vec![f64::NAN; n_moments]);
            for (seconds, value) in series.values {
                let idx = (seconds - seconds_of(range.from)) / range.step.as_secs_f64();
                let slot =
                    samples.get_mut(idx.round() as usize).context("the server answered with a moment not asked for");
                // What is no number, as +Inf, is a gap.
                *slot.with_context(named)? =
                    value.parse::<f64>().ok().filter(|value| value.is_finite()).unwrap_or(f64::NAN);
            }
        }
        ensure!(traces.len() <= N_SERIES_MAX, "`{query}` has more than {N_SERIES_MAX} series; ask for fewer");
    }
    ensure!(!traces.is_empty(), "`{url}` has no series for `{query}` in this time");
    traces.into_iter().map(|(name, samples)| Ok(Trace::new(name, trimmed(&samples))?)).collect()
}

fn page(agent: &Agent, url: &str, query: &str, range: Range, first: usize, n: usize) -> anyhow::Result<Vec<Series>> {
    let step = range.step.as_secs_f64();
    let moment = |idx: usize| format!("{:.3}", seconds_of(range.from) + idx as f64 * step);
    let request = agent
        .get(format!("{}/api/v1/query_range", url.trim_end_matches('/')))
        .query("query", query)
        .query("start", moment(first))
        .query("end", moment(first + n - 1))
        .query("step", step.to_string());
    let mut response = request.call()?;
    match response.body_mut().with_config().limit(N_BYTES_MAX).read_json::<Answer>()? {
        Answer::Success { data } => Ok(data.result),
        Answer::Error { error } => bail!("it says: {error}"),
    }
}

fn seconds_of(time: Timestamp) -> f64 {
    // In thousandths, as the server rounds moments.
    (time.as_nanos() / 1_000_000) as f64 / 1000.0
}

/// As the server would write it; the query itself for an answer without labels.
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

/// Without the gaps at both ends.
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

    #[test]
    fn an_answer_is_series_or_what_was_wrong() {
        let read = |text: &str| serde_json::from_str::<Answer>(text).unwrap();
        let text =
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1.5,"2"]]}]}}"#;
        assert!(matches!(read(text), Answer::Success { data } if data.result[0].values == [(1.5, "2".to_owned())]));
        let text = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert!(matches!(read(text), Answer::Error { error } if error == "parse error"));
    }
}
