//! Forecasts of several series at once, of which those of signals that add up add up too.

use std::collections::BTreeMap;
use std::sync::Arc;

use predict::{Constraint, Forecast, reconcile};
use signal::{Whole, wholes};
use statistics::Interval;
use units::Confidence;

use super::Hub;
use super::forecasts::{Bounds, Oracle};
use crate::api;
use crate::engine::Engine;

/// Forecasts that are to be made, each by [`Ahead::make`], and what of them adds up.
pub(crate) struct Aheads {
    pub(crate) all: Vec<Ahead>,
    /// Wholes, with the places of their members in `all`.
    wholes: Vec<Whole>,
}

/// A forecast of one series, to be cut at leads and confidences.
pub(crate) struct Ahead {
    pub(crate) id: Arc<str>,
    pub(crate) oracle: Oracle,
    n_leads: usize,
    /// The forecast by itself, empty until it is made.
    pub(crate) forecast: Forecast,
    /// Means that add up with those of other signals, for each lead; empty where nothing has to add up.
    reconciled: Vec<f64>,
}

impl Hub {
    /// Copies what forecasts of these series for so many steps are made from. Series that are not there, have no
    /// forecast yet, or whose model has samples to take are left out.
    pub(crate) fn aheads<'a>(&self, wanted: impl Iterator<Item = (&'a str, usize)>) -> Aheads {
        let engine = self.engine();
        let current = |(id, n_leads)| {
            let entry = engine.get(id).filter(|entry| entry.is_current())?;
            Some((&*entry.about.id, n_leads))
        };
        Aheads::copy(&engine, wanted.filter_map(current).collect())
    }
}

impl Aheads {
    /// Copies what forecasts of these series for so many steps are made from, and of the series that they add up with.
    pub(crate) fn copy<'a>(engine: &'a Engine, mut n_leads: BTreeMap<&'a str, usize>) -> Self {
        let sensors = engine.entries().filter(|entry| entry.is_current() && !entry.about.is_pushed());
        let sensors: Vec<(&str, f64)> = sensors.map(|entry| (&*entry.about.id, entry.last_value())).collect();
        let mut wholes = wholes(&sensors);
        wholes.retain(|whole| {
            let ids = || whole.members.iter().map(|sensor| sensors[*sensor].0);
            let most = ids().filter_map(|id| n_leads.get(id).copied()).max();
            n_leads.extend(most.into_iter().flat_map(|most| ids().map(move |id| (id, most))));
            most.is_some()
        });
        let copy = |(id, n_leads): (&str, usize)| {
            let entry = engine.get(id)?;
            Some(Ahead::new(Arc::clone(&entry.about.id), Oracle::of(entry).ok()?, n_leads))
        };
        let all: Vec<Ahead> = n_leads.into_iter().filter_map(copy).collect();
        let places: BTreeMap<&str, usize> = all.iter().enumerate().map(|(place, ahead)| (&*ahead.id, place)).collect();
        wholes.retain_mut(|whole| {
            let found = whole.members.iter().map(|sensor| places.get(sensors[*sensor].0).copied());
            let Some(members) = found.collect::<Option<Vec<usize>>>() else { return false };
            whole.members = members;
            let start = |place: &usize| (all[*place].oracle.origin, all[*place].oracle.step);
            whole.members.iter().all(|place| start(place) == start(&whole.members[0]))
        });
        Self { all, wholes }
    }

    /// Makes those that are not made yet, and has the forecasts of signals that add up add up.
    pub(crate) fn finish(mut self) -> BTreeMap<Arc<str>, Ahead> {
        self.all.iter_mut().for_each(Ahead::make);
        for Whole { members, sums } in self.wholes {
            let forecasts: Vec<&Forecast> = members.iter().map(|place| &self.all[*place].forecast).collect();
            let sums = sums.into_iter().map(|sum| Constraint { terms: sum.terms, total: sum.total });
            let reconciled = reconcile(&forecasts, &sums.collect::<Vec<_>>());
            for (place, means) in members.into_iter().zip(reconciled) {
                self.all[place].reconciled = means;
            }
        }
        self.all.into_iter().map(|ahead| (Arc::clone(&ahead.id), ahead)).collect()
    }
}

impl Ahead {
    pub(super) fn new(id: Arc<str>, oracle: Oracle, n_leads: usize) -> Self {
        Self { id, oracle, n_leads, forecast: Forecast::default(), reconciled: Vec::new() }
    }

    /// Makes the forecast, unless it is made already.
    pub(crate) fn make(&mut self) {
        if self.forecast.n_leads() < self.n_leads {
            self.forecast = self.oracle.forecast(self.n_leads);
        }
    }

    /// Returns the means of all leads.
    pub(crate) fn means(&self) -> &[f64] {
        if self.reconciled.is_empty() { self.forecast.means() } else { &self.reconciled }
    }

    pub(super) fn interval(&self, lead: usize, confidence: Confidence) -> Interval {
        self.forecast.interval_beside(self.means()[lead - 1], lead, confidence)
    }

    /// Returns the forecast at `leads`, in steps from 1 to as many as there are, and the band of the confidence
    /// `inner`, if one is asked for.
    ///
    /// # Panics
    /// For a lead of 0, and for one that it does not have.
    pub(crate) fn at(
        &self,
        leads: &[usize],
        confidence: Confidence,
        inner: Option<Confidence>,
    ) -> (api::LeadForecast, Option<api::LeadBand>) {
        let band = |confidence| {
            let intervals = leads.iter().map(|lead| self.interval(*lead, confidence));
            intervals.map(|at| (at.lower, at.upper)).unzip()
        };
        let mean = leads.iter().map(|lead| self.means()[lead - 1]).collect();
        let (lower, upper) = band(confidence);
        let inner = inner.map(band).map(|(lower, upper)| api::LeadBand { lower, upper });
        (api::LeadForecast { leads: leads.to_vec(), mean, lower, upper }, inner)
    }

    pub(super) fn bounds(&self, lead: usize, confidence: Confidence) -> Bounds {
        let Interval { lower, upper } = self.interval(lead, confidence);
        Bounds { mean: self.means()[lead - 1], lower, upper }
    }
}
