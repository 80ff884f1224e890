//! The samples that a node holds of a signal, asked for page by page.

use std::time::Duration;

use node_api as api;
use serde::Serialize;
use units::{Moment, Timestamp, span};

use crate::failure::OrUsage;
use crate::near_name::explain_unknown_signal;
use crate::terminal::say;
use node_api::{Client, ClientError, RangeText, moment};

/// A node gives at most 100,000 values at once; half of that keeps an answer below a few megabytes.
const PAGE_STEPS: u32 = 50_000;

/// Samples of a signal that a node is asked for.
pub struct Query<'a> {
    /// Name of the signal.
    pub signal: &'a str,
    /// Begin of the range.
    pub from: Moment,
    /// End of the range; now if `None`.
    pub to: Option<Moment>,
    /// Step; that of the signal if `None`.
    pub step: Option<Duration>,
}

/// A sample and its moment; without a value it is a gap.
#[derive(Serialize)]
pub struct Sample {
    /// Time of the sample.
    pub time: Timestamp,
    /// Measured value; `None` in a gap.
    pub value: Option<f64>,
}

impl<'a> Query<'a> {
    /// The series, and its samples page by page, without the gaps at both ends. All of them are the same step apart:
    /// that asked for, a longer one where the node has nothing finer, or that of the signal. In the last case what is
    /// left as means only is passed over, unless there is nothing else.
    pub fn ask(
        &self,
        client: &'a Client,
    ) -> anyhow::Result<(api::Series, impl Iterator<Item = anyhow::Result<Vec<Sample>>> + 'a)> {
        let signal = self.signal;
        let explain = move |error: ClientError| explain_unknown_signal(client, signal, error);
        let detail = client.detail(signal).map_err(explain)?;
        let series_step = Duration::try_from_secs_f64(detail.series.step_seconds)?;
        let now = clock::now();
        let from = self.from.resolve(now);
        let to = self.to.map_or(now + series_step, |to| to.resolve(now));
        let is_range = if from < to { Ok(()) } else { Err(anyhow::anyhow!("the range from {from} to {to} is empty")) };
        is_range.or_usage()?;
        let step = self.step.unwrap_or(series_step);
        let mut pages = Pages { from, to, step, is_asked_for: self.step.is_some(), next: from, coarse: None };
        let mut trim = Trim::default();
        let samples = std::iter::from_fn(move || {
            let page = pages.next(|range, step| client.samples(signal, range, Some(step)))?;
            Some(page.map(|page| trim.take(page)).map_err(explain))
        });
        Ok((detail.series, samples))
    }
}

/// The range in parts that the node answers at once.
struct Pages {
    from: Timestamp,
    to: Timestamp,
    step: Duration,
    /// Whether somebody wants this step, or the samples as they are.
    is_asked_for: bool,
    next: Timestamp,
    /// The step of what was passed over.
    coarse: Option<Duration>,
}

impl Pages {
    fn next(
        &mut self,
        mut ask: impl FnMut(RangeText, Duration) -> Result<api::Samples, ClientError>,
    ) -> Option<Result<Vec<Sample>, ClientError>> {
        loop {
            if self.next >= self.to {
                // Nothing is as fine as the samples were.
                self.step = self.coarse.take()?;
                (self.next, self.is_asked_for) = (self.from, true);
            }
            // Pages begin on the grid of buckets, so that no bucket is cut in two.
            let end = (self.next.floor_to(self.step) + self.step * PAGE_STEPS).min(self.to);
            let range = RangeText { from: Some(self.next.to_string()), to: Some(end.to_string()) };
            let api::Samples { start, step_seconds, values, .. } = match ask(range, self.step) {
                Ok(samples) => samples,
                Err(error) => {
                    (self.next, self.coarse) = (self.to, None);
                    return Some(Err(error));
                }
            };
            let answered = Duration::try_from_secs_f64(step_seconds).unwrap_or(self.step);
            if answered > self.step && !values.is_empty() {
                if self.is_asked_for {
                    self.step = answered;
                } else {
                    (self.coarse, self.next) = (Some(answered), end);
                }
                continue;
            }
            self.next = end;
            if !self.is_asked_for
                && !values.is_empty()
                && let Some(coarse) = self.coarse.take()
            {
                let coarse = span::format(coarse);
                say(&format!("before {start} only means over {coarse} are left; --step {coarse} gives them"));
            }
            let sample = |(idx, value)| Sample { time: moment(start, step_seconds, idx), value };
            return Some(Ok(values.into_iter().enumerate().map(sample).collect()));
        }
    }
}

/// Leaves out the gaps before the first value and after the last one: nothing was measured there yet, or any more.
#[derive(Default)]
struct Trim {
    has_begun: bool,
    gaps: Vec<Sample>,
}

impl Trim {
    /// Returns the samples that are known to lie between two values, this page included.
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

    /// A node that has minute means from 0 s on and samples from `fine_from_s` on, asked for 120,000 s.
    fn answers(step_s: Option<u64>, fine_from_s: i64) -> Vec<f64> {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let (from, to) = (at(0), at(120_000));
        let step = Duration::from_secs(step_s.unwrap_or(1));
        let mut pages = Pages { from, to, step, is_asked_for: step_s.is_some(), next: from, coarse: None };
        let ask = |range: RangeText, step: Duration| {
            let [from, to]: [Timestamp; 2] = [range.from, range.to].map(|end| end.unwrap().parse().unwrap());
            let is_fine = to > at(fine_from_s);
            let step_seconds = if is_fine { step.as_secs_f64() } else { step.as_secs_f64().max(60.0) };
            let n = (to.saturating_since(from).as_secs_f64() / step_seconds) as usize;
            let (id, unit) = (String::new(), String::new());
            Ok(api::Samples { id, unit, start: from, step_seconds, values: vec![Some(1.0); n] })
        };
        let mut steps = Vec::new();
        while let Some(page) = pages.next(ask) {
            let page = page.unwrap();
            steps.extend(page.windows(2).map(|pair| pair[1].time.saturating_since(pair[0].time).as_secs_f64()));
        }
        steps
    }

    #[test]
    fn all_samples_are_the_same_step_apart() {
        let as_sampled = answers(None, 60_000);
        assert!(as_sampled.len() > 65_000 && as_sampled.iter().all(|step| *step == 1.0), "means are passed over");
        assert!(answers(Some(1), 60_000).iter().all(|step| *step == 60.0), "the whole range was asked for");
        assert!(answers(None, 200_000).iter().all(|step| *step == 60.0), "there is nothing but means");
        assert_eq!(answers(None, 200_000).len(), 1999);
        assert!(answers(None, 0).iter().all(|step| *step == 1.0));
    }

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
