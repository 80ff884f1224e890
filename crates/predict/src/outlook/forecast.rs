//! Forecasts of an outlook: quantiles and intervals at each lead, and whole futures.

use statistics::Interval;
use units::Confidence;

use super::drawing::Drawing;
use super::paths::Shocks;
use super::rung::{NORMAL_DEVIATION, Persistence, Rung};
use super::{Outlook, Paths, Scale, dot};
use crate::intervals::Shares;

/// Errors that the distribution at the next shorter watched lead counts for, and at lead 1 the normal one.
const N_SHORTER: f64 = 10.0;
const N_FIRST: f64 = 30.0;

/// Lengths of a lead that have to pass until its errors are known.
const N_KNOWN: f64 = 2.0;

/// So many standard deviations of errors that were not seen yet are no more than the reach of the series.
const REACH_WALK: f64 = 2.0;

/// Errors of so many standard deviations are possible, whatever the reach.
const REACH_ERROR: f64 = 3.0;

/// A series that is adrift stays on the nearer side of where it is now with this probability, whatever errors were
/// before.
const REACHED: f64 = 0.9;

/// Units that errors are multiples of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// The median itself, in the unit of the series and as a quantile of the distribution.
    median: f64,
    centre: f64,
    unit: f64,
    /// The units next to the median, below and above it, and the quantiles up to which they hold.
    below: (f64, f64),
    above: (f64, f64),
    /// No error is below or above these.
    range: (f64, f64),
}

