//! Where a forecast of the next steps and an outlook meet: what each says of the same steps, and how that reaches beyond.

use units::Confidence;

use crate::forecast::{Forecast, half_width};

/// What another forecast says of a step: the mean over it, and how far that errs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The mean over the step.
    pub mean: f64,
    /// The standard deviation of normal errors whose 80 % interval is as wide; 0 for what is known.
    pub deviation: f64,
}

/// How an outlook is moved at a lead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bend {
    /// Added to what it says.
    pub(super) shift: f64,
    /// What its errors are multiplied by.
    pub(super) scale: f64,
}

impl Near {
    /// The means over steps of `n_fine` finer ones, as far as `forecast` has whole ones, where the first of them begins `known.len()` steps before the forecast does:
    /// those are known, NaN for a gap.
    ///
    /// Errors of neighbouring leads are taken for the same but for a part that is new in each of them, which is as large as the error of the
    /// first lead.
    ///
    /// # Panics
    /// When `n_fine` is 0.
    #[must_use]
    pub fn of(forecast: &Forecast, known: &[f64], n_fine: usize) -> Vec<Self> {
        assert!(n_fine > 0, "a step has at least one finer one");
        let normal = 2.0 * half_width(Confidence::P80);
        // Standard errors are of squares; what a few large errors make of them says little of how wide most of them are.
        let errors: Vec<f64> = forecast.intervals(Confidence::P80).map(|at| (at.upper - at.lower) / normal).collect();
        let (Some(fresh), n_all) = (errors.first(), known.len() + errors.len()) else {
            return Vec::new();
        };
        let step = |first: usize| {
            let known = &known[first.min(known.len())..(first + n_fine).min(known.len())];
            let is_known = |sample: &&f64| !sample.is_nan();
            let (n_known, sum) = known.iter().filter(is_known).fold((0.0, 0.0), |(n, sum), one| (n + 1.0, sum + one));
            let n_known_before = first.saturating_sub(n_all - errors.len());
            let leads = n_known_before..n_known_before + n_fine - known.len();
            let means: f64 = forecast.means()[leads.clone()].iter().sum();
            let n_leads = leads.len() as f64;
            let square = |error: &f64| (error * error - fresh * fresh).max(0.0);
            let lasting = errors[leads].iter().map(square).sum::<f64>() / n_leads.max(1.0);
            let n = n_known + n_leads;
            let error = n_leads / n * (lasting + fresh * fresh / n_leads.max(1.0)).sqrt();
            Self { mean: (sum + means) / n, deviation: error }
        };
        let steps = (0..n_all / n_fine).map(|idx| step(idx * n_fine));
        steps.take_while(|near| near.mean.is_finite() && near.deviation.is_finite()).collect()
    }
}

/// The bends of all leads. Where `near` has a word it is taken: the coarse forecast is the mean of the fine ones (bottom-up, Athanasopoulos et al. 2017). Beyond,
/// the last lead of `near` counts by the inverse of its variance, as far as errors go together with those at that lead (normal errors in a Markov
/// chain).
///
/// `said` has the median of each lead and the deviation of its error, as [`Near`] has; `kept` says how the lasting part of the error goes together with that of
/// the lead before: what is new in each sample is in no forecast.
pub(super) fn bends(near: &[Near], said: &[(f64, f64)], kept: &[f64]) -> Vec<Bend> {
    let mut bends: Vec<Bend> = Vec::with_capacity(said.len());
    let mut known = 0.0;
    for (idx, (median, deviation)) in said.iter().enumerate() {
        if let Some(Near { mean, deviation: near }) = near.get(idx) {
            let scale = if *deviation > 0.0 { near / deviation } else { 1.0 };
            bends.push(Bend { shift: mean - median, scale });
            known = 1.0;
            continue;
        }
        let Some(last) = near.len().min(idx).checked_sub(1) else { break };
        known *= kept[idx];
        let (meeting, unit) = (bends[last], said[last].1);
        let ratio = if unit > 0.0 { deviation / unit } else { 0.0 };
        let variance = 1.0 - known * known * (1.0 - meeting.scale * meeting.scale);
        // The two are weighed by the inverse of their variances.
        let weight = 1.0 / (1.0 + meeting.scale * meeting.scale);
        bends.push(Bend { shift: weight * known * ratio * meeting.shift, scale: variance.max(0.0).sqrt() });
    }
    bends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_mean_of_finer_ones_known_or_forecast() {
        let forecast = Forecast::new(vec![4.0, 6.0, 8.0, 9.0], vec![1.0, 1.0, 1.0, 1.0]);
        let near = Near::of(&forecast, &[1.0, f64::NAN], 3);
        assert_eq!(near.iter().map(|near| near.mean).collect::<Vec<_>>(), [2.5, 23.0 / 3.0]);
        // White noise: half of two values is unknown, then a third of the variance is left.
        assert!((near[0].deviation - 0.5).abs() < 1e-12, "{near:?}");
        assert!((near[1].deviation - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{near:?}");
        let all_known = Near::of(&forecast, &[1.0, 2.0], 2);
        assert_eq!(all_known[0], Near { mean: 1.5, deviation: 0.0 });
        assert_eq!(Near::of(&Forecast::default(), &[1.0], 1), []);
    }

    #[test]
    fn what_is_known_of_the_last_near_step_wears_off() {
        let near = [Near { mean: 3.0, deviation: 0.5 }];
        let bends = bends(&near, &[(1.0, 1.0); 4], &[0.5; 4]);
        assert_eq!(bends.iter().map(|bend| bend.shift).collect::<Vec<_>>(), [2.0, 0.8, 0.4, 0.2]);
        assert_eq!(bends[0].scale, 0.5);
        assert!(bends.windows(2).all(|pair| pair[0].scale < pair[1].scale && pair[1].scale < 1.0), "{bends:?}");
    }
}
