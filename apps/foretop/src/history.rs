//! The samples that a node holds of a signal, asked for page by page.

use std::time::Duration;

use node_api as api;
use serde::Serialize;
use units::{Moment, Timestamp};

use crate::failure::OrUsage;
use crate::near_name::explain_unknown_signal;
use node_api::{Client, ClientError, RangeText, moment};

/// A node gives at most 100,000 values at once; half of that keeps an answer below a few megabytes.
const PAGE_STEPS: u32 = 50_000;

/// Samples of a signal that a node is asked for.
pub struct Query<'a> {
    pub signal: &'a str,
    pub from: Moment,
    /// Now if `None`.
    pub to: Option<Moment>,
    /// That of the signal if `None`.
    pub step: Option<Duration>,
}

/// A sample and its moment; without a value it is a gap.
#[derive(Serialize)]
pub struct Sample {
    pub time: Timestamp,
    pub value: Option<f64>,
}

impl Query<'_> {
    /// The series, and its samples page by page, without the gaps at both ends.
    pub fn ask(
        &self,
        client: &Client,
    ) -> anyhow::Result<(api::Series, impl Iterator<Item = anyhow::Result<Vec<Sample>>>)> {
        let explain = |error: ClientError| explain_unknown_signal(client, self.signal, error);
        let detail = client.detail(self.signal).map_err(explain)?;
        let pages = self.pages(Duration::try_from_secs_f64(detail.series.step_seconds)?)?;
        let mut trim = Trim::default();
        let samples = pages.into_iter().map(move |page| Ok(trim.take(self.page(client, page).map_err(explain)?)));
        Ok((detail.series, samples))
    }

    /// The range in parts that the node answers at once.
    fn pages(&self, series_step: Duration) -> anyhow::Result<Vec<(Timestamp, Timestamp)>> {
        let now = clock::now();
        let from = self.from.resolve(now);
        let to = self.to.map_or(now + series_step, |to| to.resolve(now));
        let is_range = if from < to { Ok(()) } else { Err(anyhow::anyhow!("there is no time from {from} to {to}")) };
        is_range.or_usage()?;
        let step = self.step.unwrap_or(series_step);
        // Pages begin on the grid of buckets, so that no bucket is cut in two.
        let first = from.floor_to(step);
        let starts = std::iter::successors(Some(first), |start| Some(*start + step * PAGE_STEPS));
        let starts = starts.take_while(|start| *start < to);
        Ok(starts.map(|start| (start.max(from), (start + step * PAGE_STEPS).min(to))).collect())
    }

    fn page(&self, client: &Client, (from, to): (Timestamp, Timestamp)) -> Result<Vec<Sample>, ClientError> {
        let range = RangeText { from: Some(from.to_string()), to: Some(to.to_string()) };
        let api::Samples { start, step_seconds, values, .. } = client.samples(self.signal, range, self.step)?;
        let sample = |(idx, value)| Sample { time: moment(start, step_seconds, idx), value };
        Ok(values.into_iter().enumerate().map(sample).collect())
    }
}

/// Leaves out the gaps before the first value and after the last one: nothing was measured there yet, or any more.
#[derive(Default)]
struct Trim {
    has_begun: bool,
    gaps: Vec<Sample>,
}

impl Trim {
    /// What is known to lie between two values, this page included.
    fn take(&mut self, page: Vec<Sample>) -> Vec<Sample> {
        let mut kept = Vec::with_capacity(page.len());
        for sample in page {
            if sample.value.is_some() {
                self.has_begun = true;
                kept.append(&mut self.gaps);
                kept.push(sample);
            } else if self.has_begun {
                self.gaps.push(sample);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_at_both_ends_are_left_out_across_pages() {
        let page = |values: &[Option<f64>]| {
            values.iter().map(|value| Sample { time: Timestamp::from_nanos(0), value: *value }).collect()
        };
        let mut trim = Trim::default();
        let taken: Vec<Vec<Option<f64>>> = [page(&[None, Some(1.0), None]), page(&[None]), page(&[Some(2.0), None])]
            .map(|page| trim.take(page).iter().map(|sample| sample.value).collect())
            .to_vec();
        assert_eq!(taken, [vec![Some(1.0)], vec![], vec![None, None, Some(2.0)]]);
    }
}
