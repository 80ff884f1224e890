//! Growth of the squared error of a forecast with its lead time, measured rather than implied by a model.

use serde::{Deserialize, Serialize};

/// Mean squared errors at a few leads, about two an octave, and straight lines between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErrorGrowth {
    /// `(lead, mean squared error)`, leads rising from 1, never empty.
    points: Vec<(u32, f64)>,
}

/// No lead is measured on fewer targets than this, save lead 1, which has whatever there is.
const N_TARGETS_MIN: usize = 8;

impl ErrorGrowth {
    /// Measures how far `samples[t + lead]` lies from `forecasts[t]`, one forecast per origin, the same for
    /// all leads. NaN on either side means that there is nothing to compare.
    pub(crate) fn measure(samples: &[f64], forecasts: &[f64]) -> Self {
        let leads = leads_up_to(samples.len() / 2);
        let mut points: Vec<(u32, f64)> = Vec::with_capacity(leads.len());
        for lead in leads {
            let (n, squares) = squared_errors(&samples[lead.min(samples.len())..], forecasts);
            if n >= N_TARGETS_MIN || (lead == 1 && n > 0) {
                points.push((lead as u32, squares / n as f64));
            }
        }
        if points.first().is_none_or(|(lead, _)| *lead != 1) {
            // Every other sample is a gap, so that no two known ones are neighbours: take the nearest lead.
            let nearest = points.first().map_or(0.0, |(_, variance)| *variance);
            points.insert(0, (1, nearest));
        }
        Self { points }
    }

    /// The mean squared error at `lead`, at least 1. Beyond the last measured lead it goes on along the slope
    /// over the last half of what was measured, and never falls.
    pub(crate) fn variance(&self, lead: usize) -> f64 {
        let lead = lead as f64;
        let above = self.points.partition_point(|(known, _)| f64::from(*known) < lead);
        match (above.checked_sub(1).map(|below| self.points[below]), self.points.get(above)) {
            (None, Some((_, variance))) => *variance,
            (Some(low), Some(high)) => line(low, *high, lead),
            (Some(last), None) => last.1 + self.final_slope() * (lead - f64::from(last.0)),
            (None, None) => unreachable!("lead 1 is always measured"),
        }
    }

    /// The square roots for leads from `n_missing + 1` on.
    pub(crate) fn standard_errors_into(&self, n_missing: usize, standard_errors: &mut [f64]) {
        for (lead, error) in (n_missing + 1..).zip(standard_errors) {
            *error = self.variance(lead).sqrt();
        }
    }

    pub(crate) fn one_step(&self) -> f64 {
        self.points[0].1
    }

    /// Whether the points are in order, from lead 1, and finite, which a decoder must check too.
    pub(crate) fn is_sound(&self) -> bool {
        self.points.first().is_some_and(|(lead, _)| *lead == 1)
            && self.points.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && self.points.iter().all(|(_, variance)| variance.is_finite() && *variance >= 0.0)
    }

    fn final_slope(&self) -> f64 {
        let (Some(last), Some(middle)) = (self.points.last(), self.points.get(self.points.len().saturating_sub(3)))
        else {
            return 0.0;
        };
        if last.0 == middle.0 { 0.0 } else { ((last.1 - middle.1) / f64::from(last.0 - middle.0)).max(0.0) }
    }
}

fn line(low: (u32, f64), high: (u32, f64), lead: f64) -> f64 {
    let share = (lead - f64::from(low.0)) / f64::from(high.0 - low.0);
    low.1 + share * (high.1 - low.1)
}

/// 1, 2, 3, 4, 6, 8, 12, 16, 24, …, up to `most`, and 1 in any case.
fn leads_up_to(most: usize) -> Vec<usize> {
    let mut leads = vec![1];
    let mut octave = 2;
    while octave <= most {
        leads.push(octave);
        leads.extend((octave + octave / 2 <= most).then_some(octave + octave / 2));
        octave *= 2;
    }
    leads
}

fn squared_errors(targets: &[f64], forecasts: &[f64]) -> (usize, f64) {
    let errors = targets.iter().zip(forecasts).map(|(target, forecast)| target - forecast);
    errors.filter(|error| !error.is_nan()).fold((0, 0.0), |(n, sum), error| (n + 1, sum + error * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_has_errors_that_grow_as_the_square_of_the_lead() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        let growth = ErrorGrowth::measure(&ramp, &ramp);
        for lead in [1, 2, 3, 4, 8, 48] {
            assert!((growth.variance(lead) - (lead * lead) as f64).abs() < 1e-9, "lead {lead}");
        }
        assert!(growth.variance(1_000_000) > growth.variance(48));
    }

    #[test]
    fn beyond_what_was_measured_the_error_never_falls() {
        let wave: Vec<f64> = (0..64).map(|t| f64::from(t % 2)).collect();
        let growth = ErrorGrowth::measure(&wave, &wave);
        assert!(growth.variance(1000) >= growth.variance(32) - 1e-12);
    }

    #[test]
    fn samples_that_are_never_neighbours_still_give_an_error() {
        let gappy: Vec<f64> = (0..64).map(|t| if t % 2 == 0 { f64::from(t) } else { f64::NAN }).collect();
        let growth = ErrorGrowth::measure(&gappy, &gappy);
        assert!(growth.is_sound());
        assert!(growth.one_step() > 0.0);
    }
}
