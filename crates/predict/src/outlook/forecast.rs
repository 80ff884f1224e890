//! Forecasts of an outlook: quantiles and intervals at each lead, and whole futures.

use statistics::Interval;
use units::Confidence;

use super::drift::Drift;
use super::rung::Persistence;
use super::view::OutlookView;
use super::{Outlook, Paths, Scale};

/// Place of a lead between watched ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The index of the watched lead at or below it.
    pub(super) below: usize,
    /// The index of the next watched lead, or the same if there is none.
    pub(super) above: usize,
    /// The share of the way to it.
    pub(super) share: f64,
}

impl Outlook {
    /// The value below which the sample `lead` steps ahead stays with this probability; `None` while there is no
    /// forecast.
    ///
    /// # Panics
    /// When `lead` is 0, or `probability` is not in (0, 1).
    #[must_use]
    pub fn quantile(&self, lead: usize, probability: f64) -> Option<f64> {
        assert!(lead > 0, "the next sample has lead 1");
        check(probability);
        let [value] = self.ready()?.at_lead(lead, [probability])?;
        Some(value)
    }

    /// The median and the central interval at one lead; `None` while there is no forecast.
    ///
    /// # Panics
    /// When `lead` is 0.
    #[must_use]
    pub fn forecast_at(&self, lead: usize, confidence: Confidence) -> Option<(f64, Interval)> {
        assert!(lead > 0, "the next sample has lead 1");
        self.ready()?.at_lead(lead, of_interval(confidence)).map(told)
    }

    /// The medians and the central intervals of leads 1 to `n_leads`; empty while there is no forecast.
    #[must_use]
    pub fn forecast(&self, n_leads: usize, confidence: Confidence) -> Vec<(f64, Interval)> {
        let each = self.ready().map(|view| view.at_each(n_leads, of_interval(confidence)).map(told));
        each.into_iter().flatten().collect()
    }

    /// [`Outlook::quantile`] of leads 1 to `n_leads`; empty while there is no forecast.
    ///
    /// # Panics
    /// When `probability` is not in (0, 1).
    #[must_use]
    pub fn quantiles(&self, n_leads: usize, probability: f64) -> Vec<f64> {
        check(probability);
        let each = self.ready().map(|view| view.at_each(n_leads, [probability]).map(|[value]| value));
        each.into_iter().flatten().collect()
    }

    /// Returns what is forecast from here; `None` while there are too few samples.
    pub(super) fn ready(&self) -> Option<OutlookView<'_>> {
        self.is_ready().then(|| self.view(&[]))
    }

    /// Returns what is forecast from here beside an ensemble, whose means are in the unit of the series, that of lead 1
    /// first; those of long leads may be missing.
    pub(crate) fn view<'a>(&'a self, ensemble: &'a [f64]) -> OutlookView<'a> {
        OutlookView { outlook: self, ensemble, line: self.line() }
    }

    /// The nearest value that a sample can have: where all were multiples of one number, as counts are, and within ends
    /// that were reached again and again and never passed.
    #[must_use]
    pub fn nearest(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        self.ends.nearest(self.grid.nearest(value)).clamp(low, high)
    }

    /// Futures drawn by chance, each from lead 1 to `n_leads`; none while there is no forecast. The same seed draws the
    /// same ones. Where all samples were multiples of one number, so are theirs.
    #[must_use]
    pub fn paths(&self, n_paths: usize, n_leads: usize, seed: u64) -> Paths {
        self.ready().map_or_else(|| Paths::new(n_paths, n_leads), |view| view.paths(n_paths, n_leads, seed))
    }

    /// Returns the persistence of errors at a lead from those one step before: as on the way between the watched leads
    /// around it, or for a watched lead on the way to it.
    pub(super) fn persistence(&self, Place { below, above, share }: Place) -> Persistence {
        if self.drift().is_some() {
            // For how long it goes on is drawn once; the rest passes.
            return Persistence { kept: 1.0, passing: 1.0 };
        }
        let end = if share > 0.0 { above } else { below };
        match end.checked_sub(1) {
            Some(start) => self.rungs[end].persistence(self.rungs[start].lead),
            None => Persistence { kept: 0.0, passing: 0.0 },
        }
    }

    /// The nearest forecast that is no farther from all samples so far than they ever moved over the lead. Only a
    /// [drift](Outlook::drift) leads beyond.
    pub(super) fn within_movement(&self, lead: usize, Place { below, above, share }: Place, forecast: f64) -> f64 {
        // What is farther than was ever seen moves on as over the longest lead that was.
        let seen = self.rungs.partition_point(|rung| rung.n() > 0.0);
        let Some(longest) = seen.checked_sub(1) else { return forecast };
        let [near, far] = [below, above].map(|idx| self.rungs[idx.min(longest)].extremes.movement());
        let longer = (lead as f64 / self.rungs[longest].lead as f64).max(1.0);
        let movement = |side: usize| longer * between(near[side], far[side], share);
        let (least, largest) = self.ends.seen();
        let [low, high] = [least - movement(0), largest + movement(1)].map(|value| self.transform.to_scale(value));
        forecast.clamp(low, high)
    }

    /// Returns the line that the series follows since it began, and the last lead before it leads on: the longest one
    /// of whose errors a whole length is known.
    pub(super) fn line(&self) -> Option<(usize, Drift)> {
        let line = self.level.line()?;
        let known = self.rungs.iter().rev().find(|rung| rung.n_leads() >= 1.0);
        Some((known.map_or(0, |rung| rung.lead), line))
    }

    /// Returns the distance from its mean that a series gets to by a lead: anywhere, but on a scale where errors are
    /// factors no further than it ever did, or would have in as many steps. There a few wild samples of a young series
    /// would have it reach to a million times what was ever there.
    pub(super) fn reach(&self, lead: f64) -> f64 {
        let longer = (lead / self.level.n()).max(1.0).sqrt();
        if self.transform.scale == Scale::Linear { f64::INFINITY } else { self.level.furthest() * longer }
    }

    /// Returns the place where the errors of a lead are counted. How far a drift gets is drawn by itself: then they are
    /// those of the next step.
    pub(super) fn place_of_errors(&self, lead: usize) -> Place {
        self.place(if self.drift().is_some() { 1 } else { lead })
    }

    pub(super) fn place(&self, lead: usize) -> Place {
        let below = self.rungs.partition_point(|rung| rung.lead <= lead).saturating_sub(1);
        let above = (below + 1).min(self.rungs.len() - 1);
        let way = self.rungs[above].lead - self.rungs[below].lead;
        let share = if way > 0 { (lead - self.rungs[below].lead) as f64 / way as f64 } else { 0.0 };
        Place { below, above, share }
    }
}

/// The probabilities of the median and of the ends of a central interval.
fn of_interval(confidence: Confidence) -> [f64; 3] {
    let tail = 0.5 * (1.0 - confidence.probability());
    [0.5, tail, 1.0 - tail]
}

fn told([median, lower, upper]: [f64; 3]) -> (f64, Interval) {
    (median, Interval { lower, upper })
}

fn check(probability: f64) {
    assert!(probability > 0.0 && probability < 1.0, "{probability} is not the probability of a quantile");
}

pub(super) fn between(near: f64, far: f64, share: f64) -> f64 {
    near + share * (far - near)
}

pub(super) fn all_between<const N: usize>(near: &[f64; N], far: &[f64; N], share: f64) -> [f64; N] {
    std::array::from_fn(|idx| between(near[idx], far[idx], share))
}
