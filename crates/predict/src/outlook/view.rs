//! The distribution of an outlook's forecast at each lead, maybe beside the forecast of an ensemble.

use std::ops::Deref;

use super::drawing::Drawing;
use super::drift::Drift;
use super::forecast::{Place, all_between, between};
use super::moments::{self, ErrorSpread};
use super::paths::Shocks;
use super::rung::{ENSEMBLE_LEAD_MAX, NORMAL_DEVIATION, Rung};
use super::{Outlook, Paths, SAMPLE_MAX, dot};
use crate::intervals::{Reach, Shares, Widest, stretch};
use crate::ladder::DENSE;

/// Errors that the distribution at the next shorter watched lead counts for, and at lead 1 the normal one.
const N_SHORTER: f64 = 10.0;
const N_FIRST: f64 = 30.0;

/// Lengths of a lead that have to pass until its errors are known.
const N_KNOWN: f64 = 2.0;

/// Lengths of a lead after which half of the median of its errors moves the forecast: all errors across one shift are
/// on the same side.
const N_BIAS: f64 = 5.0;

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

/// An outlook at its last sample, beside the forecast of an ensemble of other models.
#[derive(Clone, Copy)]
pub(crate) struct OutlookView<'a> {
    pub(super) outlook: &'a Outlook,
    /// Means in the unit of the series, that of lead 1 first; those of long leads may be missing.
    pub(super) ensemble: &'a [f64],
    /// The longest lead of which a whole length is known, and the line that leads on beyond it.
    pub(super) line: Option<(usize, Drift)>,
}

impl Deref for OutlookView<'_> {
    type Target = Outlook;

    fn deref(&self) -> &Outlook {
        self.outlook
    }
}

impl<'a> OutlookView<'a> {
    /// Returns the values below which the sample at `lead` stays with these probabilities; `None` while there is no
    /// forecast.
    pub(crate) fn at_lead<const N: usize>(self, lead: usize, probabilities: [f64; N]) -> Option<[f64; N]> {
        self.is_begun().then(|| self.at(lead, probabilities, &self.errors_at(probabilities)))
    }

