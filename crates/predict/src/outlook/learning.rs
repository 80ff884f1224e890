//! Learning at each step: forecasts that are due are scored, regressions and weights are found anew, and new forecasts
//! are noted.

use super::rung::{OF_LAST, OF_LONG_NAIVE, OF_NAIVE, Said};
use super::view::OutlookView;
use super::{N_LEVELS, N_LONG_PERIODS_MIN, OF_CUT, Outlook, dot, seasonal};

impl Outlook {
    pub(super) fn score(&mut self, sample: f64) {
        for idx in 0..self.rungs.len() {
            if let Some((origin, error)) =
                self.rungs[idx].score(self.clock, sample, self.cut, self.period, self.transform)
                && let Some(next) = self.rungs.get_mut(idx + 1)
            {
                next.hear(origin, error);
            }
        }
    }

    /// Begins anew with regressors of seasons that were found, or are gone.
    pub(super) fn forget(&mut self, regressors: impl Iterator<Item = usize>) {
        let mut has_changed = false;
        for regressor in regressors {
            has_changed = true;
            self.rungs.iter_mut().for_each(|rung| rung.forget(N_LEVELS + regressor));
        }
        if has_changed && !self.season.is_given() {
            self.seasonal = self.found().first().map(|season| seasonal(&self.rungs, season.period));
        }
    }

    pub(super) fn fit(&mut self) {
        let deviation = self.level.typical();
        let mut shorter = None;
        for rung in &mut self.rungs {
            rung.fit(shorter.as_ref(), deviation);
            shorter = Some(rung.lasting);
        }
    }

    pub(super) fn weigh(&mut self) {
        let mut of_last = 1.0;
        let long = self.periods().0[1];
        let is_long_known = long > 0.0 && self.clock as f64 > N_LONG_PERIODS_MIN * long;
        let has_line = self.level.line().is_some();
        for rung in &mut self.rungs {
            // After a whole period the last sample seems good again, only because it has the same phase.
            let is_within_half = self.seasonal.is_none_or(|season| 2.0 * (rung.lead as f64) < season.period);
            rung.weigh(if is_within_half { 1.0 } else { of_last }, is_long_known, has_line);
            if is_within_half {
                of_last = rung.weights[OF_LAST];
            }
        }
    }

    pub(super) fn note(&mut self, ensemble: &[f64], heard: &impl Fn(usize) -> Option<f64>) {
        if !self.is_begun() {
            return;
        }
        let (origin, line) = (self.clock - 1, self.line());
        for idx in 0..self.rungs.len() {
            let rung = &self.rungs[idx];
            if !rung.is_due(origin) {
                continue;
            }
            let (mut features, naive) = self.features(rung.lead);
            let view = OutlookView { outlook: self, ensemble, line };
            let beside = [view.ensemble_at(rung.lead), view.line_at(rung.lead)];
            let mut candidates = self.candidates(&features, naive, beside, &rung.lasting, &rung.plain);
            let own = view.onward(rung.lead).unwrap_or_else(|| dot(&candidates, &rung.weights));
            if self.seasonal.is_some_and(|season| ((self.clock + rung.lead as u64) as f64) < season.period) {
                // Until a phase comes again, the last sample there is worth no more than the mean.
                (candidates[OF_NAIVE], candidates[OF_LONG_NAIVE]) = (self.level.mean(), self.level.mean());
            }
            if self.level.drift().is_some() {
                // Deviations from a mean that lags behind a drift say nothing of the season.
                features[N_LEVELS..].fill(0.0);
            }
            let heard = heard(rung.lead).map_or(f64::NAN, |value| self.transform.to_scale(value));
            let pull = if heard.is_nan() { 0.0 } else { rung.weight_of_heard() * (heard + rung.bias() - own) };
            let level = self.level.mean();
            let combined = self.drift().map_or_else(
                || self.within_movement(rung.lead, self.place(rung.lead), own + pull),
                |drift| drift(rung.lead, 0.5),
            );
            let said = Said { origin, level, features, candidates, combined, own, heard, shorter: f64::NAN };
            self.rungs[idx].note(said);
            let rung = &mut self.rungs[idx];
            rung.pull = pull;
            let distances = candidates.iter().zip(rung.weights);
            let distance: f64 = distances.map(|(candidate, weight)| weight * (candidate - own).abs()).sum();
            rung.disagreement = distance + OF_CUT * self.cut.abs();
        }
    }
}