impl Units {
    /// The error that is this quantile of the distribution.
    pub(super) fn of(self, quantile: f64) -> f64 {
        let (unit, end) = if quantile < self.centre { self.below } else { self.above };
        let (low, high) = if quantile < self.centre { (end, self.centre) } else { (self.centre, end) };
        let near = quantile.clamp(low, high);
        let error = self.median + (near - self.centre) * unit + (quantile - near) * self.unit;
        error.clamp(self.range.0, self.range.1)
    }
}

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
        self.is_ready().then(|| {
            let [value] = self.at(lead, [probability], &self.errors_at([probability]));
            value
        })
    }

    /// The median and the central interval at one lead; `None` while there is no forecast.
    ///
    /// # Panics
    /// When `lead` is 0.
    #[must_use]
    pub fn forecast_at(&self, lead: usize, confidence: Confidence) -> Option<(f64, Interval)> {
        assert!(lead > 0, "the next sample has lead 1");
        let probabilities = of_interval(confidence);
        self.is_ready().then(|| told(self.at(lead, probabilities, &self.errors_at(probabilities))))
    }

    /// The medians and the central intervals of leads 1 to `n_leads`; empty while there is no forecast.
    #[must_use]
    pub fn forecast(&self, n_leads: usize, confidence: Confidence) -> Vec<(f64, Interval)> {
        self.at_each(n_leads, of_interval(confidence)).map(told).collect()
    }

    /// [`Outlook::quantile`] of leads 1 to `n_leads`; empty while there is no forecast.
    ///
    /// # Panics
    /// When `probability` is not in (0, 1).
    #[must_use]
    pub fn quantiles(&self, n_leads: usize, probability: f64) -> Vec<f64> {
        check(probability);
        self.at_each(n_leads, [probability]).map(|[value]| value).collect()
    }

    /// The values below which the sample at each lead stays with these probabilities; none while there is no forecast.
    pub(crate) fn at_each<const N: usize>(
        &self,
        n_leads: usize,
        probabilities: [f64; N],
    ) -> impl Iterator<Item = [f64; N]> + '_ {
        let errors = if self.is_ready() { self.errors_at(probabilities) } else { Vec::new() };
        let n_leads = if self.is_ready() { n_leads } else { 0 };
        (1..=n_leads).map(move |lead| self.at(lead, probabilities, &errors))
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
        if !self.is_ready() {
            return Paths::new(n_paths, n_leads);
        }
        let mut shocks = Shocks::new(n_paths, seed);
        let mut drawing = Drawing::new(self, n_paths, n_leads);
        for _ in 0..n_leads {
            if drawing.go_on(shocks.next()) {
                drawing.pass(shocks.next());
            }
            drawing.push();
        }
        drawing.into_paths()
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

    /// Returns the combined forecast of all candidates.
    pub(super) fn combined(&self, lead: usize, place: Place) -> f64 {
        let Place { below, above, share } = place;
        let (near, far) = (&self.rungs[below], &self.rungs[above]);
        let lasting = all_between(&near.lasting, &far.lasting, share);
        let plain = all_between(&near.plain, &far.plain, share);
        let (features, naive) = self.features(lead);
        let candidates = self.candidates(&features, naive, &lasting, &plain);
        let own = dot(&candidates, &all_between(&near.weights, &far.weights, share));
        let moved = self.moved.get(lead - 1).unwrap_or(&0.0);
        self.within_movement(lead, place, own + between(near.pull, far.pull, share) + moved)
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

    /// Quantiles at a lead, by [`Outlook::errors_at`] of the same probabilities.
    pub(super) fn at<const N: usize>(&self, lead: usize, probabilities: [f64; N], errors: &[[f64; N]]) -> [f64; N] {
        let said = self.combined(lead, self.place(lead));
        let Place { below, above, share } = self.place_of_errors(lead);
        std::array::from_fn(|idx| {
            let central = self.drift().map_or(said, |drift| drift(lead, probabilities[idx]));
            let value = central + between(errors[below][idx], errors[above][idx], share);
            self.ends.nearest(self.transform.to_value(value))
        })
    }

    /// The quantiles of errors at each watched lead.
    pub(super) fn errors_at<const N: usize>(&self, probabilities: [f64; N]) -> Vec<[f64; N]> {
        let of_lead =
            |(shares, units): &(Shares, Units)| probabilities.map(|probability| units.of(shares.quantile(probability)));
        self.errors().iter().map(of_lead).collect()
    }

    /// The distribution of errors at each watched lead, and its units.
    pub(super) fn errors(&self) -> Vec<(Shares, Units)> {
        let mut shares = Shares::NORMAL;
        // A first forecast errs as samples differ from their mean; longer ones, until they are known, as a random walk.
        let first = NORMAL_DEVIATION * self.level.typical();
        let (mut expected, mut largest, mut shorter) = (first, f64::INFINITY, 1.0);
        let of_rung = |(idx, rung): (usize, &Rung)| {
            rung.tails.mix_into(&mut shares, if idx == 0 { N_FIRST } else { N_SHORTER });
            let lead = rung.lead as f64;
            let walk = (expected * (lead / shorter).sqrt()).min((self.reach(lead) / REACH_WALK).max(first));
            expected = between(walk, rung.unit(), (rung.n_leads() / N_KNOWN).min(1.0));
            // As long as none was seen, the largest error grows in a straight line.
            let n_seen = rung.n_leads();
            largest = if n_seen > 0.0 { rung.extremes.error_max(n_seen) } else { largest * lead / shorter };
            shorter = lead;
            (shares, self.units(rung.lead, expected, largest, &shares))
        };
        self.rungs.iter().enumerate().map(of_rung).collect()
    }

    /// Returns the units of the errors at a watched lead, where the errors are expected to be this large. `largest` is
    /// the largest to be stated, in the unit of the series.
    fn units(&self, lead: usize, expected: f64, largest: f64, shares: &Shares) -> Units {
        let centre = shares.quantile(0.5);
        let range = (-largest, largest);
        let ends = [1.0 - REACHED, REACHED].map(|probability| (expected, shares.quantile(probability)));
        let mut units =
            Units { median: expected * centre, centre, unit: expected, below: ends[0], above: ends[1], range };
        let (is_adrift, reach) = (self.level.is_adrift(), self.reach(lead as f64));
        if !is_adrift && reach.is_infinite() {
            return units;
        }
        let said = self.combined(lead, self.place(lead));
        let value = self.transform.to_value(said);
        let [low, high] = [value - largest, value + largest].map(|value| self.transform.to_scale(value) - said);
        let (mean, most) = (self.level.mean() - said, REACH_ERROR * expected);
        units.range = ((mean - reach).min(-most).max(low), (mean + reach).max(most).min(high));
        // Whether it comes back from where it never was, and when, is not known.
        if is_adrift {
            let away = self.level.last_without_season() + self.seasonal_at(lead) - said - units.median;
            for (unit, end) in [&mut units.below, &mut units.above] {
                *unit = unit.max(away / (*end - centre));
            }
            units.range = (units.range.0.min(away), units.range.1.max(away));
        }
        units
    }

    /// Returns the distance from its mean that a series gets to by a lead: anywhere, but on a scale where errors are
    /// factors no further than it ever did, or would have in as many steps. There a few wild samples of a young series
    /// would have it reach to a million times what was ever there.
    fn reach(&self, lead: f64) -> f64 {
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

fn all_between<const N: usize>(near: &[f64; N], far: &[f64; N], share: f64) -> [f64; N] {
    std::array::from_fn(|idx| between(near[idx], far[idx], share))
}