    /// Returns the values below which the sample at each lead stays with these probabilities; none while there is no
    /// forecast.
    pub(crate) fn at_each<const N: usize>(
        self,
        n_leads: usize,
        probabilities: [f64; N],
    ) -> impl Iterator<Item = [f64; N]> + 'a {
        let errors = if self.is_begun() { self.errors_at(probabilities) } else { Vec::new() };
        let n_leads = if self.is_begun() { n_leads } else { 0 };
        (1..=n_leads).map(move |lead| self.at(lead, probabilities, &errors))
    }

    /// Writes medians and standard errors of leads 1, 2, …, and if asked for the reaches of [`DENSE`] leads; nothing
    /// while there is no forecast.
    ///
    /// On the scale of the outlook, the standard error of a lead between two of [`DENSE`] lies on a straight line.
    pub(crate) fn forecast_into(
        self,
        medians: &mut [f64],
        standard_errors: &mut [f64],
        reaches: Option<&mut Vec<Reach>>,
    ) {
        if !self.is_begun() {
            return;
        }
        let errors = self.errors_at(moments::PROBABILITIES);
        let n_dense = DENSE.leads.partition_point(|lead| *lead < medians.len()) + 1;
        let mut widest = Widest::default();
        let spread = |lead: &usize| {
            let quantiles = self.at(*lead, moments::PROBABILITIES, &errors);
            let ErrorSpread { deviation, reach } = ErrorSpread::of(&quantiles);
            let deviation = deviation / self.transform.width(moments::median(&quantiles));
            let reach = if deviation > 0.0 { widest.widen(reach, deviation) } else { reach };
            (moments::median(&quantiles), ErrorSpread { deviation, reach })
        };
        let dense: Vec<(f64, ErrorSpread)> = DENSE.leads.iter().take(n_dense).map(spread).collect();
        let of_median: Vec<[f64; 1]> = errors.iter().map(|of| [moments::median(of)]).collect();
        for (lead, (median, standard_error)) in (1..).zip(medians.iter_mut().zip(standard_errors)) {
            let (below, share) = DENSE.place(lead);
            let (near, far) = (&dense[below], &dense[(below + 1).min(dense.len() - 1)]);
            *median =
                if share == 0.0 && lead == DENSE.leads[below] { near.0 } else { self.at(lead, [0.5], &of_median)[0] };
            *standard_error = between(near.1.deviation, far.1.deviation, share) * self.transform.width(*median);
        }
        if let Some(reaches) = reaches {
            reaches.extend(dense.iter().map(|(_, spread)| spread.reach));
            reaches.resize(DENSE.leads.len(), reaches[reaches.len() - 1]);
        }
    }

    /// Draws paths as [`Outlook::paths`] does.
    pub(crate) fn paths(self, n_paths: usize, n_leads: usize, seed: u64) -> Paths {
        if !self.is_begun() {
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

    /// Returns the forecast at a lead: that of all candidates, moved towards forecasts in steps of other lengths.
    pub(super) fn combined(&self, lead: usize, place: Place) -> f64 {
        let pull = between(self.rungs[place.below].pull, self.rungs[place.above].pull, place.share);
        let moved = self.moved.get(lead - 1).unwrap_or(&0.0);
        self.within_movement(lead, place, self.own(lead, place) + pull + moved)
    }

    /// Returns the forecast of all candidates together.
    fn own(&self, lead: usize, place: Place) -> f64 {
        if let Some(onward) = self.onward(lead) {
            return onward;
        }
        let Place { below, above, share } = place;
        let (near, far) = (&self.rungs[below], &self.rungs[above]);
        let lasting = all_between(&near.lasting, &far.lasting, share);
        let plain = all_between(&near.plain, &far.plain, share);
        let (features, naive) = self.features(lead);
        let beside = [self.ensemble_at(lead), self.line_at(lead)];
        let candidates = self.candidates(&features, naive, beside, &lasting, &plain);
        dot(&candidates, &all_between(&near.weights, &far.weights, share))
    }

    /// Returns the forecast by the line that the series follows.
    pub(super) fn line_at(&self, lead: usize) -> Option<f64> {
        self.line.map(|(_, line)| self.level.last() + line.slope() * lead as f64)
    }

    /// Returns the line that the series follows, if nothing else is known of a lead, and the last lead before it.
    fn line_beyond(&self, lead: usize) -> Option<(usize, Drift)> {
        self.line.filter(|(known, _)| lead > *known)
    }

    /// Returns the forecast at a lead of which nothing is known but the line that the series follows; `None` at other
    /// leads.
    pub(super) fn onward(&self, lead: usize) -> Option<f64> {
        let (known, line) = self.line_beyond(lead)?;
        let from = if known == 0 { self.level.last() } else { self.own(known, self.place(known)) };
        Some(from + line.quantile_beyond(known, lead, 0.5))
    }

    /// Returns the centre of the errors at a lead whose forecast is `said`, by the probability of the quantile: it is
    /// not known how far a drift or a line leads.
    pub(super) fn centre(&self, lead: usize, said: f64) -> impl Fn(f64) -> f64 {
        let drift = self.drift();
        let line = self.line_beyond(lead).map(|(known, line)| {
            let median = line.quantile_beyond(known, lead, 0.5);
            move |probability| line.quantile_beyond(known, lead, probability) - median
        });
        move |probability| match (&drift, &line) {
            (Some(drift), _) => drift(lead, probability),
            (None, Some(from_median)) => said + from_median(probability),
            (None, None) => said,
        }
    }

    /// Returns the forecast of the ensemble, on the scale of the outlook.
    pub(super) fn ensemble_at(&self, lead: usize) -> Option<f64> {
        let mean = self.ensemble.get(lead - 1).filter(|mean| lead <= ENSEMBLE_LEAD_MAX && mean.abs() <= SAMPLE_MAX)?;
        Some(self.transform.to_scale(*mean))
    }

    /// Quantiles at a lead, by [`OutlookView::errors_at`] of the same probabilities.
    pub(super) fn at<const N: usize>(&self, lead: usize, probabilities: [f64; N], errors: &[[f64; N]]) -> [f64; N] {
        let said = self.combined(lead, self.place(lead));
        let Place { below, above, share } = self.place_of_errors(lead);
        let centre = self.centre(lead, said);
        std::array::from_fn(|idx| {
            let value = centre(probabilities[idx]) + between(errors[below][idx], errors[above][idx], share);
            self.ends.nearest(self.transform.to_value(value))
        })
    }

    /// The quantiles of errors at each watched lead.
    pub(super) fn errors_at<const N: usize>(&self, probabilities: [f64; N]) -> Vec<[f64; N]> {
        let of_lead =
            |(shares, units): (Shares, Units)| probabilities.map(|probability| units.of(shares.quantile(probability)));
        self.errors().map(of_lead).collect()
    }

    /// The distribution of errors at each watched lead, and its units.
    pub(super) fn errors(&self) -> impl Iterator<Item = (Shares, Units)> {
        let mut shares = Shares::NORMAL;
        // A first forecast errs as samples differ from their mean; longer ones, until they are known, as a random walk.
        let first = NORMAL_DEVIATION * self.level.typical();
        let (mut expected, mut shorter) = (first, 1.0);
        // Not every lead is watched at every step: none is known better than a shorter one.
        let [sample, counted] = [self.cut, 0.0].map(|cut| self.transform.to_value(self.level.last() + cut));
        let mut largest = (sample - counted).abs();
        // Errors that were not seen yet are expected from few samples (Student's t).
        let few = stretch(1.0 + 2.0 * self.level.n());
        let of_rung = move |(idx, rung): (usize, &'a Rung)| {
            rung.tails.mix_into(&mut shares, if idx == 0 { N_FIRST } else { N_SHORTER });
            let lead = rung.lead as f64;
            let walk = (expected * (lead / shorter).sqrt()).min((self.reach(lead) / REACH_WALK).max(first));
            let known = (rung.n_leads() / N_KNOWN).min(1.0);
            expected = between(walk, rung.unit(), known);
            let unit = between(few * walk, rung.unit(), known);
            let bias = rung.n_leads() / (rung.n_leads() + N_BIAS) * shares.quantile(0.5) * rung.usual_unit();
            // As long as none was seen, the largest error grows in a straight line.
            let n_seen = rung.n_leads();
            let seen = rung.extremes.error_max(n_seen);
            largest = if n_seen > 0.0 || idx == 0 { largest.max(seen) } else { largest * lead / shorter };
            shorter = lead;
            (shares, self.units(rung.lead, unit, bias, largest, &shares))
        };
        self.outlook.rungs.iter().enumerate().map(of_rung)
    }

    /// Returns the units of the errors at a watched lead, where the errors are expected to be this large and their
    /// median to be `bias`. `largest` is the largest to be stated, in the unit of the series.
    fn units(&self, lead: usize, expected: f64, bias: f64, largest: f64, shares: &Shares) -> Units {
        let centre = shares.quantile(0.5);
        let range = (-largest, largest);
        let ends = [1.0 - REACHED, REACHED].map(|probability| shares.quantile(probability));
        let median = bias.max(expected * ends[0]).min(expected * ends[1]);
        let [below, above] = ends.map(|end| {
            let unit = if end == centre { expected } else { (expected * end - median) / (end - centre) };
            (unit, end)
        });
        let mut units = Units { median, centre, unit: expected, below, above, range };
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
}
