//! All members side by side on one series, sharing its recent samples.

use serde::{Deserialize, Serialize};

use super::member::{LENGTH_MAX, Member};
use crate::model::ring::Ring;
use crate::model::sample::bounded;

/// The members, and what each of them expects next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Panel {
    members: Vec<Member>,
    predictions: Vec<f64>,
    history: Ring,
    /// Number of samples of `history` that are real.
    n_recent: usize,
}

impl Panel {
    pub(crate) fn new() -> Self {
        let members = Member::all();
        let predictions = vec![0.0; members.len()];
        Self { members, predictions, history: Ring::new(LENGTH_MAX + 1), n_recent: 0 }
    }

    /// Takes a finite sample.
    pub(crate) fn step(&mut self, sample: f64) {
        self.history.push(bounded(sample));
        self.n_recent = (self.n_recent + 1).min(self.history.len());
        let recent = recent(&self.history, self.n_recent);
        for (member, prediction) in self.members.iter_mut().zip(&mut self.predictions) {
            *prediction = member.step(recent);
        }
    }

    /// Whether no sample has come yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_recent == 0
    }

    /// Returns each member's forecast of the next sample, and so of every later one; zeros before the first sample.
    pub(crate) fn predictions(&self) -> &[f64] {
        &self.predictions
    }

    /// Returns the members in the order of [`Panel::predictions`]; their texts are their names.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether the parts fit together, as a decoder must check.
    pub(crate) fn is_sound(&self) -> bool {
        if !self.history.is_sound(LENGTH_MAX + 1) || !(1..=self.history.len()).contains(&self.n_recent) {
            return false;
        }
        let (recent, all) = (recent(&self.history, self.n_recent), Member::all());
        self.members.len() == all.len()
            && self.predictions.len() == all.len()
            && self.predictions.iter().all(|prediction| prediction.is_finite())
            && self.members.iter().zip(&all).all(|(member, other)| member.is_sound(other, recent))
    }
}

fn recent(history: &Ring, n_recent: usize) -> &[f64] {
    &history.recent()[history.len() - n_recent..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predictions after `samples`, by the members' names.
    fn said(samples: &[f64]) -> Vec<(String, f64)> {
        let mut panel = Panel::new();
        samples.iter().for_each(|sample| panel.step(*sample));
        assert!(panel.is_sound());
        panel.members().iter().map(ToString::to_string).zip(panel.predictions().iter().copied()).collect()
    }

    /// `expected` to rounding.
    #[track_caller]
    fn check_said(samples: &[f64], name: &str, expected: f64) {
        let said = said(samples);
        let (_, ours) = said.iter().find(|(member, _)| member == name).expect("one of the members");
        assert!((ours - expected).abs() <= 1e-12 * expected.abs(), "{name}: {ours} is not {expected}");
    }

    /// A row without order, of 100.
    fn row() -> Vec<f64> {
        (0..100_u32).map(|t| f64::from(t * 7919 % 101)).collect()
    }

    fn median(window: &[f64]) -> f64 {
        let mut sorted = window.to_vec();
        sorted.sort_by(f64::total_cmp);
        f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
    }

    #[test]
    fn fixed_windows_say_what_their_names_do() {
        let row = row();
        for n in [1, 3, 31, 60, 100] {
            let samples = &row[..n];
            let last = |length: usize| &samples[n.saturating_sub(length)..];
            let mean = |window: &[f64]| window.iter().sum::<f64>() / window.len() as f64;
            check_said(samples, "last value", samples[n - 1]);
            check_said(samples, "running mean", mean(samples));
            [5, 10, 20, 31].iter().for_each(|k| check_said(samples, &format!("mean of {k}"), mean(last(*k))));
            [5, 11, 21, 31].iter().for_each(|k| check_said(samples, &format!("median of {k}"), median(last(*k))));
            for k in [31, 51] {
                let mut sorted = last(k).to_vec();
                sorted.sort_by(f64::total_cmp);
                let n_cut = sorted.len() * 15 / 100;
                let expected = mean(&sorted[n_cut..sorted.len() - n_cut]);
                check_said(samples, &format!("trimmed mean of {k}"), expected);
            }
        }
    }

    #[test]
    fn smoothing_weighs_the_past_by_powers() {
        let row = row();
        let level = row.iter().skip(1).fold(row[0], |level, sample| 0.7 * level + 0.3 * sample);
        check_said(&row, "smoothing by 0.3", level);
    }

    /// Checks the forecasts of adapted windows, with every window worked out from the samples themselves.
    #[track_caller]
    fn check_adapted(name: &str, of: impl Fn(&[f64]) -> f64) {
        let row: Vec<f64> = (0..90).map(|t| f64::from(t * 31 % 17) + if t > 50 { 40.0 } else { 0.0 }).collect();
        let mut length = 2;
        for n in 3..=row.len() {
            let error = |length: usize| (row[n - 1] - of(&row[n - 1 - length..n - 1])).abs();
            let lengths = [length, length - 1, length + 1].into_iter().filter(|k| (2..=51.min(n - 1)).contains(k));
            length = lengths.reduce(|best, next| if error(next) < error(best) { next } else { best }).unwrap();
            check_said(&row[..n], name, of(&row[n - length..n]));
        }
    }

    #[test]
    fn adapted_windows_follow_what_would_have_been_best() {
        check_adapted("adaptive mean", |window| window.iter().sum::<f64>() / window.len() as f64);
        check_adapted("adaptive median", median);
    }

    #[test]
    fn the_adapted_gain_rises_on_a_ramp_and_falls_on_noise() {
        let gain = |samples: Vec<f64>| {
            let mut panel = Panel::new();
            samples.iter().for_each(|sample| panel.step(*sample));
            panel.members.iter().find_map(|member| match member {
                Member::Gradient { gain, .. } => Some(*gain),
                _ => None,
            })
        };
        assert_eq!(gain((0..400).map(f64::from).collect()), Some(1.0));
        let alternating = (0..400).map(|t| f64::from(t % 2)).collect();
        assert!(gain(alternating).is_some_and(|gain| gain < 0.05));
    }

    #[test]
    fn samples_at_the_ends_of_the_numbers_leave_numbers() {
        let mut samples = vec![f64::MAX; 60];
        samples.extend([f64::MIN; 60]);
        samples.extend([5e-324, -0.0, 0.0, 1.0, f64::MAX]);
        assert!(said(&samples).iter().all(|(_, prediction)| prediction.is_finite()));
    }
}
